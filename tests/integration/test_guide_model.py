"""The user guide, sections 9, 10 and 12: the model, the errors, and testing one's own tasks."""

from __future__ import annotations

import pytest

import chongming_task
from chongming_task import TRANSITIONS, InvalidTransition, StateMachine, TaskCancelled, TaskError
from chongming_task.errors import AttemptsExhausted
from chongming_task.policies import FixedBackoff, RetryPolicy, Timeout
from chongming_task.run import TaskRun, run_task
from chongming_task.runtime.context import TaskContext
from chongming_task.runtime.executors.inline import InlineExecutor
from chongming_task.states import REVIVABLE, TERMINAL, TaskStatus, is_terminal
from chongming_task.testing import FakeClock
from tests.integration.running import path, running


class TestModel:
    """Section 9."""

    def test_nine_states_go_on_and_six_do_not(self) -> None:
        """Guide 9.1, D1: terminal states have no way out; four of them may be revived."""
        assert len(TaskStatus) == 15
        assert {status for status in TaskStatus if not TRANSITIONS[status]} == TERMINAL
        assert len(TERMINAL) == 6
        assert {"failed", "stopped", "cancelled", "lost"} == REVIVABLE
        assert is_terminal(TaskStatus.LOST)
        assert TaskStatus.FINISHED is TaskStatus.SUCCEEDED  # type: ignore[comparison-overlap]

    def test_running_needs_a_start(self) -> None:
        """Guide 9.3, D1, D9: held back before it ran, it cannot be marked running."""
        machine = StateMachine.create("t", "t")
        machine.mark_queued()
        machine.mark_paused()
        with pytest.raises(InvalidTransition) as caught:
            machine.mark_running()
        assert caught.value.guard == "not_paused_in_place"
        machine.resume()
        assert machine.status == "queued"

    def test_a_pause_can_only_be_taken_back_while_it_is_under_way(self) -> None:
        """Guide 9.3: abort_pause needs PAUSING."""
        machine = StateMachine.create("t", "t")
        machine.mark_queued()
        machine.mark_starting()
        machine.mark_running()
        with pytest.raises(InvalidTransition):
            machine.abort_pause()
        machine.request_pause()
        machine.abort_pause()
        assert machine.status == "running"
        assert machine.transitions[-1].trigger == "runtime:pause_aborted"

    def test_the_budget_is_a_class_of_its_own(self) -> None:
        """Guide 9.3, D5: exhausted is not illegal."""
        machine = StateMachine.create("t", "t")
        machine.mark_queued()
        machine.mark_starting()
        machine.mark_failed()
        with pytest.raises(AttemptsExhausted):
            machine.retry()

    @pytest.mark.parametrize(
        ("actor", "reason", "guard"), [("", "why", "actor_missing"), ("li", " ", "reason_missing")]
    )
    def test_force_demands_a_name_and_a_reason(self, actor: str, reason: str, guard: str) -> None:
        """Guide 9.3, D2: the only way to jump, and never without a trace."""
        machine = StateMachine.create("t", "t")
        with pytest.raises(InvalidTransition) as caught:
            machine.force_transition("failed", actor=actor, reason=reason)
        assert caught.value.guard == guard
        machine.force_transition(TaskStatus.FAILED, actor="li", reason="why")
        assert (machine.snapshot.overridden, machine.transitions[-1].trigger) == (True, "admin:force")


class TestErrors:
    """Section 10."""

    def test_the_tree(self) -> None:
        """Guide 10, D43: all but one are TaskErrors, and each can be had from the top."""
        for name in (
            "InvalidTransition", "DependencyFailed", "CircularDependency", "TaskTimeout", "TaskExecutionError",
            "AttemptsExhausted", "ConcurrencyConflict", "StoreError", "ConfigurationError",
        ):  # fmt: skip
            assert issubclass(getattr(chongming_task, name), TaskError)
        assert not issubclass(TaskCancelled, Exception)

    def test_a_body_that_catches_every_exception_can_be_stopped(self) -> None:
        """Guide 9.1 (10), D20, P-047: `except Exception` does not swallow the stop."""
        clock = FakeClock()
        caught: list[Exception] = []

        def body(ctx: TaskContext) -> None:
            while True:
                try:
                    ctx.sleep(1)
                    raise OSError("work failed")
                except Exception as error:
                    caught.append(error)

        run = running(body, clock=clock)
        clock.advance(3)
        run.stop()
        assert run.wait().status == "stopped"
        assert {type(error) for error in caught} == {OSError}

    def test_a_body_that_lets_it_pass_and_handles_the_rest(self) -> None:
        """Guide 9.1 (10): the second block."""

        def body(ctx: TaskContext) -> str:
            try:
                raise ValueError("real")
            except TaskCancelled:
                raise
            except Exception as error:
                return str(error)

        assert run_task(body).value == "real"


class TestTestingOnesOwn:
    """Section 12."""

    def test_idle_timeout_fires_without_waiting(self) -> None:
        """Guide 12: the clock is injected, and moves when the test says so."""
        clock = FakeClock()

        def body(ctx: TaskContext) -> None:
            ctx.checkpoint()
            ctx.sleep(3_600)

        run = running(body, clock=clock, timeout=Timeout(idle=60))
        clock.advance(75)
        outcome = run.wait()
        assert outcome.failure is not None
        assert (outcome.status, outcome.failure.kind) == ("failed", "timeout_idle")

    def test_the_usual_means(self) -> None:
        """Guide 12: inline, no wait between attempts, and the whole history asserted."""

        def body(ctx: TaskContext) -> int:
            if ctx.attempt < 3:
                raise OSError("again")
            return ctx.attempt

        run = TaskRun(body, executor=InlineExecutor(), retry=RetryPolicy(max_attempts=3, backoff=FixedBackoff(0)))
        run.start()
        again = "retry_wait starting running "
        assert path(run) == f"pending queued starting running {again}{again}succeeded"
