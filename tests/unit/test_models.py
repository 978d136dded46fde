"""What came of a run: the outcome and what it raises when somebody wants the value (D43)."""

from __future__ import annotations

import pytest

from chongming_spec.errors import TaskExecutionError, TaskTimeout
from chongming_task.core.state_machine import StateMachine
from chongming_task.models import Failure, FailureKind, Progress, TaskOutcome, TaskStatus


def ended(verb: str, **values: object) -> TaskOutcome:
    machine = StateMachine.create("t1", "job")
    for step in ("mark_queued", "mark_starting", "mark_running"):
        machine.apply(step)
    machine.apply(verb, **values)
    return TaskOutcome(machine.snapshot, ValueError("boom") if verb == "mark_failed" else None)


def test_a_success_gives_its_value() -> None:
    """Guide 3.3: ok, status, value, no failure."""
    outcome = ended("mark_succeeded", outcome={"rows": 42})
    assert (outcome.ok, outcome.status, outcome.value, outcome.failure) == (
        True,
        TaskStatus.SUCCEEDED,
        {"rows": 42},
        None,
    )
    assert outcome.result() == {"rows": 42}
    assert outcome.snapshot.attempt == 1


def test_a_failure_is_raised_with_its_cause() -> None:
    """D43: what the body raised is the cause, while that object is in this process."""
    outcome = ended("mark_failed", failure=Failure(FailureKind.EXCEPTION, message="boom"))
    assert (outcome.ok, outcome.value) == (False, None)
    with pytest.raises(TaskExecutionError, match="task 't1' is failed: exception: boom") as caught:
        outcome.result()
    assert caught.value.failure is outcome.failure
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize(
    ("kind", "scope"),
    [
        (FailureKind.TIMEOUT_START, "start"),
        (FailureKind.TIMEOUT_ATTEMPT, "attempt"),
        (FailureKind.TIMEOUT_IDLE, "idle"),
    ],
)
def test_a_timeout_has_its_own_error(kind: FailureKind, scope: str) -> None:
    """D14, D43: its scope says which of the three passed."""
    with pytest.raises(TaskTimeout) as caught:
        ended("mark_failed", failure=Failure(kind)).result()
    assert (caught.value.scope, type(caught.value.__cause__)) == (scope, ValueError)


def test_an_end_without_a_failure() -> None:
    """D43: a task that was skipped has no value and no failure, and says so."""
    machine = StateMachine.create("t1", "job")
    machine.mark_skipped()
    outcome = TaskOutcome(machine.snapshot)
    with pytest.raises(TaskExecutionError, match="task 't1' is skipped") as caught:
        outcome.result()
    assert caught.value.failure is None


@pytest.mark.parametrize(
    ("progress", "fraction"),
    [
        (Progress(), None),
        (Progress(5, 0), None),
        (Progress(5, 10), 0.5),
        (Progress(15, 10), 1.0),
        (Progress(-1, 10), 0.0),
    ],
)
def test_how_far_it_is(progress: Progress, fraction: float | None) -> None:
    """Guide 8.13: between nothing and all where a total is known."""
    assert progress.fraction == fraction
