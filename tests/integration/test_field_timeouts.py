"""What went wrong in the field with timeouts, retries and clocks (areas E, F and N)."""

from __future__ import annotations

import random
import threading
from itertools import pairwise
from typing import Any

import pytest

from chongming_task import (
    AttemptsExhausted,
    CarrierStillRunning,
    ExponentialBackoff,
    FixedBackoff,
    InlineExecutor,
    RetryPolicy,
    TaskRun,
    Timeout,
)
from chongming_task.runtime.context import TaskContext
from chongming_task.testing import FakeClock
from tests.integration.running import SleepersClock, deaf, gone, path, reach, running, ticking


def test_a_limit_holds_for_a_body_that_blocks() -> None:
    """P-080, D14, D16: enforced by the supervisor; lost after its window, never a success afterwards."""
    clock = FakeClock()
    with deaf(result="late") as body:
        run = running(body, clock=clock, timeout=Timeout(per_attempt=0.2), graceful_stop=0.5)
        clock.advance(0.2)
        assert run.status == "running"
        clock.advance(0.5)
        assert run.status == "lost"
        body.go.set()
        gone(run)
    assert run.snapshot.failure is not None
    assert (run.status, run.snapshot.failure.cause, run.snapshot.outcome) == ("lost", "timeout_attempt", None)


def test_what_it_returns_within_the_window_is_too_late() -> None:
    """P-080, D14: the verdict stands; the value is kept as a late result."""
    clock = FakeClock()
    with deaf(result="late") as body:
        run = running(body, clock=clock, timeout=Timeout(per_attempt=1))
        clock.advance(1)
        body.go.set()
        outcome = run.wait()
    assert outcome.failure is not None
    assert (outcome.status, outcome.failure.kind, outcome.value) == ("failed", "timeout_attempt", None)
    assert run.attempts[0].late_result == "The body returned valid JSON."


def test_no_limit_is_no_limit() -> None:
    """P-083: a year passes."""
    clock = FakeClock()
    with deaf() as body:
        run = running(body, clock=clock, timeout=Timeout(per_attempt=None, idle=None, start=None))
        clock.advance(366 * 86_400)
        assert run.status == "running"


@pytest.mark.parametrize(("beats", "status"), [(False, "failed"), (True, "succeeded")])
def test_progress_is_no_sign_of_life(beats: bool, status: str) -> None:
    """P-086, D16: a limit on silence is met by checkpoints and beats, not by reports."""
    clock = FakeClock()
    turn, done = threading.Semaphore(0), threading.Semaphore(0)

    def body(ctx: TaskContext) -> None:
        for number in range(10):
            assert turn.acquire(timeout=10)
            ctx.progress(number)
            if beats:
                ctx.heartbeat.beat()
            done.release()
        ctx.checkpoint()

    run = running(body, clock=clock, timeout=Timeout(idle=0.3))
    for _ in range(10):
        clock.advance(0.1)
        turn.release()
        assert done.acquire(timeout=10)
    assert run.wait().status == status


def test_tasks_that_failed_together_do_not_come_back_together() -> None:
    """P-089: spread over the whole wait, never beyond max_delay, and no overflow at attempt 2000."""
    backoff = ExponentialBackoff(base=1, factor=2, max_delay=300)
    rng = random.Random(7)
    delays = [backoff.delay_ms(4, rng) for _ in range(100)]
    assert all(0 <= delay < 8_000 for delay in delays)
    assert len(set(delays)) >= 95
    assert 0 <= backoff.delay_ms(2_000, rng) < 300_000


@pytest.mark.parametrize(("verb", "status"), [("stop", "stopped"), ("cancel", "cancelled"), ("pause", "paused")])
def test_between_attempts_every_verb_works_at_once(verb: str, status: str) -> None:
    """P-093: and the timer of the backoff is gone."""
    clock = FakeClock()
    run = TaskRun(lambda ctx: 1 / 0, clock=clock, retry=RetryPolicy(max_attempts=2, backoff=FixedBackoff(60))).start()
    reach(run, "retry_wait")
    assert run.do(verb).changed
    assert run.status == status
    assert run._driver._timers == {}
    clock.advance(600)
    assert run.snapshot.attempt == 1


