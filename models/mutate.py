"""Every small fault of the tables: each row dropped, retargeted, unguarded, or one put beside it that does not belong.

`mutants()` yields changed copies of the published tables, each with a name that says what was done. A name is made of
the kind of fault and the row, so a survivor can be named in a list and argued for. Where a row could be changed in
many ways, a few are taken, by position: the same ones at each run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import attrs

from chongming_spec.algebra import Rule, Tell, Verb
from chongming_spec.decide import SPEC, Lifecycle
from chongming_spec.effects import EFFECTS, JUDGE, KEEP_PAUSE, Effect
from chongming_spec.failures import FailureKind
from chongming_spec.states import TaskStatus
from chongming_spec.transitions import Edge
from models.mutants import with_rules, with_verb

_STATES = tuple(TaskStatus)
_RETARGETS = 4


class Mutant(NamedTuple):
    """One changed copy of the tables, and what was done to it."""

    name: str
    spec: Lifecycle


def _others(status: TaskStatus | None, count: int = _RETARGETS) -> Iterator[TaskStatus]:
    """The next states after `status`, in their order, round the end."""
    place = -1 if status is None else _STATES.index(status)
    for step in range(1, count + 1):
        yield _STATES[(place + step) % len(_STATES)]


def edge_mutants() -> Iterator[Mutant]:
    """Edges dropped, retargeted, unguarded, added."""
    edges = SPEC.edges
    pairs = {(edge.source, edge.target) for edge in edges}

    def changed(name: str, new: Iterable[Edge]) -> Mutant:
        return Mutant(name, attrs.evolve(SPEC, edges=tuple(new)))

    for place, edge in enumerate(edges):
        name = f"{edge.source}->{edge.target}"
        before, after = edges[:place], edges[place + 1 :]
        yield changed(f"drop edge {name}", (*before, *after))
        if edge.guard is not None:
            yield changed(f"unguard edge {name}", (*before, attrs.evolve(edge, guard=None), *after))
        for target in _others(edge.target):
            if (edge.source, target) not in pairs:
                yield changed(f"retarget edge {name} to {target}", (*before, attrs.evolve(edge, target=target), *after))
    for source in TaskStatus:
        for target in TaskStatus:
            if (source, target) not in pairs:
                yield changed(f"add edge {source}->{target}", (*edges, Edge(source, target, "A mutant.")))


def out_of_band_mutants() -> Iterator[Mutant]:
    """Out-of-band rows dropped, and each source and target dropped or added."""
    rows = SPEC.out_of_band
    for place, row in enumerate(rows):
        before, after = rows[:place], rows[place + 1 :]
        yield Mutant(f"drop out-of-band {row.verb}", attrs.evolve(SPEC, out_of_band=(*before, *after)))
        for status in TaskStatus:
            new = attrs.evolve(row, sources=row.sources ^ {status})
            yield Mutant(
                f"toggle source {status} of out-of-band {row.verb}",
                attrs.evolve(SPEC, out_of_band=(*before, new, *after)),
            )
            if row.targets is not None:
                new = attrs.evolve(row, targets=row.targets ^ {status})
                yield Mutant(
                    f"toggle target {status} of out-of-band {row.verb}",
                    attrs.evolve(SPEC, out_of_band=(*before, new, *after)),
                )


def _tells(rule: Rule, seed: int) -> Iterator[tuple[str, Rule]]:
    for tell in rule.tells:
        yield f"drop tell {tell}", attrs.evolve(rule, tells=tuple(t for t in rule.tells if t is not tell))
    extra = tuple(Tell)[seed % len(Tell)]
    if extra not in rule.tells:
        yield f"add tell {extra}", attrs.evolve(rule, tells=(*rule.tells, extra))


def _is_news(rule: Rule, extra: Effect) -> bool:
    """Whether `extra` can change what the rule does not: no mere repeat, no flag that is never up there."""
    if extra == KEEP_PAUSE and rule.source is not TaskStatus.PAUSING:
        return False
    if extra == JUDGE:
        return False
    return not set(extra.changes) <= {change for effect in rule.effects for change in effect.changes}


def _effects(rule: Rule, seed: int) -> Iterator[tuple[str, Rule]]:
    for place, effect in enumerate(rule.effects):
        left = rule.effects[:place] + rule.effects[place + 1 :]
        yield f"drop effect {effect.name}", attrs.evolve(rule, effects=left)
    for step in (0, 7, 15):
        extra: Effect = EFFECTS[(seed + step) % len(EFFECTS)]
        if _is_news(rule, extra):
            yield f"add effect {extra.name}", attrs.evolve(rule, effects=(*rule.effects, extra))


def _ways(rule: Rule) -> Iterator[tuple[str, Rule]]:
    if not rule.asked_target:
        for target in _others(rule.target):
            if target is not rule.target:
                yield f"retarget to {target}", attrs.evolve(rule, target=target)
    if rule.target is not None:
        yield "stay", attrs.evolve(rule, target=None)
    if rule.via is not None:
        yield "drop via", attrs.evolve(rule, via=None)
        yield from ((f"via {via}", attrs.evolve(rule, via=via)) for via in _others(rule.via, 2))
    if rule.via_reason is not None:
        yield "drop via_reason", attrs.evolve(rule, via_reason=None)
    if rule.via_trigger is not None:
        yield "drop via_trigger", attrs.evolve(rule, via_trigger=None)
    if rule.trigger is not None:
        yield "drop trigger", attrs.evolve(rule, trigger=None)
    yield "toggle out-of-band", attrs.evolve(rule, out_of_band=not rule.out_of_band)
    yield "toggle asked target", attrs.evolve(rule, asked_target=not rule.asked_target)


def _changes(rule: Rule, seed: int) -> Iterator[tuple[str, Rule]]:
    """Each way in which one rule is changed."""
    yield from _ways(rule)
    for place, guard in enumerate(rule.when):
        left = rule.when[:place] + rule.when[place + 1 :]
        yield f"unguard {guard.name}", attrs.evolve(rule, when=left)
    yield from _effects(rule, seed)
    yield from _tells(rule, seed)


def rule_mutants() -> Iterator[Mutant]:
    """Rules dropped, changed in one place, or added where the verb has none."""
    for verb in SPEC.verbs:
        for place, rule in enumerate(verb.rules):
            which = ",".join(guard.name for guard in rule.when)
            name = f"{verb.name} {rule.source}->{rule.target or 'asked' if rule.changes else 'stay'} [{which}]"
            before, after = verb.rules[:place], verb.rules[place + 1 :]
            yield Mutant(f"drop rule {name}", with_rules(verb.name, (*before, *after)))
            for what, new in _changes(rule, place):
                yield Mutant(f"rule {name}: {what}", with_rules(verb.name, (*before, new, *after)))
        for status in TaskStatus:
            for target in (None, *_others(status, 2)):
                extra = Rule(status, target)
                yield Mutant(
                    f"add rule {verb.name} {status}->{target or 'stay'}", with_rules(verb.name, (*verb.rules, extra))
                )


def _verb_changes(verb: Verb) -> Iterator[tuple[str, Verb]]:
    guards = verb.guards
    for place, guard in enumerate(guards):
        yield f"unguard {guard.name}", attrs.evolve(verb, guards=guards[:place] + guards[place + 1 :])
        if place:
            swapped = (*guards[: place - 1], guard, guards[place - 1], *guards[place + 1 :])
            yield f"{guard.name} before {guards[place - 1].name}", attrs.evolve(verb, guards=swapped)
    for status in TaskStatus:
        yield f"toggle already {status}", attrs.evolve(verb, already=verb.already ^ {status})
    if verb.kind is not None:
        yield "drop kind", attrs.evolve(verb, kind=None)
        other = FailureKind.CONDITION_FALSE
        yield f"kind {other}", attrs.evolve(verb, kind=other)
    yield "trigger without a row", attrs.evolve(verb, trigger=f"{verb.trigger}?")


def verb_mutants() -> Iterator[Mutant]:
    """Guards of verbs dropped or swapped, states in which they are already so toggled, kinds and triggers changed."""
    for verb in SPEC.verbs:
        for what, new in _verb_changes(verb):
            yield Mutant(f"verb {verb.name}: {what}", with_verb(new))


def mutants() -> Iterator[Mutant]:
    """All of them."""
    yield from edge_mutants()
    yield from out_of_band_mutants()
    yield from rule_mutants()
    yield from verb_mutants()
