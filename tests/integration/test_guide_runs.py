"""The user guide, sections 3 and 4: running a task, stopping it, pausing it, letting it go on."""

from __future__ import annotations

import threading

import pytest

from chongming_task import InvalidTransition, task
from chongming_task.run import TaskRun, run_task
from chongming_task.runtime.context import TaskContext
from chongming_task.runtime.executors.inline import InlineExecutor
from chongming_task.testing import FakeClock
from tests.integration.running import deaf, path, record, running, ticking


class TestRunning:
    """Section 3."""

    def test_one_line(self) -> None:
        """Guide 3.1: run_task blocks until it is over and says what came of it."""

        def my_task(ctx: TaskContext, source: str) -> str:
            return source.upper()

        outcome = run_task(my_task, "s3://bucket/x", task_id="job-1", name="抽取")
        assert outcome.ok
        assert outcome.value == "S3://BUCKET/X"
        assert (outcome.snapshot.task_id, outcome.snapshot.name, outcome.snapshot.task) == ("job-1", "抽取", "my_task")

    def test_one_line_that_fails(self) -> None:
        """Guide 3.1: status and kind say why; nothing is raised."""

        def my_task(ctx: TaskContext) -> None:
            raise ValueError("bad row")

        outcome = run_task(my_task)
        assert not outcome.ok
        assert outcome.failure is not None
        assert (outcome.status.value, outcome.failure.kind.value) == ("failed", "exception")
        assert (outcome.failure.message, outcome.failure.exception_type) == ("bad row", "ValueError")

    def test_the_handle(self) -> None:
        """Guide 3.2: start returns at once; the body runs meanwhile."""
        with deaf(result=7) as body:
            run = TaskRun(body, (), task_id="job-1", name="抽取")
            run.start()
            assert body.entered.wait(10)
            assert run.status == "running"
            assert run.running
            assert repr(run) == "<TaskRun 'job-1' running, attempt 1/1>"
            assert run.outcome is None
            body.go.set()
            outcome = run.wait(timeout=60)
        assert outcome.value == 7
        assert outcome == run.outcome
        assert (run.snapshot.status, run.transitions[-1].to_status) == ("succeeded", "succeeded")

    def test_starting_twice_is_an_error(self) -> None:
        """Guide 3.2: the second call says what to do instead."""
        run = TaskRun(lambda ctx: None)
        run.start()
        run.wait()
        with pytest.raises(InvalidTransition, match="start"):
            run.start()
        run = TaskRun(lambda ctx: None, executor=InlineExecutor())
        run.do("start")
        with pytest.raises(InvalidTransition):
            run.start()

    def test_starting_twice_while_it_runs(self) -> None:
        """Guide 3.2, D13: not twice; the body is not run a second time."""
        clock = FakeClock()
        run = running(ticking, clock=clock)
        with pytest.raises(InvalidTransition, match="was started before and is running"):
            run.start()
        run.stop()
        assert run.wait().snapshot.attempt == 1

    def test_a_wait_that_takes_too_long_changes_nothing(self) -> None:
        """Guide 3.2, 11: TimeoutError, and the task goes on."""
        with deaf() as body:
            run = TaskRun(body)
            run.start()
            assert body.entered.wait(10)
            before = run.transitions
            with pytest.raises(TimeoutError, match=r"still running after 0.01 s; it goes on unchanged"):
                run.wait(timeout=0.01)
            assert run.transitions == before
            body.go.set()
            assert run.wait(timeout=10).ok

    def test_many_may_wait(self) -> None:
        """Guide 3.2: every method may be called from any thread."""
        with deaf(result=1) as body:
            run = TaskRun(body)
            run.start()
            values: list[object] = []
            threads = [threading.Thread(target=lambda: values.append(run.wait(10).value)) for _ in range(8)]
            for thread in threads:
                thread.start()
            body.go.set()
            for thread in threads:
                thread.join(10)
        assert values == [1] * 8