def test_a_retry_beside_what_may_still_run() -> None:
    """P-095, D10: refused by name, force or not; `alongside` does it, and the attempts stay apart."""
    clock = FakeClock()
    with deaf(result="first") as body:

        def target(ctx: TaskContext) -> Any:
            return body(ctx) if ctx.attempt == 1 else "second"

        run = running(target, clock=clock)
        run.stop()
        clock.advance(10)
        for force in (False, True):
            with pytest.raises(CarrierStillRunning) as caught:
                run.retry(force=force)
            assert "alongside=True" in str(caught.value)
        assert run.retry(force=True, alongside=True, actor="li")
        assert run.wait().value == "second"
        body.go.set()
        gone(run)
    assert [one.late_result for one in run.attempts] == ["The body returned valid JSON.", None]
    assert run.wait().value == "second"


def test_a_budget_is_counted_once_per_start() -> None:
    """P-096, D5: three attempts are three; the fourth is refused, and with force it is the last."""
    run = TaskRun(
        lambda ctx: 1 / 0, executor=InlineExecutor(), retry=RetryPolicy(max_attempts=3, backoff=FixedBackoff(0))
    ).start()
    assert [one.attempt for one in run.attempts] == [1, 2, 3]
    with pytest.raises(AttemptsExhausted):
        run.retry()
    assert run.retry(force=True)
    assert (run.status, run.snapshot.attempt, run.snapshot.max_attempts) == ("failed", 4, 4)


def test_attempts_that_failed_outside_running_are_in_the_history() -> None:
    """P-097, D5: a launch that fails has its record, with start, end and failure."""

    class Broken(InlineExecutor):
        def launch(self, request: Any, sink: Any) -> Any:
            raise OSError("no thread can be started")

    run = TaskRun(lambda ctx: 1, executor=Broken(), retry=RetryPolicy(max_attempts=2, backoff=FixedBackoff(0))).start()
    assert path(run) == "pending queued starting retry_wait starting failed"
    assert [(one.disposition, one.failure and one.failure.message) for one in run.attempts] == [
        ("failed", "no thread can be started")
    ] * 2
    assert run.wait().failure is not None


@pytest.mark.parametrize("jump", [-3_600, 3_600, -86_400 * 365])
def test_a_wall_clock_that_jumps(jump: float) -> None:
    """P-156, D15: no false timeout, no endless backoff, no negative span; the history stays in order."""
    clock = SleepersClock()

    def body(ctx: TaskContext) -> int:
        if ctx.attempt == 1:
            ctx.sleep(5)
            raise OSError("net")
        ctx.sleep(5)
        return ctx.attempt

    run = running(
        body,
        clock=clock,
        timeout=Timeout(start=30, per_attempt=30, idle=30),
        retry=RetryPolicy(max_attempts=2, backoff=FixedBackoff(10)),
    )
    clock.await_sleeper()
    clock.jump_wall(jump)
    clock.advance(5)
    reach(run, "retry_wait")
    clock.jump_wall(jump)
    clock.advance(10)
    clock.await_sleeper()
    clock.jump_wall(-jump)
    clock.advance(5)
    assert run.wait().value == 2
    history = run.transitions
    assert all(before.at <= after.at for before, after in pairwise(history))
    snapshot = run.snapshot
    assert snapshot.started_at is not None
    assert snapshot.ended_at is not None
    assert snapshot.created_at <= snapshot.started_at <= snapshot.ended_at


def test_each_state_has_its_time() -> None:
    """P-105: from the history alone, the times in all states add up to the whole life."""
    clock = FakeClock()
    run = running(ticking, clock=clock)
    clock.advance(7)
    run.pause()
    clock.advance(60)
    run.stop()
    run.wait()
    history = run.transitions
    spans = {str(one.to_status): (after.at - one.at).total_seconds() for one, after in pairwise(history)}
    assert (spans["running"], spans["paused"]) == (7, 60)
    assert sum(spans.values()) == (history[-1].at - history[0].at).total_seconds() == 67
