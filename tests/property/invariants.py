"""What is true of every task at every moment, as complaints about a snapshot, its history and its attempts.

The numbers are those of the published invariants 1 to 12 and 17 to 27 (the others need a store, a runtime or a
pipeline), as the rules have amended them. Said without the tables, but for the edges that records are judged by.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise

from chongming_spec.facts import Ask, Facts, Requested
from chongming_spec.failures import FailureKind
from chongming_spec.snapshot import AttemptRecord, TaskSnapshot, Transition
from chongming_spec.states import TaskStatus
from chongming_spec.transitions import EDGES, OUT_OF_BAND

S = TaskStatus
K = FailureKind
ENDED = {S.SUCCEEDED, S.FAILED, S.STOPPED, S.CANCELLED, S.SKIPPED, S.LOST}
OCCUPYING = {S.STARTING, S.RUNNING, S.PAUSING, S.STOPPING}
IDLE = {S.PENDING, S.BLOCKED, S.QUEUED, S.RETRY_WAIT}
NEVER_RETRYABLE = {
    K.CANCELLED,
    K.RESULT_INVALID,
    K.CONDITION_FALSE,
    K.DEPENDENCY_FAILED,
    K.ATTEMPTS_EXHAUSTED,
    K.OVERRIDDEN,
}
REQUESTS = {S.PAUSING: {Requested.PAUSE}, S.STOPPING: {Requested.STOP, Requested.CANCEL}}
KINDS: dict[TaskStatus, set[FailureKind | None]] = {
    S.SUCCEEDED: {None},
    S.LOST: {K.LOST},
    S.STOPPED: {K.CANCELLED, None},
    S.CANCELLED: {K.CANCELLED, None},
    S.SKIPPED: {K.CONDITION_FALSE, K.DEPENDENCY_FAILED, None},
    S.FAILED: {*K} - {None, K.LOST, K.CANCELLED, K.CONDITION_FALSE, K.DEPENDENCY_FAILED},
}
OUT_OF_BAND_TRIGGERS = {
    "user:retry": "retry",
    "admin:reset": "reset",
    "user:skip": "skip",
    "admin:adopt": "adopt",
    "admin:force": "force_transition",
}
EDGE_OF = {(edge.source, edge.target): edge for edge in EDGES}


def occupies(snapshot: TaskSnapshot) -> bool:
    """D3, said once more."""
    return snapshot.status in OCCUPYING or snapshot.paused_in_place


def of_snapshot(task: TaskSnapshot) -> Iterator[str]:
    """1 to 12."""
    status, failure = task.status, task.failure
    if (task.ended_at is not None) is not (status in ENDED):
        yield "2: ended_at is set if and only if it is over"
    times = [at for at in (task.created_at, task.queued_at, task.started_at, task.ended_at) if at is not None]
    if any(later < earlier for earlier, later in pairwise(times)):
        yield "3: created, queued, started and ended are in order"
    if occupies(task) and (task.started_at is None or task.attempt < 1):
        yield "4: what occupies has started"
    if status in IDLE and (task.started_at is not None or task.paused_in_place):
        yield "5: what waits has not started"
    if not 0 <= task.attempt <= task.max_attempts:
        yield "6: the attempt is within the budget"
    if task.requested_action not in REQUESTS.get(status, {Requested.NONE}):
        yield "7: the requested action has its state"
    if task.paused_in_place and status is not S.PAUSED:
        yield "8: in place is paused"
    kind = None if failure is None else failure.kind
    if kind not in KINDS.get(status, {kind}) or (kind is K.LOST and status is not S.LOST):
        yield f"9: {kind} cannot stand in {status}"
    if failure is not None and failure.kind in NEVER_RETRYABLE and failure.retryable:
        yield f"10: {failure.kind} is not retryable"
    if task.outcome is not None:
        if status is not S.SUCCEEDED:
            yield "11: an outcome stands only in succeeded"
        if json.loads(json.dumps(task.outcome, allow_nan=False)) != task.outcome:
            yield "11: an outcome is JSON"
    if not task.owner:
        yield "12: somebody owns it, also after its end"


def _before(record: Transition) -> Facts:
    """What the record says that the guards saw."""
    assert record.from_status is not None
    return Facts(
        record.from_status,
        record.requested_action,
        record.paused_in_place,
        attempt=record.attempt - (record.to_status is S.STARTING),
        max_attempts=record.max_attempts,
        carrier=record.carrier,
    )


def is_out_of_band(record: Transition) -> bool:
    """By its trigger, and where a skip leads along an edge, by its source."""
    verb = OUT_OF_BAND_TRIGGERS.get(record.trigger)
    return any(row.verb == verb and record.from_status in row.sources for row in OUT_OF_BAND)


def of_record(record: Transition) -> Iterator[str]:
    """19, 25 and 27: a move that the tables hold, with its guard true of what was recorded."""
    source, target = record.from_status, record.to_status
    if source is None:
        return
    if not record.actor:
        yield "27: somebody acted"
    if record.trigger in ("admin:force", "admin:reset") and not record.reason:
        yield "27: force and reset have a reason"
    if is_out_of_band(record):
        return
    if source in ENDED:
        yield f"25: {record.trigger} leads out of {source}"
    edge = EDGE_OF.get((source, target))
    if edge is None:
        yield f"19: there is no edge from {source} to {target}"
    elif edge.guard is not None and not edge.guard.holds(_before(record), Ask("", kind=record.failure_kind)):
        yield f"19: {edge.guard.name} from {source} to {target}, by what was recorded"


def of_history(task: TaskSnapshot, history: Sequence[Transition]) -> Iterator[str]:
    """17 to 19, 22, 23, 25 to 27."""
    if [record.version for record in history] != list(range(1, task.status_version + 1)):
        yield "17: versions are 1, 2, …, the snapshot's"
    if history[0].from_status is not None or history[-1].to_status is not task.status:
        yield "18: the history leads from nothing to the snapshot"
    for record in history:
        yield from of_record(record)
    for earlier, later in pairwise(history):
        if later.from_status is not earlier.to_status:
            yield "18: each record goes on where the last one ended"
        if later.at < earlier.at:
            yield "22: times do not decrease"
        if (later.epoch > earlier.epoch) is not is_out_of_band(later) or later.epoch < earlier.epoch:
            yield f"26: {later.trigger} from epoch {earlier.epoch} to {later.epoch}"
    for generation in {record.generation for record in history}:
        own = [record for record in history if record.generation == generation]
        starts = sum(record.to_status is S.STARTING for record in own)
        if starts != own[-1].attempt:
            yield f"23: {starts} starts, attempt {own[-1].attempt} in generation {generation}"


def of_attempts(task: TaskSnapshot, history: Sequence[Transition], attempts: Sequence[AttemptRecord]) -> Iterator[str]:
    """24: one record per start, each closed once, the last one open as long as the task occupies."""
    if len(attempts) != sum(record.to_status is S.STARTING for record in history):
        yield "24: each start opens an attempt"
    is_open = [attempt.disposition is None for attempt in attempts]
    if any(is_open[:-1]) or (bool(is_open) and is_open[-1] is not occupies(task)):
        yield "24: an attempt is open if and only if it occupies"
    if occupies(task) and not attempts:
        yield "24: what occupies has an attempt"
    if any((attempt.ended_at is None) is not (attempt.disposition is None) for attempt in attempts):
        yield "24: closed with a time and a disposition"


def complaints(task: TaskSnapshot, history: Sequence[Transition], attempts: Sequence[AttemptRecord]) -> list[str]:
    """Everything that is wrong."""
    return [*of_snapshot(task), *of_history(task, history), *of_attempts(task, history, attempts)]
