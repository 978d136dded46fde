"""Why an attempt did not succeed.

A failure kind is a technical reason, never a state: a timeout is `failed` with kind `timeout_attempt`. Each row says
whether a retry policy may act on it, what `Failure.retryable` tells a person, and in which states it may stand (D18,
D19). `lost` is the odd row: retryable for a person who has looked, never for a policy (D10).
"""

from __future__ import annotations

from enum import StrEnum

import attrs

from chongming_spec.states import TaskStatus


class FailureKind(StrEnum):
    """The technical reason recorded in `Failure.kind`."""

    EXCEPTION = "exception"
    NONZERO_EXIT = "nonzero_exit"
    TIMEOUT_START = "timeout_start"
    TIMEOUT_ATTEMPT = "timeout_attempt"
    TIMEOUT_IDLE = "timeout_idle"
    CANCELLED = "cancelled"
    LOST = "lost"
    DEPENDENCY_FAILED = "dependency_failed"
    CONDITION_FALSE = "condition_false"
    RESULT_INVALID = "result_invalid"
    ATTEMPTS_EXHAUSTED = "attempts_exhausted"
    OVERRIDDEN = "overridden"


@attrs.frozen
class FailureRow:
    """One kind: may a policy retry it, may a person expect a retry to help, and where it may stand."""

    kind: FailureKind
    by_policy: bool
    retryable: bool
    stands_in: frozenset[TaskStatus]
    meaning: str


_FAILED = frozenset({TaskStatus.FAILED})
_FAILED_OR_WAITING = frozenset({TaskStatus.FAILED, TaskStatus.RETRY_WAIT, TaskStatus.PAUSED, TaskStatus.QUEUED})
_ENDED_ON_REQUEST = frozenset({TaskStatus.STOPPED, TaskStatus.CANCELLED})
_SKIPPED = frozenset({TaskStatus.SKIPPED})

FAILURES: tuple[FailureRow, ...] = (
    FailureRow(FailureKind.EXCEPTION, True, True, _FAILED_OR_WAITING, "The body raised."),
    FailureRow(
        FailureKind.NONZERO_EXIT,
        True,
        True,
        _FAILED_OR_WAITING,
        "A child process or command ended with an exit code other than 0.",
    ),
    FailureRow(FailureKind.TIMEOUT_START, True, True, _FAILED_OR_WAITING, "It did not start in time."),
    FailureRow(FailureKind.TIMEOUT_ATTEMPT, True, True, _FAILED_OR_WAITING, "The attempt took too long."),
    FailureRow(
        FailureKind.TIMEOUT_IDLE,
        True,
        True,
        _FAILED_OR_WAITING,
        "No checkpoint was reached for too long.",
    ),
    FailureRow(FailureKind.CANCELLED, False, False, _ENDED_ON_REQUEST, "It was asked to end, and did."),
    FailureRow(
        FailureKind.LOST,
        False,
        True,
        frozenset({TaskStatus.LOST}),
        "The result is unknown; side effects may still be going on.",
    ),
    FailureRow(FailureKind.DEPENDENCY_FAILED, False, False, _SKIPPED, "An upstream task did not succeed."),
    FailureRow(FailureKind.CONDITION_FALSE, False, False, _SKIPPED, "Its condition was false."),
    FailureRow(
        FailureKind.RESULT_INVALID,
        False,
        False,
        _FAILED,
        "The body ran to its end, but what it returned is not JSON.",
    ),
    FailureRow(FailureKind.ATTEMPTS_EXHAUSTED, False, False, _FAILED, "No attempt was left to start."),
    FailureRow(FailureKind.OVERRIDDEN, False, False, _FAILED, "A person declared it failed."),
)

FAILURE_OF: dict[FailureKind, FailureRow] = {row.kind: row for row in FAILURES}

KINDS_IN: dict[TaskStatus, frozenset[FailureKind]] = {
    status: frozenset(row.kind for row in FAILURES if status in row.stands_in) for status in TaskStatus
}
FAILURE_REQUIRED: frozenset[TaskStatus] = frozenset({TaskStatus.FAILED, TaskStatus.LOST})


def failure_fits(status: TaskStatus, kind: FailureKind | None) -> bool:
    """Whether a task in `status` may carry a failure of `kind` (None: no failure at all)."""
    if kind is None:
        return status not in FAILURE_REQUIRED
    return kind in KINDS_IN[status]
