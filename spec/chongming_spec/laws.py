"""The laws: statements about the tables as a whole, each able to find what is wrong with a changed copy of them.

A law takes a `Lifecycle` and answers with its findings; no findings means that it holds. The *cell laws* go through
every cell of the verb matrix (see `cells`), the *row laws* only through the rows. None of them says what the right
table is: that the published one is right is the business of whoever writes it down a second time and compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import attrs

from chongming_spec import postconditions as post
from chongming_spec.algebra import Caller, Rule, Verb
from chongming_spec.cells import Block, Check, coherent_facts, survey
from chongming_spec.decide import Decision, Lifecycle, advance
from chongming_spec.effects import EFFECTS, FAIL, OPEN, OVERRIDE, WATCHED, Op
from chongming_spec.endings import ENDINGS, failure_kind
from chongming_spec.facts import Ask, EndingKind, Facts, coherent
from chongming_spec.failures import FAILURE_REQUIRED, KINDS_IN, FailureKind
from chongming_spec.guards import GUARDS, Guard
from chongming_spec.postconditions import ALL, POSTCONDITIONS, Postcondition
from chongming_spec.probe import columns_read
from chongming_spec.snapshot import TaskSnapshot
from chongming_spec.states import REVIVABLE, TERMINAL, TaskStatus
from chongming_spec.transitions import Edge, OutOfBand
from chongming_spec.triggers import TRIGGER_NAMES

_SAMPLES = 3


@attrs.frozen
class Law:
    """One law: its name, its sentence, and the check that lists what speaks against it."""

    name: str
    sentence: str
    check: Callable[[Lifecycle], list[str]]


def _few(block: Block, lines: Iterator[str]) -> list[str]:
    """The first findings of a block, with its verb and state before them."""
    found = []
    for line in lines:
        found.append(f"{block.verb.name} in {block.status}: {line}")
        if len(found) == _SAMPLES:
            break
    return found


def _over_cells(check: Check) -> Callable[[Lifecycle], list[str]]:
    return lambda spec: survey(spec).findings(check)


# ---------------------------------------------------------------- cell laws


def _complete(block: Block) -> list[str]:
    return _few(block, (f"{cell.error} at {cell.facts}, {cell.ask}" for cell in block.cells if cell.error))


def _deterministic(block: Block) -> list[str]:
    return _few(
        block,
        (f"{len(c.candidates)} rules at {c.facts}, {c.ask}" for c in block.cells if len(c.candidates) > 1),
    )


def _no_dead_rule(block: Block) -> list[str]:
    taken = {id(decision.rule) for _, _, decision in block.decisions}
    return _few(block, (f"never taken: to {rule.target}" for rule in block.rules if id(rule) not in taken))


def _coherence_is_kept(block: Block) -> list[str]:
    return _few(
        block,
        (
            f"from {facts} by {ask} to {after}"
            for facts, ask, decision in block.decisions
            if not coherent(after := advance(facts, ask, decision))
        ),
    )


def _sound(block: Block) -> list[str]:
    return _few(
        block,
        (
            f"{holds.__name__} fails at {facts}, {ask}"
            for holds in ALL
            for facts, ask, decision in block.decisions
            if not holds(facts, ask, decision)
        ),
    )


def _kind_of(facts: Facts, ask: Ask, decision: Decision) -> FailureKind | None:
    if ask.ending is not None:
        return failure_kind(facts, ask.ending, decision.target)
    return ask.kind or decision.verb.kind


def _failures_fit(block: Block) -> list[str]:
    def misfits() -> Iterator[str]:
        for facts, ask, decision in block.decisions:
            effects = decision.rule.effects if decision.rule is not None else ()
            if FAIL in effects:
                kind = _kind_of(facts, ask, decision)
                if kind not in KINDS_IN[decision.target] and (kind or decision.target in FAILURE_REQUIRED):
                    yield f"{kind} cannot stand in {decision.target}"
            elif (
                OVERRIDE not in effects and decision.target in FAILURE_REQUIRED and decision.target is not facts.status
            ):
                yield f"no failure is recorded in {decision.target}"

    return _few(block, misfits())


# ---------------------------------------------------------------- laws about moves


def _moves(spec: Lifecycle, out_of_band: bool) -> Iterator[tuple[str, TaskStatus, TaskStatus]]:
    """The steps that decisions take, along edges or out of band, with the verb."""
    for block in survey(spec).blocks:
        for step in sorted(block.steps):
            if step.out_of_band is out_of_band:
                yield block.verb.name, step.source, step.target


def _no_dead_edge(spec: Lifecycle) -> list[str]:
    taken = {(source, target) for _, source, target in _moves(spec, False)}
    return [
        f"never taken: {edge.source} to {edge.target}" for edge in spec.edges if (edge.source, edge.target) not in taken
    ]


def _rows_hold(rows: tuple[OutOfBand, ...], verb: str, source: TaskStatus, target: TaskStatus) -> bool:
    return any(
        row.verb == verb
        and source in row.sources
        and (target is source if row.targets is None else target in row.targets)
        for row in rows
    )


def _no_dead_out_of_band(spec: Lifecycle) -> list[str]:
    moves = set(_moves(spec, True))
    found = []
    for row in spec.out_of_band:
        for source in sorted(row.sources):
            targets = {source} if row.targets is None else set(row.targets)
            found += [
                f"{row.verb} never leads from {source} to {target}"
                for target in sorted(targets)
                if (row.verb, source, target) not in moves and not (row.verb == "force_transition" and source is target)
            ]
    return found


def _inside_the_tables(spec: Lifecycle) -> list[str]:
    edges = {(edge.source, edge.target) for edge in spec.edges}
    found = [f"{v} takes no edge: {a} to {b}" for v, a, b in _moves(spec, False) if (a, b) not in edges]
    return found + [
        f"{v} is not in its row: {a} to {b}"
        for v, a, b in _moves(spec, True)
        if not _rows_hold(spec.out_of_band, v, a, b)
    ]


def _terminal_is_final(spec: Lifecycle) -> list[str]:
    ends = {status for status in TaskStatus if not spec.allowed(status)}
    return [f"{status}: declared and derived differ" for status in sorted(ends ^ TERMINAL)]


def _revivable_is_terminal(spec: Lifecycle) -> list[str]:
    revived = {s for row in spec.out_of_band if row.verb == "retry" for s in row.sources}
    found = [f"{status} is revivable but not terminal" for status in sorted(REVIVABLE - TERMINAL)]
    return found + [f"{status}: revivable and the row of retry differ" for status in sorted(REVIVABLE ^ revived)]


def _no_way_back(spec: Lifecycle) -> list[str]:
    return [f"{v} leads from {a} to {b}" for v, a, b in _moves(spec, False) if a in TERMINAL]


def _end_in_reach(spec: Lifecycle) -> list[str]:
    moves = {(a, b) for _, a, b in _moves(spec, False)}
    reached = set(TERMINAL)
    while more := {a for a, b in moves if b in reached} - reached:
        reached |= more
    return [f"no end is in reach of {status}" for status in TaskStatus if status not in reached]


# ---------------------------------------------------------------- row laws


_ON_EDGES: tuple[Postcondition, ...] = (
    *POSTCONDITIONS["not_paused_in_place"],
    post.queued_from_paused_only_when_lifted,
    post.stopped_from_paused_only_when_lifted,
    post.cancelled_from_paused_only_when_lifted,
    post.stopped_only_when_stop_was_asked,
    post.cancelled_only_when_cancel_was_asked,
    post.cancelled_from_starting_only_without_carrier,
    post.running_only_with_confirmed_carrier,
    post.starts_only_within_budget,
    *POSTCONDITIONS["kind_needs_attempt"],
)


@cache
def _taken_bare(edge: Edge) -> tuple[str, ...]:
    """The postconditions that fail when a verb without any guard takes `edge`."""
    rule = Rule(edge.source, edge.target)
    verb = Verb("bare", Caller.MACHINE, "", "", (rule,))
    decision = Decision(verb, edge.source, rule, (edge.target,))
    asks = [Ask("bare", kind=kind) for kind in (None, *FailureKind)] + [Ask("bare", ending=e) for e in EndingKind]
    allowed = [
        (facts, ask)
        for facts in coherent_facts(edge.source)
        for ask in asks
        if edge.guard is None or edge.guard.holds(facts, ask)
    ]
    return tuple(
        holds.__name__ for holds in _ON_EDGES if not all(holds(facts, ask, decision) for facts, ask in allowed)
    )


def _edges_guard_themselves(spec: Lifecycle) -> list[str]:
    return [f"{edge.source} to {edge.target}: {name} fails" for edge in spec.edges for name in _taken_bare(edge)]


def _epochs(spec: Lifecycle) -> list[str]:
    found = []
    for verb in spec.verbs:
        for rule in verb.rules:
            changes = {(change.column, change.op) for effect in rule.effects for change in effect.changes}
            if (("epoch", Op.NEXT_EPOCH) in changes) is not rule.out_of_band:
                found.append(f"{verb.name} from {rule.source}: epoch and out of band differ")
    return found


def _used(spec: Lifecycle) -> dict[Guard, bool]:
    """Every guard that some row uses, and whether a verb or an edge does (not only a `when`)."""
    found: dict[Guard, bool] = {}
    for verb in spec.verbs:
        found.update(dict.fromkeys(verb.guards, True))
        for rule in verb.rules:
            for guard in rule.when:
                found.setdefault(guard, False)
    found.update({edge.guard: True for edge in spec.edges if edge.guard is not None})
    return found


def _guards_are_paired(spec: Lifecycle) -> list[str]:
    return [f"{guard.name} has no postcondition" for guard in _used(spec) if not POSTCONDITIONS.get(guard.name)]


def _guards_are_rows(spec: Lifecycle) -> list[str]:
    used = _used(spec)
    found = [f"{guard.name} is used but is no row" for guard in used if guard not in GUARDS]
    return found + [f"{guard.name} ({guard.holds.__name__}) is used nowhere" for guard in GUARDS if guard not in used]


def _guards_read_what_they_declare(spec: Lifecycle) -> list[str]:
    return [
        f"{guard.name} reads {sorted(read)} and declares {sorted(guard.reads)}"
        for guard in _used(spec)
        if (read := columns_read(guard)) != frozenset(guard.reads)
    ]


def _triggers_exist(spec: Lifecycle) -> list[str]:
    named = {verb.trigger for verb in spec.verbs} | {row.trigger for row in ENDINGS}
    rules = [rule for verb in spec.verbs for rule in verb.rules]
    named |= {name for rule in rules for name in (rule.trigger, rule.via_trigger) if name is not None}
    return [f"{name} is no trigger" for name in sorted(named - TRIGGER_NAMES)]


def _attempts_open_at_starting(spec: Lifecycle) -> list[str]:
    return [
        f"{verb.name} from {rule.source} to {rule.target}: an attempt opens if and only if it starts"
        for verb in spec.verbs
        for rule in verb.rules
        if (OPEN in rule.effects) is not (rule.target is TaskStatus.STARTING)
    ]


def _in_place_by_parking(spec: Lifecycle) -> list[str]:
    found = []
    for verb in spec.verbs:
        for rule in verb.rules:
            parks = any(c.column == "paused_in_place" and c.value for effect in rule.effects for c in effect.changes)
            if parks and (rule.source, rule.target) != (TaskStatus.PAUSING, TaskStatus.PAUSED):
                found.append(f"{verb.name} from {rule.source} to {rule.target} says that a body is parked")
    return found


def _columns_exist(spec: Lifecycle) -> list[str]:
    columns = WATCHED | {field.name for field in attrs.fields(TaskSnapshot)}
    used = {effect for verb in spec.verbs for rule in verb.rules for effect in rule.effects}
    found = [f"{effect.name} is used nowhere" for effect in EFFECTS if effect not in used]
    return found + [
        f"{effect.name} changes {change.column}, which does not exist"
        for effect in sorted(used, key=lambda effect: effect.name)
        for change in effect.changes
        if change.column not in columns
    ]


def _rows_are_unique(spec: Lifecycle) -> list[str]:
    pairs = [f"{edge.source} to {edge.target}" for edge in spec.edges]
    names = [verb.name for verb in spec.verbs]
    rows = [row.verb for row in spec.out_of_band]
    return [f"twice: {key}" for keys in (pairs, names, rows) for key in sorted({k for k in keys if keys.count(k) > 1})]


LAWS: tuple[Law, ...] = (
    Law("rows_are_unique", "No edge, verb or out-of-band row is there twice.", _rows_are_unique),
    Law("terminal_is_final", "Declared terminal are exactly the states without edges.", _terminal_is_final),
    Law("revivable_is_terminal", "Revivable states are terminal, and retry's own.", _revivable_is_terminal),
    Law("guards_are_paired", "Each guard in use has a postcondition (D39).", _guards_are_paired),
    Law("guards_are_rows", "Each guard in use is a row, and each row is in use.", _guards_are_rows),
    Law("guards_read_what_they_declare", "A guard reads its declared columns.", _guards_read_what_they_declare),
    Law("triggers_exist", "Each trigger that a row names is a row itself (D43).", _triggers_exist),
    Law("edges_guard_themselves", "An edge's guard binds even a verb without any (D1).", _edges_guard_themselves),
    Law("epochs", "Out of band means a new epoch, and nothing else does (D2).", _epochs),
    Law("attempts_open_at_starting", "Only a start opens an attempt (D5).", _attempts_open_at_starting),
    Law("in_place_by_parking", "Only a body that parks is paused in place (D3).", _in_place_by_parking),
    Law("columns_exist", "Effects change columns that exist, and each is in use.", _columns_exist),
    Law("complete", "Every request on every coherent task has an answer.", _over_cells(_complete)),
    Law("deterministic", "At most one rule holds.", _over_cells(_deterministic)),
    Law("no_dead_rule", "Each rule is taken by some decision.", _over_cells(_no_dead_rule)),
    Law("no_dead_edge", "Each edge is taken by some decision.", _no_dead_edge),
    Law("no_dead_out_of_band", "Each out-of-band move is made by some decision.", _no_dead_out_of_band),
    Law("inside_the_tables", "Each move is an edge, or in its out-of-band row (D2).", _inside_the_tables),
    Law("no_way_back", "Only out-of-band moves leave a terminal state (D2).", _no_way_back),
    Law("end_in_reach", "From each state an end can be reached.", _end_in_reach),
    Law("coherence_is_kept", "What is coherent stays so (D3, D4, D5, D14).", _over_cells(_coherence_is_kept)),
    Law("failures_fit", "A failure recorded may stand where it is recorded (D18).", _over_cells(_failures_fit)),
    Law("sound", "The postconditions of all guards hold (D39).", _over_cells(_sound)),
)
LAW_OF: dict[str, Law] = {law.name: law for law in LAWS}
