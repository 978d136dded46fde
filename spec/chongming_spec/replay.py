"""Judging a history from its records alone: could a task have lived like this?

A record carries what the guards saw when it was written, so nobody has to be believed: each move must be an edge whose
guard holds on that evidence, or an out-of-band move of the verb that its trigger names, and a trigger must be able to
set off the move it stands beside. Counters, times and names must agree from record to record.

Two things need care. A record shows the counters *after* its step, so the budget is judged with the attempt before it.
And two records of one commit show the same evidence: both were decided at once.

A finding is stated, never raised. What records cannot show (a verdict, a lease, the upstream tasks) is not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from chongming_spec.algebra import Rule, Verb
from chongming_spec.decide import SPEC, Lifecycle
from chongming_spec.endings import ENDINGS
from chongming_spec.facts import Ask, CarrierView, Facts
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


class _Tables(NamedTuple):
    """What the tables say of a trigger: which moves along edges it can set off, and which rows out of band it names."""

    spec: Lifecycle
    moves: Mapping[str, frozenset[Move]]
    out_of_band: Mapping[str, tuple[OutOfBand, ...]]


class _Step(NamedTuple):
    """A record, the one before it, the row that allows the move, and the tables it is judged by."""

    before: Transition
    record: Transition
    row: Row | None
    tables: _Tables


def replay(history: Sequence[Transition], spec: Lifecycle = SPEC) -> Replay:
    """Judge a whole history, oldest first; never raises for what a record says."""
    if not history:
        return Replay((Finding(0, "creation", "a history has at least the record of its creation"),), ())
    tables = _tables_of(spec)
    findings = findings_at_creation(history[0])
    steps: list[Row] = []
    for before, record in pairwise(history):
        row = _row_of(record, tables)
        if row is not None:
            steps.append(row)
        findings += _findings(_Step(before, record, row, tables))
    return Replay(tuple(findings), tuple(steps))


def findings_at_creation(first: Transition) -> list[Finding]:
    """What is wrong with the first record of a history."""
    return [Finding(first.version, check, text) for check, text in _creation(first)]


def findings_between(before: Transition, record: Transition) -> list[Finding]:
    """What is wrong with a record that follows `before`, by the published tables."""
    return _findings(_Step(before, record, _row_of(record, _PUBLISHED), _PUBLISHED))


def is_out_of_band(record: Transition) -> bool:
    """Whether a record is a person's move outside the edges; `skip` is one only from where no edge leads."""
    return isinstance(_row_of(record, _PUBLISHED), OutOfBand)


def _findings(step: _Step) -> list[Finding]:
    return [Finding(step.record.version, name, text) for name, check in CHECKS.items() for text in check(step)]


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


def _row_of(record: Transition, tables: _Tables) -> Row | None:
    """The out-of-band move of the verb that the trigger names, else the edge; None if there is neither."""
    source, target = record.from_status, record.to_status
    if source is None:
        return None
    for row in tables.out_of_band.get(record.trigger, ()):
        leads_there = target is source if row.targets is None else target is not source and target in row.targets
        if source in row.sources and leads_there:
            return row
    return tables.spec.edge_of[source].get(target)


def _tables_of(spec: Lifecycle) -> _Tables:
    if spec is SPEC:
        return _PUBLISHED
    return _Tables(spec, _moves_by_trigger(spec), _out_of_band_by_trigger(spec))


def _out_of_band_by_trigger(spec: Lifecycle) -> Mapping[str, tuple[OutOfBand, ...]]:
    named: dict[str, list[OutOfBand]] = {}
    for row in spec.out_of_band:
        also = (trigger for trigger, verbs in STANDS_FOR.items() if row.verb in verbs)
        for trigger in (spec.verb_of[row.verb].trigger, *also):
            named.setdefault(trigger, []).append(row)
    return {trigger: tuple(rows) for trigger, rows in named.items()}