class TestStopping:
    """Guide 4.1: request, grace window, and an honest word at its end."""

    def test_a_body_that_cooperates(self) -> None:
        """Guide 4.1: stopped, cancelled, nothing left behind; a retry by policy is out of the question."""
        clock = FakeClock()
        run = running(ticking, clock=clock)
        assert run.stop(reason="发布窗口")
        outcome = run.wait(timeout=30)
        assert outcome.failure is not None
        assert (outcome.status, outcome.failure.kind, outcome.failure.retryable) == ("stopped", "cancelled", False)
        assert path(run) == "pending queued starting running stopping stopped"
        assert (record(run, "stopping").trigger, record(run, "stopping").reason) == ("user:stop", "发布窗口")

    def test_a_body_that_does_not(self) -> None:
        """Guide 4.1, P-004: lost, never stopped; the handle knows that its thread is there."""
        clock = FakeClock()
        with deaf() as body:
            run = running(body, clock=clock, graceful_stop=0.5)
            run.stop(reason="发布窗口")
            clock.advance(0.4)
            assert run.status == "stopping"
            clock.advance(0.1)
            outcome = run.wait()
            assert outcome.failure is not None
            assert (outcome.status, outcome.failure.kind, outcome.failure.retryable) == ("lost", "lost", True)
            assert run.running
        assert body.left.wait(10)

    def test_a_body_that_finishes_after_the_request(self) -> None:
        """Guide 4.4, P-050, D6: a request is no verdict; what was done is kept."""
        clock = FakeClock()
        with deaf(result={"partial": True}) as body:
            run = running(body, clock=clock)
            run.stop()
            body.go.set()
            outcome = run.wait()
        assert (outcome.status, outcome.value) == ("succeeded", {"partial": True})
        assert path(run) == "pending queued starting running stopping succeeded"

    def test_a_second_stop_shortens_the_window(self) -> None:
        """D6: and the ending names who did."""
        clock = FakeClock()
        with deaf() as body:
            run = running(body, clock=clock)
            run.stop(actor="li", reason="release")
            assert run.do("stop", actor="wang", timeout=1).changed is False
            clock.advance(1)
            assert run.status == "lost"
            assert "window shortened: stop by wang" in str(run.transitions[-1].reason)


class TestPausing:
    """Guide 4.2 and 4.3."""

    def test_pause_and_resume(self) -> None:
        """Guide 4.2: True means parked; resume lets it go on where it was."""
        clock = FakeClock()
        run = running(ticking, clock=clock)
        assert run.pause() is True
        assert (run.status, run.snapshot.paused_in_place) == ("paused", True)
        assert run.resume() is True
        assert run.status == "running"
        run.stop()
        run.wait()

    def test_a_pause_that_did_not_take_effect(self) -> None:
        """Guide 4.2: False, the status is rolled back, and a record says so."""
        with deaf() as body:
            run = TaskRun(body)
            run.start()
            assert body.entered.wait(10)
            assert run.pause(timeout=0.02) is False
            assert run.status == "running"
            assert run.transitions[-1].trigger == "runtime:pause_aborted"
            body.go.set()
            assert run.wait(10).ok

    def test_where_it_goes_on(self) -> None:
        """Guide 4.3: in place it runs on, between attempts it queues again."""
        clock = FakeClock()
        run = running(ticking, clock=clock)
        run.pause()
        run.resume()
        assert path(run).endswith("paused running")
        run.stop()
        run.wait()

    def test_no_timeouts_while_it_is_paused(self) -> None:
        """Guide 4.2: see P-062 for the figures."""
        clock = FakeClock()
        run = running(ticking, clock=clock)
        run.pause()
        clock.advance(3_600)
        assert run.status == "paused"
        run.stop()
        assert run.wait().status == "stopped"


class TestForEver:
    """Guide 4.5: three ways to end a task that would run for ever, and what each is called."""

    def test_it_returns_what_it_has(self) -> None:
        """Guide 4.5, first block: a body that looks at is_stop_requested ends succeeded, with its value."""
        napping, woken = threading.Event(), threading.Event()

        def nap() -> None:
            napping.set()
            assert woken.wait(10)

        @task
        def worker(ctx: TaskContext, source: str) -> int:
            processed = 0
            while not ctx.is_stop_requested:
                ctx.checkpoint()
                processed += 1
                ctx.progress(processed, unit="batch")
                nap()
            ctx.log(f"收到停止请求，本次共处理 {processed} 批")
            return processed

        run = TaskRun(worker, ("kafka://orders",), task_id="orders-worker").start()
        assert napping.wait(10)
        run.stop(reason="发布窗口")
        woken.set()
        outcome = run.wait(timeout=10)
        assert (outcome.status, outcome.value) == ("succeeded", 1)
        assert outcome.snapshot.progress is not None
        assert (outcome.snapshot.progress.done, outcome.snapshot.progress.unit) == (1, "batch")
        assert run.logs[-1].text == "收到停止请求，本次共处理 1 批"

    def test_it_lets_the_cancellation_pass(self) -> None:
        """Guide 4.5, table: stopped, without a value."""
        clock = FakeClock()
        run = running(ticking, clock=clock)
        run.stop()
        outcome = run.wait()
        assert (outcome.status, outcome.value) == ("stopped", None)

    def test_it_never_looks(self) -> None:
        """Guide 4.5, table: lost, and its thread goes on."""
        clock = FakeClock()
        with deaf(result=3) as body:
            run = running(body, clock=clock)
            run.stop()
            clock.advance(10)
            assert (run.status, run.wait().value, run.running) == ("lost", None, True)

    def test_the_everyday_break_is_a_pause(self) -> None:
        """Guide 4.5: stop is final, pause is not; but a stopped task may be retried within its budget (D2, D5)."""
        clock = FakeClock()
        run = running(ticking, clock=clock)
        run.stop()
        run.wait()
        assert run.retry(force=True)
        clock.advance(0)
        assert run.status == "running"
        run.stop()
        assert run.wait().snapshot.attempt == 2
