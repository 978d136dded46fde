"""What can be read of a task: the snapshot, its records of attempts, and its history.

All of it is frozen. A snapshot's `status_version` counts its transitions (the creation is version 1); the fields marked
*attempt* belong to the current attempt and are cleared when that is over (D4). Times are timezone-aware UTC, spans are
milliseconds. Nobody but the state machine makes a new snapshot of a task.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import attrs

from chongming_spec.facts import CarrierState, CarrierView, Requested
from chongming_spec.failures import FailureKind
from chongming_spec.states import TaskStatus, is_terminal, occupies


@attrs.frozen
class Progress:
    """How far the body says it is: `done` of `total` in `unit`, with a message; no part of the life cycle."""

    done: float = 0
    total: float | None = None
    unit: str | None = None
    message: str | None = None
    updated_at: datetime | None = None

    @property
    def fraction(self) -> float | None:
        """Between 0.0 and 1.0 when a total is known, else None."""
        if not self.total:
            return None
        return min(1.0, max(0.0, self.done / self.total))


@attrs.frozen
class Failure:
    """Why it did not succeed. `message` is at most 8 KiB, `traceback` 64 KiB (D18); `cause` names a timeout behind
    `lost`.
    """

    kind: FailureKind
    message: str = ""
    traceback: str | None = None
    retryable: bool = False
    exception_type: str | None = None
    exit_code: int | None = None
    cause: str | None = None


@attrs.frozen
class AttemptRecord:
    """One started attempt, closed exactly once (D5); a result that came after the end is `late_result`."""

    task_id: str
    attempt: int
    generation: int
    epoch: int
    started_at: datetime
    ended_at: datetime | None = None
    disposition: str | None = None
    failure: Failure | None = None
    late_result: str | None = None


@attrs.frozen
class Transition:
    """One record of the history: what changed, by what trigger, who asked and why, and what the guards saw.

    The last block is the evidence that lets anybody check a guarded edge again from the record alone.
    """

    task_id: str
    version: int
    from_status: TaskStatus | None
    to_status: TaskStatus
    trigger: str
    actor: str
    reason: str | None
    at: datetime
    attempt: int
    max_attempts: int
    epoch: int
    generation: int
    paused_in_place: bool = False
    requested_action: Requested = Requested.NONE
    failure_kind: FailureKind | None = None
    carrier: CarrierView = CarrierView.NONE
    owner: str = ""
    command_id: str | None = None

    @property
    def transition_id(self) -> str:
        """D22: follows from what it is, so that whoever wrote it can tell after a lost connection."""
        return f"{self.owner}/{self.task_id}/{self.epoch}/{self.version}"


@attrs.frozen
class TaskSnapshot:
    """One version of one task. `name` is the label or the task's name, `task` the name it is registered under."""

    task_id: str
    name: str
    task: str
    status: TaskStatus
    status_version: int
    created_at: datetime
    updated_at: datetime
    tags: frozenset[str] = frozenset()
    pipeline_run_id: str | None = None
    priority: int = 0
    bucket: int | None = None
    bucket_key: str | None = None
    # attempt
    attempt: int = 0
    max_attempts: int = 1
    declared_attempts: int = 1
    requested_action: Requested = Requested.NONE
    paused_in_place: bool = False
    queued_at: datetime | None = None
    started_at: datetime | None = None
    first_started_at: datetime | None = None
    ended_at: datetime | None = None
    not_before: datetime | None = None
    resume_at: datetime | None = None
    held_by: str | None = None
    held_reason: str | None = None
    executor: str | None = None
    pid: int | None = None
    last_heartbeat_at: datetime | None = None
    progress: Progress | None = None
    # result
    failure: Failure | None = None
    outcome: Any = None
    # ownership
    owner: str | None = None
    lease_owner: str | None = None
    lease_until: datetime | None = None
    epoch: int = 1
    generation: int = 1
    carrier_state: CarrierState = CarrierState.NONE
    overridden: bool = False

    @property
    def is_terminal(self) -> bool:
        """Whether the task is over."""
        return is_terminal(self.status)

    @property
    def occupies(self) -> bool:
        """Whether the task holds a carrier and a slot (D3)."""
        return occupies(self.status, self.paused_in_place)


@attrs.frozen
class Details:
    """The texts and times that travel beside an `Ask` and are only copied. `now` is aware UTC.

    `trigger` replaces the verb's own where the asker knows better (the reconciler, a timer).
    """

    now: datetime
    actor: str = ""
    reason: str | None = None
    trigger: str | None = None
    values: Mapping[str, Any] = attrs.field(factory=dict)
