"""What can be read of a task: snapshots, failures, attempts, history, and the outcome of a run."""

from __future__ import annotations

from typing import Any

import attrs

from chongming_spec import predicates
from chongming_spec.errors import TaskExecutionError, TaskTimeout
from chongming_spec.facts import CarrierState, Requested
from chongming_spec.failures import FailureKind
from chongming_spec.snapshot import AttemptRecord, Failure, Progress, TaskSnapshot, Transition
from chongming_spec.states import TaskStatus
from chongming_spec.timeouts import TIMEOUTS

RequestedAction = Requested

__all__ = [
    "AttemptRecord",
    "CarrierState",
    "Failure",
    "FailureKind",
    "Progress",
    "RequestedAction",
    "TaskOutcome",
    "TaskSnapshot",
    "TaskStatus",
    "Transition",
]

_SCOPES = {row.kind: str(row.deadline) for row in TIMEOUTS}


@attrs.frozen
class TaskOutcome:
    """What came of a run. `exception` is what the body raised, while that object is in this process (D43)."""

    snapshot: TaskSnapshot
    exception: BaseException | None = None

    @property
    def ok(self) -> bool:
        """Whether it succeeded."""
        return predicates.succeeded(self.snapshot.status)

    @property
    def status(self) -> TaskStatus:
        """How it ended."""
        return self.snapshot.status

    @property
    def value(self) -> Any:
        """What the body returned, as canonical JSON; None unless it succeeded (D19)."""
        return self.snapshot.outcome

    @property
    def failure(self) -> Failure | None:
        """Why it did not succeed; None if it did."""
        return self.snapshot.failure

    def result(self) -> Any:
        """The value of a success. Otherwise raises TaskTimeout or TaskExecutionError, caused by `exception`."""
        if self.ok:
            return self.value
        failure = self.failure
        text = f"task {self.snapshot.task_id!r} is {self.status}"
        if failure is None:
            raise TaskExecutionError(text, failure=None) from self.exception
        text = f"{text}: {failure.kind}: {failure.message}"
        if failure.kind in _SCOPES:
            raise TaskTimeout(text, scope=_SCOPES[failure.kind], failure=failure) from self.exception
        raise TaskExecutionError(text, failure=failure) from self.exception
