"""Judging a history from its records alone: could a task have lived like this?

A record carries what the guards saw when it was written, so nobody has to be believed: each move must be an edge whose
guard holds on that evidence, or an out-of-band move of the verb that its trigger names, and a trigger must be able to
set off the move it stands beside. Counters, times and names must agree from record to record.

Two things need care. A record shows the counters *after* its step, so the budget is judged with the attempt before it.
And the second of two records in one commit shows the evidence of the first: both were decided at once.

A finding is stated, never raised. What records cannot show (a verdict, a lease, the upstream tasks) is not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from chongming_spec.algebra import Rule, Verb
from chongming_spec.decide import SPEC, Lifecycle
from chongming_spec.endings import ENDINGS
from chongming_spec.facts import CARRIERS_IN, REQUESTS_IN, Ask, CarrierView, Facts
from chongming_spec.failures import failure_fits
from chongming_spec.snapshot import Transition
from chongming_spec.states import TaskStatus
from chongming_spec.texts import is_blank
from chongming_spec.timeouts import TIMEOUTS
from chongming_spec.transitions import Edge, OutOfBand
from chongming_spec.triggers import TRIGGER_NAMES

Row = Edge | OutOfBand
Move = tuple[TaskStatus, TaskStatus]

CREATION = "user:create"
STANDS_FOR: Mapping[str, tuple[str, ...]] = {
    "timer:resume": ("resume",),
    "reconciler:lease_expired": ("mark_lost", "retry", "adopt"),
}
"""Triggers by which others than the verb's own caller use it: a time that came, the one that settles dead owners'
tasks.
"""

EXPLAINED_VERBS: frozenset[str] = frozenset({"force_transition", "reset", "adopt"})
EXPLAINED_STATES: frozenset[TaskStatus] = frozenset({TaskStatus.LOST})
"""D2: what a person overrides is recorded with a reason; and nobody may be left to guess why a result is unknown."""


class Finding(NamedTuple):
    """One thing that cannot be: the version of the record, the name of the check, and what is wrong."""

    version: int
    check: str
    text: str


class Replay(NamedTuple):
    """What a replay found. `steps` are the rows that allow the moves, in order, as far as one does."""

    findings: tuple[Finding, ...]
    steps: tuple[Row, ...]

    @property
    def ok(self) -> bool:
        """Whether the task could have lived like this."""
        return not self.findings


class _Step(NamedTuple):
    """A record, the one before it, the row that allows the move, and whether a parked body was left behind before."""

    before: Transition
    record: Transition
    row: Row | None
    in_place: bool
    spec: Lifecycle


def replay(history: Sequence[Transition], spec: Lifecycle = SPEC) -> Replay:
    """Judge a whole history, oldest first; never raises for what a record says."""
    if not history:
        return Replay((Finding(0, "creation", "a history has at least the record of its creation"),), ())
    findings = [Finding(history[0].version, check, text) for check, text in _creation(history[0])]
    steps: list[Row] = []
    in_place = False
    for before, record in zip(history, history[1:], strict=False):
        row = _row_of(record, spec)
        if row is not None:
            steps.append(row)
        step = _Step(before, record, row, in_place, spec)
        for name, check in CHECKS.items():
            findings += [Finding(record.version, name, text) for text in check(step)]
        in_place = record.to_status is TaskStatus.PAUSED and record.carrier is CarrierView.PARKED
    return Replay(tuple(findings), tuple(steps))


def _creation(first: Transition) -> Iterator[tuple[str, str]]:
    if first.version != 1:
        yield "versions", f"the first record has version {first.version}, not 1"
    if first.from_status is not None or first.to_status is not TaskStatus.PENDING:
        yield "creation", f"it begins with {first.from_status} -> {first.to_status}, not in {TaskStatus.PENDING}"
    if first.trigger != CREATION:
        yield "creation", f"it begins by {first.trigger!r}, not by {CREATION!r}"
    if first.attempt != 0 or first.max_attempts < 1:
        yield "attempts", f"it begins with attempt {first.attempt} of {first.max_attempts}"
    if first.at.tzinfo is None:
        yield "times", "its time has no time zone"
    if not first.actor:
        yield "actor", "nobody is named as its actor"


# ---------------------------------------------------------------- which row allows a move


def _row_of(record: Transition, spec: Lifecycle) -> Row | None:
    """The out-of-band move of the verb that the trigger names, else the edge; None if there is neither."""
    source, target = record.from_status, record.to_status
    if source is None:
        return None
    verbs = _verbs_of(record.trigger, spec)
    for row in spec.out_of_band:
        targets = frozenset({source}) if row.targets is None else row.targets
        if row.verb in verbs and source in row.sources and target in targets and not _is_adopted_away(row, record):
            return row
    return spec.edge_of[source].get(target)


def _is_adopted_away(row: OutOfBand, record: Transition) -> bool:
    """Whether a move to the same state is meant by a row that leads to another one."""
    return row.targets is not None and record.to_status is record.from_status


def _verbs_of(trigger: str, spec: Lifecycle) -> frozenset[str]:
    named = {verb.name for verb in spec.verbs if verb.trigger == trigger}
    return frozenset(named.union(STANDS_FOR.get(trigger, ())))


@cache
def _moves_by_trigger(spec: Lifecycle) -> Mapping[str, frozenset[Move]]:
    """Which moves along edges each trigger can set off, from the rules of the verbs."""
    moves: dict[str, set[Move]] = {}
    for verb in spec.verbs:
        for rule in verb.rules:
            if rule.target is None or rule.out_of_band:
                continue
            hop = rule.source
            if rule.via is not None:
                for trigger in (rule.via_trigger,) if rule.via_trigger else _triggers(verb, rule):
                    moves.setdefault(trigger, set()).add((rule.source, rule.via))
                hop = rule.via
            for trigger in _triggers(verb, rule):
                moves.setdefault(trigger, set()).add((hop, rule.target))
    return {trigger: frozenset(found) for trigger, found in moves.items()}


def _triggers(verb: Verb, rule: Rule) -> tuple[str, ...]:
    """What may stand beside a rule's record: see `step.trigger_of`, and who else may use the verb."""
    if rule.trigger is not None:
        return (rule.trigger,)
    if verb.name == "finish":
        return tuple(row.trigger for row in ENDINGS)
    if verb.name == "expire":
        return tuple(row.trigger for row in TIMEOUTS)
    return (verb.trigger, *(trigger for trigger, verbs in STANDS_FOR.items() if verb.name in verbs))


