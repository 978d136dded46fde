"""The cells of the verb matrix: every coherent task against every request, as far as a difference can show.

A *block* is one verb in one state; its cells vary the columns that some row of the block reads, in the spec at hand
or in the published one (a guard that was dropped by mistake must still be missed), and all columns that coherence
ties together. Attempts run from 0 to 2, budgets from 1 to 2: no guard counts further. An ending comes only with
`finish`, a deadline only with `expire`. Blocks whose rows are the published ones are decided once and shared, so a
changed copy of the tables costs only what was changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, cached_property
from itertools import product
from typing import Any, NamedTuple

import attrs

from chongming_spec.algebra import Rule, Verb
from chongming_spec.decide import SPEC, Decision, Lifecycle, Refusal
from chongming_spec.facts import (
    CARRIERS_IN,
    REQUESTS_IN,
    VERDICTS_IN,
    Ask,
    Deadline,
    EndingKind,
    Facts,
    coherent,
)
from chongming_spec.failures import FailureKind
from chongming_spec.guards import Guard
from chongming_spec.states import TaskStatus
from chongming_spec.transitions import Edge

_BOTH = (False, True)
_BUDGETS = ((0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
_FREE = ("stray", "pausable", "dependencies_open", "lease_over")
_KILLS = ((False, False), (True, False), (True, True))
ASKS: dict[str, tuple[Any, ...]] = {
    "has_actor": _BOTH,
    "has_reason": _BOTH,
    "force": _BOTH,
    "alongside": _BOTH,
    "gone": _BOTH,
    "retries": _BOTH,
    "kind": (None, *FailureKind),
    "target": (None, *TaskStatus),
}
_ENDINGS = tuple(EndingKind)
_DEADLINES = tuple(deadline for deadline in Deadline if deadline is not Deadline.NONE)


class Cell(NamedTuple):
    """One task, one request, the answer, and the rules whose `when` holds; `error` if it raised instead."""

    facts: Facts
    ask: Ask
    answer: Decision | Refusal | None
    candidates: tuple[Rule, ...]
    error: str = ""


class Step(NamedTuple):
    """One step from state to state, along an edge or out of band."""

    source: TaskStatus
    target: TaskStatus
    out_of_band: bool


Check = Callable[["Block"], list[str]]


@attrs.define(eq=False, slots=False)
class Block:
    """One verb in one state, with the rows that can decide there."""

    spec: Lifecycle
    verb: Verb
    status: TaskStatus
    rules: tuple[Rule, ...]
    edges: tuple[Edge, ...]
    _found: dict[Check, list[str]] = attrs.field(factory=dict)

    @property
    def is_already(self) -> bool:
        """Whether the verb is already so in this state."""
        return self.status in self.verb.already

    @cached_property
    def reads(self) -> frozenset[str]:
        """The columns that its rows read."""
        if not self.rules or self.is_already:
            return frozenset()
        named = frozenset(name for guard in self.guards() for name in guard.reads)
        return named | {"target"} if any(rule.asked_target for rule in self.rules) else named

    def guards(self) -> Iterator[Guard]:
        """All guards that may be asked here: of the verb, of its rules, of the edges."""
        yield from self.verb.guards
        for rule in self.rules:
            yield from rule.when
        yield from (edge.guard for edge in self.edges if edge.guard is not None)

    def inputs(self) -> Iterator[tuple[Facts, Ask]]:
        """The cells before they are decided."""
        published = _published().get((self.verb.name, self.status))
        columns = self.reads if published is None else self.reads | published.reads
        asks = tuple(_asks(self.verb.name, columns))
        for facts in coherent_facts(self.status, tuple(name for name in _FREE if name in columns)):
            for ask in asks:
                yield facts, ask

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The cells, decided."""
        return tuple(decided(self.spec, facts, ask) for facts, ask in self.inputs())

    @cached_property
    def decisions(self) -> tuple[tuple[Facts, Ask, Decision], ...]:
        """The cells in which something other than a refusal came out."""
        return tuple((c.facts, c.ask, c.answer) for c in self.cells if isinstance(c.answer, Decision))

    def findings(self, check: Check) -> list[str]:
        """What `check` has against this block; asked once."""
        if check not in self._found:
            self._found[check] = check(self)
        return self._found[check]

    @cached_property
    def steps(self) -> frozenset[Step]:
        """The steps its decisions take, each with whether it is taken out of band."""
        found = set()
        for facts, _, decision in self.decisions:
            step = facts.status
            for target in decision.path:
                found.add(Step(step, target, decision.rule is not None and decision.rule.out_of_band))
                step = target
        return frozenset(found)


