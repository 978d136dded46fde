"""The user guide, sections 5 to 7: retries, timeouts, executors."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from datetime import timedelta

import pytest

from chongming_task import TaskTimeout, task
from chongming_task.policies import ExponentialBackoff, FixedBackoff, Jitter, RetryPolicy, Timeout
from chongming_task.run import TaskRun, run_task
from chongming_task.runtime.context import TaskContext
from chongming_task.runtime.executors.inline import InlineExecutor
from chongming_task.runtime.executors.thread import ThreadExecutor
from chongming_task.testing import FakeClock
from tests.integration.running import deaf, path, reach, running, ticking

NO_WAIT = FixedBackoff(0)


class TestRetries:
    """Section 5."""

    def test_the_policy_of_the_guide(self) -> None:
        """Guide 5: the block, as it stands; the jitter is full unless said otherwise."""
        policy = RetryPolicy(
            max_attempts=5,
            backoff=ExponentialBackoff(base=1, factor=2, max_delay=300),
            retry_on=(Exception,),
            give_up_on=(ValueError, KeyError),
        )
        assert isinstance(policy.backoff, ExponentialBackoff)
        assert policy.backoff.jitter is Jitter.FULL
        assert policy.retries(OSError())
        assert not policy.retries(KeyError())

    @pytest.mark.parametrize(
        ("error", "attempts"), [(OSError("net"), 3), (ValueError("data"), 1), (UnicodeError("text"), 1)]
    )
    def test_what_is_worth_another_attempt(self, error: Exception, attempts: int) -> None:
        """Guide 5, P-096: give_up_on wins, also for subclasses that both lists match; the budget counts the first."""

        def body(ctx: TaskContext) -> None:
            raise error

        run = TaskRun(
            body,
            executor=InlineExecutor(),
            retry=RetryPolicy(max_attempts=3, backoff=NO_WAIT, give_up_on=(ValueError, KeyError)),
        )
        run.start()
        assert run.wait().snapshot.attempt == attempts
        assert [one.disposition for one in run.attempts] == ["failed"] * attempts

    def test_the_wait_between_attempts(self) -> None:
        """P-088: FixedBackoff(10) is ten seconds, to the millisecond."""
        clock = FakeClock()

        def body(ctx: TaskContext) -> int:
            if ctx.attempt == 1:
                raise OSError("net")
            return ctx.attempt

        run = TaskRun(body, clock=clock, retry=RetryPolicy(max_attempts=2, backoff=FixedBackoff(10)))
        run.start()
        reach(run, "retry_wait")
        assert run.snapshot.not_before == clock.now() + timedelta(seconds=10)
        clock.advance(9.999)
        assert run.status == "retry_wait"
        clock.advance(0.001)
        assert run.wait().value == 2

    def test_a_cancellation_is_never_retried(self) -> None:
        """Guide 5.1, D20, P-049: not even where retry_on names BaseException."""
        clock = FakeClock()
        run = running(ticking, clock=clock, retry=RetryPolicy(max_attempts=5, retry_on=(BaseException,)))
        run.stop()
        outcome = run.wait()
        assert outcome.failure is not None
        assert (outcome.snapshot.attempt, outcome.failure.retryable) == (1, False)

    def test_a_command_that_fails_has_a_kind_of_its_own(self) -> None:
        """Guide 5.2: nonzero_exit, with the code."""

        def body(ctx: TaskContext) -> None:
            ctx.run_subprocess([sys.executable, "-c", "raise SystemExit(3)"])

        outcome = run_task(body)
        assert outcome.failure is not None
        assert (outcome.failure.kind, outcome.failure.exit_code) == ("nonzero_exit", 3)
        with pytest.raises(Exception, match="nonzero_exit") as caught:
            outcome.result()
        assert isinstance(caught.value.__cause__, subprocess.CalledProcessError)

    def test_declared_beside_the_function(self) -> None:
        """Guide 8.13: what `@task` says holds unless the caller says otherwise."""

        @task(retry=RetryPolicy(max_attempts=2, backoff=NO_WAIT), tags={"io"}, timeout=Timeout(idle=5), graceful_stop=1)
        def body(ctx: TaskContext) -> None:
            raise OSError("net")

        run = TaskRun(body, executor=InlineExecutor(), tags=["mine"])
        run.start()
        assert (run.snapshot.attempt, run.snapshot.tags) == (2, frozenset({"io", "mine"}))
        assert run_task(body, retry=RetryPolicy(), executor=InlineExecutor()).snapshot.attempt == 1


class TestTimeouts:
    """Section 6: three limits, the earliest counts; each is a failure, none a state."""

    @pytest.mark.parametrize(
        ("limits", "kind", "after"),
        [
            (Timeout(start=30, per_attempt=600, idle=60), "timeout_idle", 60),
            (Timeout(per_attempt=50, idle=60), "timeout_attempt", 50),
            (Timeout(per_attempt=600), "timeout_attempt", 600),
        ],
    )
    def test_the_earliest_decides(self, limits: Timeout, kind: str, after: float) -> None:
        """Guide 6, D14: a silent body; its failure names the timeout, lost because it is deaf."""
        clock = FakeClock()
        with deaf() as body:
            run = running(body, clock=clock, timeout=limits, graceful_stop=5)
            clock.advance(after)
            assert run.status == "running"
            clock.advance(5)
            assert run.status == "lost"
            assert run.snapshot.failure is not None
            assert run.snapshot.failure.cause == kind

    def test_a_body_that_hears_it_is_failed_not_stopped(self) -> None:
        """Guide 6, D14, P-047: the swallowing body of the field hears it as well."""
        clock = FakeClock()

        def body(ctx: TaskContext) -> None:
            while True:
                try:
                    ctx.sleep(0.1)
                except Exception:
                    continue

        run = running(body, clock=clock, timeout=Timeout(per_attempt=5))
        clock.advance(5)
        outcome = run.wait()
        assert outcome.failure is not None
        assert (outcome.status, outcome.failure.kind) == ("failed", "timeout_attempt")
        assert path(run) == "pending queued starting running failed"
        with pytest.raises(TaskTimeout) as caught:
            outcome.result()
        assert caught.value.scope == "attempt"

    def test_a_timeout_may_be_retried(self) -> None:
        """Guide 6: by default it is; what the body raised meanwhile stands beside the attempt."""
        clock = FakeClock()

        def body(ctx: TaskContext) -> int:
            if ctx.attempt == 1:
                ticking(ctx)
            return ctx.attempt

        run = running(
            body, clock=clock, timeout=Timeout(per_attempt=5), retry=RetryPolicy(max_attempts=2, backoff=NO_WAIT)
        )
        clock.advance(5)
        assert run.wait().value == 2
        first = run.attempts[0]
        assert first.failure is not None
        assert (first.failure.kind, first.late_result) == (
            "timeout_attempt",
            "cancelled: timeout_attempt: the per_attempt timeout of 5 s passed",
        )

    def test_a_beat_keeps_a_long_computation_alive(self) -> None:
        """Guide 6.1: before a part without checkpoints, `ctx.heartbeat.beat()`."""
        clock = FakeClock()
        beat, beaten, go = threading.Event(), threading.Event(), threading.Event()

        def body(ctx: TaskContext) -> str:
            assert beat.wait(10)
            ctx.heartbeat.beat()
            beaten.set()
            assert go.wait(10)
            return "done"

        run = running(body, clock=clock, timeout=Timeout(idle=10))
        clock.advance(8)
        beat.set()
        assert beaten.wait(10)
        clock.advance(9)
        assert run.status == "running"
        go.set()
        assert run.wait().value == "done"

    def test_the_deadline_is_to_be_seen(self) -> None:
        """D15: computed, so that a body can fit its work to what is left."""
        clock = FakeClock()

        def body(ctx: TaskContext) -> str:
            assert ctx.deadline is not None
            return ctx.deadline.isoformat()

        outcome = run_task(body, clock=clock, timeout=Timeout(per_attempt=60))
        assert outcome.value == (clock.now() + timedelta(seconds=60)).isoformat()
        assert run_task(lambda ctx: ctx.deadline is None).value is True


class TestExecutors:
    """Section 7."""

    def test_a_thread_takes_what_is_local(self) -> None:
        """Guide 7.1: closures, lambdas and local functions need no serialising."""
        lock = threading.Lock()
        assert run_task(lambda ctx, one: one is lock, lock, executor=ThreadExecutor()).value is True

    def test_a_body_that_is_async(self) -> None:
        """Guide 7.1: the coroutine is run to its end; its checkpoints answer to stop and pause."""
        clock = FakeClock()

        async def body(ctx: TaskContext) -> str:
            while not finish.is_set():
                await ctx.acheckpoint()
            return "done"

        finish = threading.Event()
        run = running(body, clock=clock)
        assert run.pause()
        finish.set()
        clock.advance(60)
        assert run.status == "paused"
        run.resume()
        assert run.wait().value == "done"

    def test_a_coroutine_that_waits_is_ended_at_once(self) -> None:
        """D20: a stop cancels what it waits for; no checkpoint is needed."""
        clock = FakeClock()
        waiting = threading.Event()

        async def body(ctx: TaskContext) -> None:
            waiting.set()
            await asyncio.Event().wait()

        run = running(body, clock=clock)
        assert waiting.wait(10)
        run.stop()
        assert run.wait().status == "stopped"

    def test_inline_is_here_and_now(self) -> None:
        """Guide 7.2: the caller's own thread, to the end; nothing is left to wait for."""
        run = TaskRun(lambda ctx: threading.get_ident(), executor=InlineExecutor())
        run.start()
        assert run.status == "succeeded"
        assert run.wait(0).value == threading.get_ident()

    def test_inline_cannot_be_paused(self) -> None:
        """Guide 7.2, D8: it says so at once, by an error that names the guard."""
        refused: list[object] = []

        def body(ctx: TaskContext) -> None:
            try:
                run.pause()
            except Exception as error:
                refused.append(error)

        run = TaskRun(body, executor=InlineExecutor())
        run.start()
        assert [getattr(error, "guard", None) for error in refused] == ["cannot_pause"]
        assert run.status == "succeeded"

    def test_threads_are_daemons(self) -> None:
        """Guide 7.3: a body that never ends cannot hold the process; see the subprocess tests for the exit itself."""
        assert run_task(lambda ctx: threading.current_thread().daemon).value is True