# ---------------------------------------------------------------- the checks of one step


def _versions(step: _Step) -> Iterator[str]:
    if step.record.version != step.before.version + 1:
        yield f"version {step.record.version} follows {step.before.version}"


def _chain(step: _Step) -> Iterator[str]:
    if step.record.from_status is not step.before.to_status:
        yield f"it leaves {step.record.from_status}, but the task was {step.before.to_status}"
    if step.record.task_id != step.before.task_id:
        yield f"it is about {step.record.task_id!r}, not {step.before.task_id!r}"


def _move(step: _Step) -> Iterator[str]:
    record = step.record
    if step.row is None:
        yield f"no row leads from {record.from_status} to {record.to_status} by {record.trigger!r}"


def _trigger(step: _Step) -> Iterator[str]:
    record = step.record
    if record.trigger not in TRIGGER_NAMES:
        yield f"unknown trigger {record.trigger!r}"
    elif isinstance(step.row, Edge):
        move = (step.row.source, step.row.target)
        if move not in _moves_by_trigger(step.spec).get(record.trigger, frozenset()):
            yield f"{record.trigger!r} cannot take a task from {move[0]} to {move[1]}"


def _guard(step: _Step) -> Iterator[str]:
    if isinstance(step.row, Edge) and step.row.guard is not None:
        facts, ask = _evidence(step)
        if not step.row.guard.holds(facts, ask):
            yield f"{step.row.guard.name}. Needed: {step.row.guard.sentence}"


def _evidence(step: _Step) -> tuple[Facts, Ask]:
    """What the guard of an edge saw, as far as edges ask for it."""
    record = step.record
    facts = Facts(
        step.before.to_status,
        requested=record.requested_action,
        in_place=record.paused_in_place,
        attempt=step.before.attempt,
        max_attempts=record.max_attempts,
        carrier=record.carrier,
    )
    return facts, Ask("", kind=record.failure_kind)


def _witness(step: _Step) -> Iterator[str]:
    """The evidence itself agrees with the state it was seen in; the second record of a commit shows the first's."""
    record = step.record
    source = record.from_status
    if source is TaskStatus.PAUSED and record.paused_in_place is not step.in_place:
        yield f"paused_in_place is {record.paused_in_place}, but the body was {'' if step.in_place else 'not '}parked"
    if source is None or _same_commit(step):
        return
    if record.requested_action not in REQUESTS_IN[source]:
        yield f"requested_action is {record.requested_action} while {source}"
    seen = CARRIERS_IN[source] if record.carrier is not CarrierView.LIVE else (CarrierView.LIVE,)
    if record.carrier not in seen:
        yield f"the carrier is {record.carrier} while {source}"


def _same_commit(step: _Step) -> bool:
    before, record = step.before, step.record
    return before.at == record.at and before.requested_action == record.requested_action