def _moves_by_trigger(spec: Lifecycle) -> Mapping[str, frozenset[Move]]:
    """Which moves along edges each trigger can set off, from the rules of the verbs."""
    moves: dict[str, set[Move]] = {}
    for verb in spec.verbs:
        for rule in verb.rules:
            if rule.target is None or rule.out_of_band:
                continue
            hop = rule.source
            if rule.via is not None and rule.via_trigger is not None:
                moves.setdefault(rule.via_trigger, set()).add((rule.source, rule.via))
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
        if move not in step.tables.moves.get(record.trigger, frozenset()):
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
    """Whether a body was parked is said twice: by how the task came to be paused, and by what the guards then saw."""
    before, record = step.before, step.record
    parked = before.to_status is TaskStatus.PAUSED and before.carrier is CarrierView.PARKED
    if record.from_status is TaskStatus.PAUSED and record.paused_in_place is not parked:
        yield f"paused_in_place is {record.paused_in_place}, but it was paused with its carrier {before.carrier}"


def _attempts(step: _Step) -> Iterator[str]:
    before, record = step.before, step.record
    out_of_band = isinstance(step.row, OutOfBand)
    resets = record.to_status is TaskStatus.PENDING and record.from_status is not record.to_status
    if record.to_status is TaskStatus.STARTING:
        wanted = before.attempt + 1
    else:
        wanted = 0 if resets else before.attempt
    if record.attempt != wanted:
        yield f"attempt {record.attempt} follows {before.attempt}; only a start counts, only a reset clears (D5)"
    if record.max_attempts != before.max_attempts and not out_of_band:
        yield f"the budget changes from {before.max_attempts} to {record.max_attempts} along an edge"
    if record.attempt > record.max_attempts:
        yield f"attempt {record.attempt} of {record.max_attempts}"
    if record.generation != before.generation + resets:
        yield f"generation {record.generation} follows {before.generation}; only a reset begins one (D12)"


def _epoch(step: _Step) -> Iterator[str]:
    before, after = step.before.epoch, step.record.epoch
    if isinstance(step.row, OutOfBand):
        if after <= before:
            yield f"epoch {after} follows {before}; a move out of band begins a new one (D2)"
    elif after != before:
        yield f"epoch {after} follows {before}; only a move out of band begins a new one (D2)"


def _times(step: _Step) -> Iterator[str]:
    before, after = step.before.at, step.record.at
    if after.tzinfo is None:
        yield "its time has no time zone"
    elif before.tzinfo is not None and after < before:
        yield f"it is {before - after} earlier than the record before it"


def _failure(step: _Step) -> Iterator[str]:
    record = step.record
    adopted = record.to_status is record.from_status
    if not adopted and not failure_fits(record.to_status, record.failure_kind):
        yield f"a failure of kind {record.failure_kind} cannot stand in {record.to_status} (D18)"


def _actor(step: _Step) -> Iterator[str]:
    if not step.record.actor:
        yield "nobody is named as its actor"


def _reason(step: _Step) -> Iterator[str]:
    record = step.record
    overrides = isinstance(step.row, OutOfBand) and step.row.verb in EXPLAINED_VERBS
    if (overrides or record.to_status in EXPLAINED_STATES) and is_blank(record.reason):
        yield f"it goes to {record.to_status} by {record.trigger!r} and says no reason (D2)"


CHECKS: Mapping[str, Callable[[_Step], Iterator[str]]] = {
    "versions": _versions,
    "chain": _chain,
    "move": _move,
    "trigger": _trigger,
    "guard": _guard,
    "evidence": _witness,
    "attempts": _attempts,
    "epoch": _epoch,
    "times": _times,
    "failure": _failure,
    "actor": _actor,
    "reason": _reason,
}
"""The checks of one step by name; the first record has checks of its own."""

_PUBLISHED = _Tables(SPEC, _moves_by_trigger(SPEC), _out_of_band_by_trigger(SPEC))
