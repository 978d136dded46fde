"""How a carrier can end, and what each ending means.

An ending is a fact about a thread, process or call, reported once by its executor. What becomes of the *task* is
decided by the rules of the verb `finish`, which read these rows. `of_body` endings prove that the body ran, so they
also confirm a start nobody has confirmed yet (D8); the others say nothing about that. `kind` is the failure an ending
leaves when no timeout has given its verdict before (D14) and nobody asked the task to end.
"""

from __future__ import annotations

import attrs

from chongming_spec.facts import Ask, Deadline, EndingKind, Facts, Requested
from chongming_spec.failures import FailureKind
from chongming_spec.states import TaskStatus


@attrs.frozen
class EndingRow:
    """One way to end: the failure kind it leaves, its trigger, whether the body ran, and its meaning."""

    ending: EndingKind
    kind: FailureKind | None
    trigger: str
    of_body: bool
    meaning: str


ENDINGS: tuple[EndingRow, ...] = (
    EndingRow(EndingKind.RETURNED, None, "executor:returned", True, "The body returned valid JSON."),
    EndingRow(
        EndingKind.INVALID,
        FailureKind.RESULT_INVALID,
        "executor:returned_invalid",
        True,
        "The body returned something that is not JSON (D19).",
    ),
    EndingRow(EndingKind.RAISED, FailureKind.EXCEPTION, "executor:raised", True, "The body raised."),
    EndingRow(
        EndingKind.CANCELLED,
        FailureKind.CANCELLED,
        "executor:cancelled",
        True,
        "TaskCancelled left the body, delivered or unprompted.",
    ),
    EndingRow(
        EndingKind.DIED,
        FailureKind.NONZERO_EXIT,
        "executor:died",
        False,
        "The carrier died of itself.",
    ),
    EndingRow(
        EndingKind.KILLED,
        FailureKind.NONZERO_EXIT,
        "executor:killed",
        False,
        "The carrier was killed after its window.",
    ),
    EndingRow(
        EndingKind.WITHDRAWN,
        FailureKind.EXCEPTION,
        "executor:withdrawn",
        False,
        "The launch was taken back before a carrier existed (D6).",
    ),
    EndingRow(
        EndingKind.LAUNCH_FAILED,
        FailureKind.EXCEPTION,
        "executor:launch_failed",
        False,
        "No carrier could be made.",
    ),
)

ENDING_OF: dict[EndingKind, EndingRow] = {row.ending: row for row in ENDINGS}
OF_BODY: frozenset[EndingKind] = frozenset(row.ending for row in ENDINGS if row.of_body)

ASKED_TO_END: frozenset[Requested] = frozenset({Requested.STOP, Requested.CANCEL})

VERDICT_KINDS: dict[Deadline, FailureKind] = {
    Deadline.START: FailureKind.TIMEOUT_START,
    Deadline.ATTEMPT: FailureKind.TIMEOUT_ATTEMPT,
    Deadline.IDLE: FailureKind.TIMEOUT_IDLE,
}


def failure_kind(facts: Facts, ending: EndingKind, target: TaskStatus) -> FailureKind | None:
    """The kind an ending leaves in `target`: a request to end explains itself, a verdict decides the rest (D14)."""
    if target in (TaskStatus.STOPPED, TaskStatus.CANCELLED):
        return FailureKind.CANCELLED
    if facts.verdict is not Deadline.NONE and facts.requested not in ASKED_TO_END:
        return VERDICT_KINDS[facts.verdict]
    return ENDING_OF[ending].kind


def ended_by_body(ask: Ask) -> bool:
    """Whether this ending proves that the body ran."""
    return ask.ending in OF_BODY
