"""Tests of tasks wait for no clock: the time is the test's, and the record says what happened.

The body's thread is real, though. Before a test moves the clock it waits until the task is where it should be.
"""

from __future__ import annotations

import threading

from chongming_task import ExponentialBackoff, FailureKind, Jitter, RetryPolicy, TaskContext, TaskRun, Timeout
from chongming_task.testing import FakeClock


def flaky(ctx: TaskContext) -> str:
    """Fails twice."""
    if ctx.attempt < 3:
        raise ConnectionError("nobody there")
    return "there"


def sleeper(ctx: TaskContext) -> None:
    """Sleeps for an hour."""
    ctx.sleep(3600)


def reach(run: TaskRun, status: str) -> None:
    """Wait until the task is in `status`; five real seconds at most, and usually none."""
    tick = threading.Event()
    for _ in range(5000):
        if run.status == status:
            return
        tick.wait(0.001)
    raise AssertionError(f"the task is {run.status}, not {status}")


def test_it_comes_through_after_two_backoffs() -> None:
    """A minute, then two: three minutes of backoff pass in milliseconds."""
    clock = FakeClock()
    backoff = ExponentialBackoff(base=60, factor=2, jitter=Jitter.NONE)
    run = TaskRun(flaky, clock=clock, retry=RetryPolicy(max_attempts=3, backoff=backoff)).start()
    reach(run, "retry_wait")
    clock.advance(59)
    assert run.snapshot.attempt == 1
    clock.advance(1)
    reach(run, "retry_wait")
    assert run.snapshot.attempt == 2
    clock.advance(120)
    assert run.wait(timeout=5).value == "there"
    assert [attempt.disposition for attempt in run.attempts] == ["failed", "failed", "succeeded"]


def test_an_attempt_that_takes_too_long_fails() -> None:
    """Ten minutes are allowed; the sleeper is woken and the timeout decides."""
    clock = FakeClock()
    run = TaskRun(sleeper, clock=clock, timeout=Timeout(per_attempt=600)).start()
    reach(run, "running")
    clock.advance(599)
    assert run.status == "running"
    clock.advance(1)
    outcome = run.wait(timeout=5)
    assert outcome.failure is not None
    assert outcome.failure.kind is FailureKind.TIMEOUT_ATTEMPT


for test in (test_it_comes_through_after_two_backoffs, test_an_attempt_that_takes_too_long_fails):
    test()
    print("passed:", test.__name__)
