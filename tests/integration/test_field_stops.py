"""What went wrong in the field with stopping, as far as one task in a thread goes (areas A and C)."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from chongming_task import (
    FixedBackoff,
    InlineExecutor,
    RetryPolicy,
    TaskCancelled,
    TaskRun,
    ThreadExecutor,
    Timeout,
    run_task,
)
from chongming_task.runtime.context import TaskContext
from chongming_task.testing import FakeClock
from tests.integration.running import Call, SleepersClock, deaf, gone, path, reach, record, running, ticking


class Odd(BaseException):
    """Neither an Exception nor anything known."""


def test_a_task_that_never_started_is_stopped_at_once() -> None:
    """P-002, D6: one record, no in-between state, no body."""
    run = TaskRun(ticking)
    assert run.stop()
    assert path(run) == "pending stopped"
    assert run.snapshot.started_at is None


@pytest.mark.parametrize("result", [None, RuntimeError("late")])
def test_a_mark_is_not_overwritten_by_what_comes_late(result: Any) -> None:
    """P-007, D11: after the terminal record there is no other, and the outcome stays empty."""
    clock = FakeClock()
    with deaf(result) as body:
        run = running(body, clock=clock)
        run.force_transition("failed", actor="li", reason="seen by hand")
        before = run.transitions
        body.go.set()
        assert body.left.wait(10)
        clock.advance(0)
    assert run.transitions == before
    assert (run.status, run.snapshot.outcome, run.snapshot.overridden) == ("failed", None, True)
    assert run.snapshot.failure is not None
    assert run.snapshot.failure.kind == "overridden"


def test_a_late_result_stands_beside_its_attempt() -> None:
    """P-007, D5: noted, and no more; the row says when nothing is at work any more."""
    clock = FakeClock()
    with deaf(result=1) as body:
        run = running(body, clock=clock, graceful_stop=1)
        run.stop()
        clock.advance(1)
        assert (run.status, run.snapshot.carrier_state, run.running) == ("lost", "abandoned", True)
        body.go.set()
        gone(run)
    assert run.attempts[0].late_result == "The body returned valid JSON."
    assert (run.attempts[0].disposition, run.snapshot.carrier_state) == ("lost", "none")


def test_stop_between_attempts() -> None:
    """P-011, P-093, D6: stopped at once; hours later no attempt begins."""
    clock = FakeClock()
    run = TaskRun(
        lambda ctx: 1 / 0, clock=clock, retry=RetryPolicy(max_attempts=2, backoff=FixedBackoff(3_600))
    ).start()
    reach(run, "retry_wait")
    run.stop()
    clock.advance(7_200)
    assert path(run) == "pending queued starting running retry_wait stopped"


def test_a_stop_needs_no_preparation() -> None:
    """P-039: a plain body under a plain run can be stopped."""

    def body(ctx: TaskContext) -> None:
        while True:
            ctx.checkpoint()

    run = TaskRun(body).start()
    run.stop()
    assert run.wait(10).status == "stopped"


def test_stops_that_race_with_the_end() -> None:
    """P-041, P-051, D6: whatever the moment, the answer fits the end, and nothing surfaces in another thread."""
    surfaced: list[Any] = []
    hook, threading.excepthook = threading.excepthook, surfaced.append
    executor = ThreadExecutor()
    try:
        for number in range(200):
            gate = threading.Barrier(2)

            def body(ctx: TaskContext, gate: threading.Barrier = gate, turns: int = number % 20) -> int:
                gate.wait(10)
                for _ in range(turns):
                    ctx.checkpoint()
                return 1

            run = TaskRun(body, executor=executor).start()
            gate.wait(10)
            answer = run.do("stop")
            status = run.wait(10).status
            assert (answer.changed, status) in {(True, "stopped"), (True, "succeeded"), (False, "succeeded")}
            assert path(run).count("stopping") == int(answer.changed)
    finally:
        executor.close()
        threading.excepthook = hook
    assert surfaced == []


def test_a_stop_is_not_swallowed_by_what_is_ready_in_the_same_turn() -> None:
    """P-044, D20: a coroutine that always has something to do never goes on past its next acheckpoint."""
    clock = FakeClock()
    asked = threading.Event()
    passed: list[int] = []

    async def body(ctx: TaskContext) -> None:
        ready: asyncio.Queue[int] = asyncio.Queue()
        while True:
            ready.put_nowait(1)
            await ready.get()
            late = asked.is_set()
            await ctx.acheckpoint()
            if late:
                passed.append(1)

    run = running(body, clock=clock)
    run.stop()
    asked.set()
    assert run.wait().status == "stopped"
    assert passed == []


@pytest.mark.parametrize(
    "error",
    [KeyboardInterrupt(), SystemExit(0), SystemExit("text"), GeneratorExit(), asyncio.CancelledError(), Odd("odd")],
    ids=repr,
)
def test_no_exception_of_a_body_brings_anything_down(error: BaseException) -> None:
    """P-045, D20: failed, with its class by name; the next task runs, in a thread and inline."""

    def body(ctx: TaskContext) -> None:
        raise error

    executor = ThreadExecutor()
    outcome = TaskRun(body, executor=executor, retry=RetryPolicy(max_attempts=3)).start().wait(10)
    assert outcome.failure is not None
    assert (outcome.status, outcome.failure.kind, outcome.snapshot.attempt) == ("failed", "exception", 1)
    assert type(error).__name__ in str(outcome.failure.exception_type)
    assert TaskRun(lambda ctx: 1, executor=executor).start().wait(10).ok
    executor.close()
    inline = TaskRun(body, executor=InlineExecutor())
    if isinstance(error, (KeyboardInterrupt, SystemExit)):
        with pytest.raises(type(error)):
            inline.start()
    else:
        inline.start()
    assert inline.status == "failed"


@pytest.mark.parametrize("by", ["stop", "timeout"])
def test_the_signal_is_not_caught_by_except_exception(by: str) -> None:
    """P-047, D14, D20: ended within its grace, by a stop or by a timeout."""
    clock = FakeClock()

    def body(ctx: TaskContext) -> None:
        while True:
            try:
                ctx.sleep(0.5)
            except Exception:
                continue

    run = running(body, clock=clock, timeout=Timeout(per_attempt=60))
    if by == "stop":
        run.stop()
    else:
        clock.advance(60)
    outcome = run.wait()
    assert outcome.failure is not None
    assert (outcome.status, outcome.failure.kind) == {
        "stop": ("stopped", "cancelled"),
        "timeout": ("failed", "timeout_attempt"),
    }[by]


def test_a_stop_that_the_body_turns_into_an_error() -> None:
    """P-049, D6: raised from the TaskCancelled it was given, it is still the stop; the error is kept."""
    clock = FakeClock()

    def body(ctx: TaskContext) -> None:
        try:
            ctx.sleep(60)
        except TaskCancelled as stop:
            raise RuntimeError("connection closed") from stop

    run = running(body, clock=clock, retry=RetryPolicy(max_attempts=5))
    run.stop(reason="window")
    outcome = run.wait()
    assert path(run) == "pending queued starting running stopping stopped"
    assert outcome.failure is not None
    assert (outcome.failure.kind, outcome.failure.exception_type) == ("cancelled", "RuntimeError")
    assert "connection closed" in outcome.failure.message


def test_an_error_of_its_own_while_it_is_stopped() -> None:
    """D6: what it raised has nothing to do with the stop, and it was not stopped but failed; never retried."""
    clock = FakeClock()
    with deaf(ValueError("real")) as body:
        run = running(body, clock=clock, retry=RetryPolicy(max_attempts=5))
        run.stop()
        body.go.set()
        assert run.wait().status == "failed"
        assert run.snapshot.attempt == 1


def test_a_soft_signal_first() -> None:
    """P-050, D6: time to finish, and what was finished counts."""
    clock = SleepersClock()

    def body(ctx: TaskContext) -> list[int]:
        done: list[int] = []
        while not ctx.is_stop_requested:
            done.append(len(done))
            with ctx.shield():
                ctx.sleep(1)
        return done

    run = running(body, clock=clock)
    for turn in range(3):
        clock.await_sleeper()
        if turn == 2:
            run.stop()
        clock.advance(1)
    outcome = run.wait()
    assert path(run).endswith("stopping succeeded")
    assert outcome.value == [0, 1, 2]


def test_not_graceful_leaves_no_task_behind() -> None:
    """P-053, D6: the second request cuts the window to nothing, and no state is left live."""
    clock = FakeClock()
    with deaf() as body:
        run = running(body, clock=clock)
        run.stop()
        run.stop(graceful=False)
        clock.advance(0)
        assert run.wait().status == "lost"


@pytest.mark.parametrize("when", ["running", "paused", "timed out"])
def test_cleaning_up_happens_once(when: str) -> None:
    """P-055: stopped while it runs, while it is parked, or by a timeout: `finally` is run, and run once."""
    clock = FakeClock()
    cleaned: list[str] = []

    def body(ctx: TaskContext) -> None:
        try:
            ticking(ctx)
        finally:
            cleaned.append(when)
            raise OSError("cleaning up failed") if when == "running" else TaskCancelled

    run = running(body, clock=clock, timeout=Timeout(per_attempt=30))
    if when == "paused":
        assert run.pause()
    if when == "timed out":
        clock.advance(30)
    else:
        run.stop()
    run.wait()
    assert cleaned == [when]


def test_a_sleeper_wakes_at_once() -> None:
    """P-056: an hour of sleep ends with the stop, without any time passing."""
    clock = FakeClock()
    run = running(lambda ctx: ctx.sleep(3_600), clock=clock)
    run.stop()
    assert run.wait().status == "stopped"
    assert clock.mono_ms() == 0


def test_a_stop_before_the_body_begins() -> None:
    """D6: withdrawn, the body never runs, and no success is made up."""
    ran: list[int] = []

    class Late(ThreadExecutor):
        """Holds the launch until it was told to stop."""

        def launch(self, request: Any, sink: Any) -> Any:
            from chongming_task.core.ports import Signal
            from chongming_task.runtime.executors.thread import ThreadCarrier

            carrier = ThreadCarrier(request, sink)
            signal = carrier.signal

            def told(one: Signal, reason: str = "") -> None:
                signal(one, reason)
                threading.Thread(target=carrier.carry, daemon=True).start()

            carrier.signal = told  # type: ignore[assignment,method-assign]
            return carrier

    run = TaskRun(lambda ctx: ran.append(1), executor=Late()).start()
    run.cancel(reason="plan changed")
    outcome = run.wait(10)
    assert (path(run), ran) == ("pending queued starting stopping cancelled", [])
    assert outcome.failure is not None
    assert outcome.failure.kind == "cancelled"


def test_a_body_that_calls_itself_off() -> None:
    """D7: TaskCancelled unprompted is cancelled, not stopped and not failed."""

    def body(ctx: TaskContext) -> None:
        raise TaskCancelled("nothing to do today")

    outcome = run_task(body, retry=RetryPolicy(max_attempts=3))
    assert outcome.failure is not None
    assert (outcome.status, outcome.failure.message, outcome.snapshot.attempt) == (
        "cancelled",
        "nothing to do today",
        1,
    )


def test_stop_from_inside_the_body() -> None:
    """D6, P-131: a body may ask for its own end; nothing dead-locks, in a thread or inline."""
    for options in ({"executor": InlineExecutor()}, {}):
        box: list[TaskRun] = []

        def body(ctx: TaskContext, box: list[TaskRun] = box) -> None:
            box[0].stop(reason="enough")
            ctx.checkpoint()

        run = TaskRun(body, **options)  # type: ignore[arg-type]
        box.append(run)
        call = Call(run.start)
        assert call.result() is run
        assert run.wait(10).status == "stopped"
        assert record(run, "stopping").reason == "enough"
