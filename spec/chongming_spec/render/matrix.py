"""What a verb can come to in a state, found by asking the spec about every case.

Nothing is read off the rows: for each verb and state all coherent facts and requests are put to `decide`, varying
just the columns that the guards in question look at, and the answers are collected. So a page shows what the
program will do, and a guard that can never be the one to refuse is not shown as if it could.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise, product
from typing import Any

import attrs

from chongming_spec.algebra import Caller, Rule, Verb
from chongming_spec.decide import Lifecycle, Refusal
from chongming_spec.endings import VERDICT_KINDS
from chongming_spec.facts import Ask, CarrierView, Deadline, EndingKind, Facts, Requested, coherent
from chongming_spec.failures import FailureKind
from chongming_spec.guards import Guard
from chongming_spec.states import TaskStatus
from chongming_spec.step import as_testified

_BOOL = (False, True)

# Columns that must fit together, and all values worth trying.
_BOUND: dict[str, tuple[Any, ...]] = {
    "requested": tuple(Requested),
    "in_place": _BOOL,
    "started": _BOOL,
    "attempt": (0, 1, 2),
    "max_attempts": (1, 2),
    "carrier": tuple(CarrierView),
    "verdict": tuple(Deadline),
    "abort_left": _BOOL,
    "killed": _BOOL,
    "killable": _BOOL,
}
_FREE: dict[str, tuple[Any, ...]] = dict.fromkeys(("stray", "pausable", "dependencies_open", "lease_over"), _BOOL)
_ASKED: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("has_actor", "has_reason", "force", "alongside", "gone", "retries"), _BOOL),
    "kind": (None, *FailureKind),
    "target": tuple(TaskStatus),
}
# Only the world reports these, and each by one verb.
_REPORTED: dict[str, dict[str, tuple[Any, ...]]] = {
    "finish": {"ending": tuple(EndingKind)},
    "expire": {"deadline": tuple(member for member in Deadline if member is not Deadline.NONE)},
}


@attrs.frozen
class Cell:
    """All that a verb can come to in one state.

    `targets`: where it may lead, in the order of the states; `as_asked`: the caller names the target; `stays`: it
    can be accepted without a change of status; `already`: it is so before it is asked (D13); `refused`: the names
    of the guards that can refuse it, in the order in which they are met (an empty name: the move is no edge).
    """

    targets: tuple[TaskStatus, ...] = ()
    as_asked: bool = False
    stays: bool = False
    already: bool = False
    refused: tuple[str, ...] = ()

    @property
    def unknown(self) -> bool:
        """Whether the verb means nothing in this state and is always refused."""
        return self == Cell()

    @property
    def changes(self) -> bool:
        """Whether the verb can lead to a record here."""
        return bool(self.targets)


@cache
def cells(spec: Lifecycle) -> Mapping[str, Mapping[TaskStatus, Cell]]:
    """The whole matrix: by verb, then by state in the order of the states."""
    return {verb.name: {status: cell(spec, verb.name, status) for status in TaskStatus} for verb in spec.verbs}


def cell(spec: Lifecycle, verb: str, status: TaskStatus) -> Cell:
    """Ask about every case of `verb` in `status`."""
    row = spec.verb_of[verb]
    rules = spec.rules_of[verb][status]
    if status in row.already:
        return Cell(already=True)
    if not rules:
        return Cell()
    guards = _guards_met(spec, row, rules)
    targets: set[TaskStatus] = set()
    stays = False
    refused: set[str] = set()
    for facts, ask in _cases(row, status, guards):
        answer = spec.decide(as_testified(facts, ask, spec), ask)
        if isinstance(answer, Refusal):
            refused.add(_name(answer))
        elif answer.changed:
            targets.add(answer.target)
        else:
            stays = True
    return Cell(
        targets=tuple(target for target in TaskStatus if target in targets),
        as_asked=any(rule.asked_target for rule in rules),
        stays=stays,
        refused=tuple(name for name in dict.fromkeys((*(guard.name for guard in guards), "")) if name in refused),
    )


def _name(answer: Refusal) -> str:
    return "" if answer.guard is None else answer.guard.name


def _guards_met(spec: Lifecycle, verb: Verb, rules: tuple[Rule, ...]) -> list[Guard]:
    """The verb's guards, the conditions of its rules here, and the guards of the edges they take."""
    guards = [*verb.guards, *(guard for rule in rules for guard in rule.when)]
    for rule in rules:
        if not rule.out_of_band:
            hops = [hop for hop in (rule.source, rule.via, rule.target) if hop is not None]
            edges = (spec.edge_of[source].get(target) for source, target in pairwise(hops))
            guards += [edge.guard for edge in edges if edge is not None and edge.guard is not None]
    return guards


def _cases(verb: Verb, status: TaskStatus, guards: Iterable[Guard]) -> Iterator[tuple[Facts, Ask]]:
    """Every coherent combination of what the guards read; the other columns keep one coherent value."""
    reads = {column for guard in guards for column in guard.reads}
    asked = dict(_ASKED)
    if verb.caller is Caller.WORLD:
        asked |= _REPORTED.get(verb.name, {})
    if any(rule.asked_target for rule in verb.rules):
        reads.add("target")
    free = {name: values for name, values in _FREE.items() if name in reads}
    asks = [_ask(verb.name, values) for values in _combined({n: v for n, v in asked.items() if n in reads})]
    for facts in _bound(status, tuple(name for name in _BOUND if name in reads)):
        for values in _combined(free):
            for ask in asks:
                yield facts._replace(**values), ask


def _ask(verb: str, values: dict[str, Any]) -> Ask:
    """A request; a deadline that passed brings its own kind of failure."""
    ask = Ask(verb, **values)
    return ask if ask.deadline is Deadline.NONE else ask._replace(kind=VERDICT_KINDS[ask.deadline])


def _combined(domains: dict[str, tuple[Any, ...]]) -> Iterator[dict[str, Any]]:
    for values in product(*domains.values()):
        yield dict(zip(domains, values, strict=True))


@cache
def _coherent(status: TaskStatus) -> tuple[Facts, ...]:
    return tuple(facts for facts in (Facts(status, **values) for values in _combined(_BOUND)) if coherent(facts))


def _bound(status: TaskStatus, reads: tuple[str, ...]) -> list[Facts]:
    """One coherent Facts for each combination of the columns in `reads` that occurs."""
    found: dict[tuple[Any, ...], Facts] = {}
    for facts in _coherent(status):
        found.setdefault(tuple(getattr(facts, name) for name in reads), facts)
    return list(found.values())


def changed_by(spec: Lifecycle, callers: Iterable[Caller], status: TaskStatus) -> list[str]:
    """The verbs of these callers that can change something in `status`, in the order of the table."""
    wanted = frozenset(callers)
    found = cells(spec)
    return [verb.name for verb in spec.verbs if verb.caller in wanted and found[verb.name][status].changes]