def decided(spec: Lifecycle, facts: Facts, ask: Ask) -> Cell:
    """One cell, decided by `spec`."""
    try:
        return Cell(facts, ask, spec.decide(facts, ask), spec.candidates(facts, ask))
    except Exception as error:
        return Cell(facts, ask, None, (), repr(error))


@cache
def coherent_facts(status: TaskStatus, free: tuple[str, ...] = ()) -> tuple[Facts, ...]:
    """All coherent facts in `status`; the columns in `free` vary too, the other ones that nothing ties are as usual."""
    verdicts = tuple(Deadline) if status in VERDICTS_IN else (Deadline.NONE,)
    found: list[Facts] = []
    for requested, carrier, in_place, started, (attempt, budget), verdict, abort_left, (killable, killed) in product(
        REQUESTS_IN[status], CARRIERS_IN[status], _BOTH, _BOTH, _BUDGETS, verdicts, _BOTH, _KILLS
    ):
        facts = Facts(
            status, requested, in_place, started, attempt, budget, False, carrier, verdict, abort_left, killed
        )
        facts = facts._replace(killable=killable)
        if coherent(facts):
            for row in product(_BOTH, repeat=len(free)):
                values: dict[str, Any] = dict(zip(free, row, strict=True))
                found.append(facts._replace(**values))
    return tuple(found)


def _asks(verb: str, columns: frozenset[str]) -> Iterator[Ask]:
    domains = {name: values for name, values in ASKS.items() if name in columns}
    if verb == "finish":
        domains["ending"] = _ENDINGS
    if verb == "expire":
        domains["deadline"] = _DEADLINES
    for row in product(*domains.values()):
        yield Ask(verb, **dict(zip(domains, row, strict=True)))


@attrs.define(eq=False, slots=False)
class Survey:
    """All blocks of one spec."""

    spec: Lifecycle
    blocks: tuple[Block, ...]

    @cached_property
    def by_key(self) -> dict[tuple[str, TaskStatus], Block]:
        """Blocks by verb name and state."""
        return {(block.verb.name, block.status): block for block in self.blocks}

    def findings(self, check: Check) -> list[str]:
        """What `check` has against any block."""
        return [line for block in self.blocks for line in block.findings(check)]


def _block(spec: Lifecycle, verb: Verb, status: TaskStatus) -> Block:
    rules = spec.rules_of[verb.name][status]
    steps = {status} | {rule.via for rule in rules if rule.via is not None}
    taken = [rule for rule in rules if not rule.out_of_band]
    edges = tuple(e for e in spec.edges if e.source in steps and _touches(e, taken))
    return Block(spec, verb, status, rules, edges)


def _touches(edge: Edge, rules: list[Rule]) -> bool:
    return any(rule.asked_target or edge.target in (rule.target, rule.via) for rule in rules)


def _same_rows(one: Block, other: Block) -> bool:
    return (
        one.rules == other.rules
        and one.edges == other.edges
        and one.verb.guards == other.verb.guards
        and one.is_already == other.is_already
        and one.verb.kind is other.verb.kind
    )


def _blocks(spec: Lifecycle) -> Iterator[Block]:
    for verb in spec.verbs:
        for status in TaskStatus:
            yield _block(spec, verb, status)


@cache
def _published() -> dict[tuple[str, TaskStatus], Block]:
    return Survey(SPEC, tuple(_blocks(SPEC))).by_key


_LAST: list[Survey] = []


def survey(spec: Lifecycle) -> Survey:
    """The blocks of `spec`; those with the published rows are the published blocks. The last survey is kept."""
    if not _LAST or _LAST[0].spec is not spec:
        published = _published()
        blocks = []
        for verb in spec.verbs:
            for status in TaskStatus:
                known = published.get((verb.name, status))
                if known is None or known.verb is not verb or spec.edges is not SPEC.edges:
                    block = _block(spec, verb, status)
                    known = known if known is not None and _same_rows(known, block) else block
                blocks.append(known)
        _LAST[:] = [Survey(spec, tuple(blocks))]
    return _LAST[0]


def cells(spec: Lifecycle, verb: str) -> Iterator[tuple[Facts, Ask]]:
    """The task and the request of every cell of one verb."""
    for block in survey(spec).blocks:
        if block.verb.name == verb:
            yield from block.inputs()
