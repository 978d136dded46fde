"""The user guide, sections 1 and 2: what a task is and how one is written."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from chongming_task import ConfigurationError, InvalidTransition, TaskCancelled
from chongming_task.core.state_machine import StateMachine
from chongming_task.policies import FixedBackoff, RetryPolicy
from chongming_task.run import TaskRun, run_task
from chongming_task.runtime.context import TaskContext
from chongming_task.runtime.executors.inline import InlineExecutor
from chongming_task.states import TaskStatus
from chongming_task.testing import FakeClock
from tests.integration.running import SleepersClock, path, running, ticking


class TestConcepts:
    """Section 1."""

    def test_a_task_is_a_trajectory(self) -> None:
        """Guide 1.1: every change is a record with states, trigger, actor and version."""
        run = TaskRun(lambda ctx: 1, executor=InlineExecutor())
        run.start()
        lines = [(record.from_status, "->", record.to_status, "by", record.trigger) for record in run.transitions]
        assert lines == [
            (None, "->", "pending", "by", "user:create"),
            ("pending", "->", "queued", "by", "user:start"),
            ("queued", "->", "starting", "by", "scheduler:dispatch"),
            ("starting", "->", "running", "by", "executor:launched"),
            ("running", "->", "succeeded", "by", "executor:returned"),
        ]
        assert [record.version for record in run.transitions] == [1, 2, 3, 4, 5]

    def test_the_other_columns_are_not_states(self) -> None:
        """Guide 1.2: tries, progress, health and result stand beside the status."""
        clock = SleepersClock()

        def body(ctx: TaskContext) -> None:
            ctx.progress(3, total=10, unit="rows")
            ticking(ctx)

        run = running(body, clock=clock, retry=RetryPolicy(max_attempts=4))
        clock.await_sleeper()
        snapshot = run.snapshot
        assert (snapshot.attempt, snapshot.max_attempts) == (1, 4)
        assert snapshot.progress is not None
        assert snapshot.progress.fraction == 0.3
        assert snapshot.last_heartbeat_at is not None
        assert (snapshot.failure, snapshot.outcome) == (None, None)
        run.stop()
        run.wait()

    def test_the_machine_is_the_only_writer(self) -> None:
        """Guide 1.3: the code block; an illegal move raises instead of being ignored."""
        machine = StateMachine.create("t1", "抽取", max_attempts=3)
        machine.mark_queued()
        machine.mark_starting(executor="thread")
        machine.mark_running()
        machine.mark_succeeded(outcome={"rows": 42})
        assert machine.status is TaskStatus.SUCCEEDED
        with pytest.raises(InvalidTransition, match=r"succeeded -> running; trigger 'executor:launched'; .*none"):
            machine.mark_running()
        assert not machine.can(TaskStatus.RUNNING)
        permissions = (machine.can_stop, machine.can_pause, machine.can_resume, machine.can_retry)
        assert [bool(one) for one in permissions] == [False] * 4

    def test_the_two_ways_back(self) -> None:
        """Guide 1.4, D12: retry keeps the attempts, reset begins a new generation and keeps the history."""
        run = TaskRun(lambda ctx: 1 / 0, executor=InlineExecutor())
        run.start()
        run.retry(force=True)
        assert [(one.attempt, one.generation) for one in run.attempts] == [(1, 1), (2, 1)]
        run.reset(actor="li", reason="from scratch")
        assert (run.status, run.snapshot.attempt, run.snapshot.generation) == ("pending", 0, 2)
        run.start()
        assert [(one.attempt, one.generation) for one in run.attempts] == [(1, 1), (2, 1), (1, 2)]
        assert path(run).count("failed") == 3


class TestWriting:
    """Section 2."""

    def test_the_context_is_handed_in(self) -> None:
        """Guide 2.1: the caller never passes it."""

        def my_task(ctx: TaskContext, source: str, *, batch_size: int = 100) -> list[Any]:
            return [ctx.task_id, source, batch_size]

        outcome = run_task(my_task, "s3://bucket/x", batch_size=500, task_id="j")
        assert outcome.value == ["j", "s3://bucket/x", 500]

    def test_each_attempt_has_a_context_of_its_own(self) -> None:
        """Guide 2.1: the token is made at the start of the attempt, so no body can hold an old one."""
        seen: list[TaskContext] = []

        def body(ctx: TaskContext) -> int:
            seen.append(ctx)
            if ctx.attempt == 1:
                raise OSError("again")
            return ctx.attempt

        outcome = run_task(body, retry=RetryPolicy(max_attempts=2, backoff=FixedBackoff(0)))
        assert outcome.value == 2
        assert seen[0] is not seen[1]

    def test_arguments_are_bound_at_the_call(self) -> None:
        """D42: what does not fit the signature is refused before anything starts."""

        def my_task(ctx: TaskContext, source: str) -> None: ...

        with pytest.raises(ConfigurationError, match="missing a required argument: 'source'; ctx is passed for you"):
            run_task(my_task)
        with pytest.raises(ConfigurationError, match="unexpected keyword argument 'sauce'"):
            run_task(my_task, "x", sauce=1)

    def test_a_checkpoint_is_what_makes_a_body_stoppable(self) -> None:
        """Guide 2.2: it raises after a stop, parks during a pause, and is a sign of life."""
        clock = FakeClock()
        done: list[int] = []

        def my_task(ctx: TaskContext) -> None:
            for row in range(1_000_000):
                ctx.checkpoint()
                done.append(row)
                ctx.sleep(1)

        run = running(my_task, clock=clock)
        clock.advance(3)
        assert run.pause()
        count = len(done)
        clock.advance(60)
        assert len(done) == count
        run.stop()
        assert run.wait().status == "stopped"

    def test_cleaning_up(self) -> None:
        """Guide 2.3, D20: `is_stop_requested` is for `finally`; a checkpoint there raises again, but in a shield."""
        clock = FakeClock()
        said: list[str] = []

        def my_task(ctx: TaskContext) -> None:
            try:
                ticking(ctx)
            finally:
                said.append("commit")
                if ctx.is_stop_requested:
                    said.append("interrupted")
                with ctx.shield():
                    ctx.checkpoint()
                    said.append("shielded")
                try:
                    ctx.checkpoint()
                except TaskCancelled:
                    said.append("raised again")

        run = running(my_task, clock=clock)
        run.stop()
        assert run.wait().status == "stopped"
        assert said == ["commit", "interrupted", "shielded", "raised again"]

    def test_each_attempt_has_a_directory_of_its_own(self, tmp_path: Path) -> None:
        """Guide 2.4, P-103: a retry cannot spoil what the last attempt wrote; a reset does not use it again."""

        def my_task(ctx: TaskContext) -> str:
            target = ctx.artifact_dir / "part-0.parquet"
            assert not target.exists()
            target.write_text("x")
            if ctx.attempt == 1:
                raise OSError("again")
            return target.parent.name

        run = TaskRun(
            my_task,
            executor=InlineExecutor(),
            artifact_dir=tmp_path,
            retry=RetryPolicy(max_attempts=2, backoff=FixedBackoff(0)),
        )
        run.start()
        assert run.wait().value == "attempt-2"
        run.reset(actor="li", reason="again")
        run.start()
        assert len(list(tmp_path.iterdir())) == 4

    def test_without_a_place_there_is_no_directory(self) -> None:
        """Guide 2.4: it says what to pass."""
        outcome = run_task(lambda ctx: str(ctx.artifact_dir))
        assert outcome.failure is not None
        assert "artifact_dir=" in outcome.failure.message


def test_one_definition_for_both_carriers() -> None:
    """Guide 2.1: the same body in a thread and in the caller's own."""

    def body(ctx: TaskContext) -> str:
        ctx.checkpoint()
        return threading.current_thread().name

    here = run_task(body, executor=InlineExecutor(), name="n", task_id="n")
    there = run_task(body, name="n", task_id="n")
    assert (here.value, there.value) == (threading.current_thread().name, "n")
