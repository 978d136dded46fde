"""The fifteen states of a task.

A state answers one question only: in which phase of its life is the task? How often it was tried, how far it got,
whether it is healthy and what came of it are other columns of the snapshot, never more states.

Three sets are *declared* here, independently of the edges in `transitions`, and the laws hold the two against each
other: which states are terminal, which of those a person may revive, and which always occupy a carrier. `paused` is
special: it occupies a carrier only when the body was parked in place (D3), which the status alone does not tell.
"""

from __future__ import annotations

from enum import StrEnum

import attrs


class TaskStatus(StrEnum):
    """Where a task is in its life. `FINISHED` is the old name of `SUCCEEDED` and stays an alias."""

    PENDING = "pending"
    BLOCKED = "blocked"
    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    PAUSING = "pausing"
    PAUSED = "paused"
    RETRY_WAIT = "retry_wait"
    STOPPING = "stopping"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"
    LOST = "lost"
    FINISHED = "succeeded"


class Phase(StrEnum):
    """What a state says about resources: nothing held yet, a carrier held, on hold, or over."""

    WAITING = "waiting"
    OCCUPYING = "occupying"
    HELD = "held"
    ENDED = "ended"


@attrs.frozen
class State:
    """One row: a status, its phase, whether it is final, whether a person may revive it, and its meaning."""

    status: TaskStatus
    phase: Phase
    meaning: str
    terminal: bool = False
    revivable: bool = False


_WAITING, _OCCUPYING, _HELD, _ENDED = Phase

STATES: tuple[State, ...] = (
    State(TaskStatus.PENDING, _WAITING, "Created; nobody has asked for it to run yet."),
    State(TaskStatus.BLOCKED, _WAITING, "Waits for upstream tasks whose join does not hold yet."),
    State(TaskStatus.QUEUED, _WAITING, "Ready; waits for an execution slot."),
    State(TaskStatus.STARTING, _OCCUPYING, "An attempt is open and its carrier is being launched."),
    State(TaskStatus.RUNNING, _OCCUPYING, "The carrier is confirmed and the body runs."),
    State(TaskStatus.PAUSING, _OCCUPYING, "A pause is asked for; the body has not parked yet."),
    State(TaskStatus.PAUSED, _HELD, "On hold: parked in place, or held back before it ran."),
    State(TaskStatus.RETRY_WAIT, _WAITING, "An attempt failed; the next one waits for its backoff."),
    State(TaskStatus.STOPPING, _OCCUPYING, "A stop or cancel is asked for; its window is open."),
    State(TaskStatus.SUCCEEDED, _ENDED, "The body returned a valid result.", terminal=True),
    State(TaskStatus.FAILED, _ENDED, "It went wrong and will not be retried by itself.", True, True),
    State(TaskStatus.STOPPED, _ENDED, "A person ended it; not an error.", True, True),
    State(TaskStatus.CANCELLED, _ENDED, "Its orchestrator, or the body itself, called it off.", True, True),
    State(TaskStatus.SKIPPED, _ENDED, "It was not needed and never ran.", terminal=True),
    State(TaskStatus.LOST, _ENDED, "Nobody can know what came of it.", True, True),
)

STATE_OF: dict[TaskStatus, State] = {row.status: row for row in STATES}
TERMINAL: frozenset[TaskStatus] = frozenset(row.status for row in STATES if row.terminal)
REVIVABLE: frozenset[TaskStatus] = frozenset(row.status for row in STATES if row.revivable)
OCCUPYING: frozenset[TaskStatus] = frozenset(row.status for row in STATES if row.phase is _OCCUPYING)


def is_terminal(status: TaskStatus) -> bool:
    """Whether no edge leads out of `status`."""
    return status in TERMINAL


def occupies(status: TaskStatus, paused_in_place: bool) -> bool:
    """D3: whether a task in this state holds a carrier, and with it a slot."""
    return status in OCCUPYING or (status is TaskStatus.PAUSED and paused_in_place)
