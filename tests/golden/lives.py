"""Lives worth reading: each is a run under a fake clock, told from its first record to its last.

A life is a function that takes a fresh clock and returns the run. `told` is its transcript: seconds since the
creation, the state reached, by which trigger, who, and why; then the attempts and what came of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from chongming_spec.replay import replay
from chongming_task import FixedBackoff, RetryPolicy, TaskContext, TaskRun, Timeout
from tests.integration.running import Call, SleepersClock, deaf, gone, reach, ticking

Life = Callable[[SleepersClock], TaskRun]
LIVES: dict[str, Life] = {}


def life(function: Life) -> Life:
    """Add a life under its function's name."""
    LIVES[function.__name__] = function
    return function


def begin(target: Any, clock: SleepersClock, **options: Any) -> TaskRun:
    """Start it and let it settle."""
    run = TaskRun(target, clock=clock, task_id="job", name="job", owner="li@host:1", **options).start()
    clock.advance(0)
    return run


def told(run: TaskRun, title: str) -> str:
    """The transcript; the history has passed the replay."""
    history = run.transitions
    assert replay(history).findings == ()
    begun = history[0].at
    lines = [title, ""]
    for one in history:
        seconds = (one.at - begun).total_seconds()
        why = f": {one.reason}" if one.reason else ""
        lines.append(f"{seconds:9.3f}  {one.to_status:<10}  {one.trigger:<23}  {one.actor}{why}")
    lines.append("")
    for record in run.attempts:
        failure = "" if record.failure is None else f" ({record.failure.kind}: {record.failure.message})"
        late = "" if record.late_result is None else f"; later: {record.late_result}"
        lines.append(f"attempt {record.generation}.{record.attempt}  {record.disposition}{failure}{late}")
    snapshot = run.snapshot
    lines.append(f"in the end {snapshot.status}" + ("" if snapshot.outcome is None else f" with {snapshot.outcome!r}"))
    return "\n".join(lines) + "\n"


@life
def succeeds(clock: SleepersClock) -> TaskRun:
    """It does its work and returns a value."""

    def body(ctx: TaskContext) -> dict[str, int]:
        ctx.sleep(2.5)
        return {"rows": 42}

    run = begin(body, clock)
    clock.await_sleeper()
    clock.advance(2.5)
    run.wait()
    return run


@life
def fails_once_and_is_tried_again(clock: SleepersClock) -> TaskRun:
    """The first attempt raises, the second succeeds ten seconds later."""

    def body(ctx: TaskContext) -> str:
        ctx.sleep(1)
        if ctx.attempt == 1:
            raise ConnectionError("connection reset")
        return "done"

    run = begin(body, clock, retry=RetryPolicy(max_attempts=3, backoff=FixedBackoff(10)))
    clock.await_sleeper()
    clock.advance(1)
    reach(run, "retry_wait")
    clock.advance(10)
    clock.await_sleeper()
    clock.advance(1)
    run.wait()
    return run


@life
def fails_for_good_and_is_revived_by_force(clock: SleepersClock) -> TaskRun:
    """The budget is used up; a person allows one attempt more."""

    def body(ctx: TaskContext) -> int:
        if ctx.attempt < 3:
            raise ValueError(f"bad row {ctx.attempt}")
        return ctx.attempt

    run = begin(body, clock, retry=RetryPolicy(max_attempts=2, backoff=FixedBackoff(0)))
    run.wait()
    clock.advance(60)
    run.retry(force=True, actor="wang", reason="data repaired")
    run.wait()
    return run


@life
def is_paused_twice(clock: SleepersClock) -> TaskRun:
    """Held by a person, then until a time; no time passes for its limits meanwhile."""
    run = begin(ticking, clock, timeout=Timeout(per_attempt=10, idle=5))
    clock.advance(3)
    run.pause(actor="wang", reason="db maintenance")
    clock.advance(600)
    run.resume(actor="wang")
    run.pause(actor="li", reason="lunch", resume_at=clock.now() + timedelta(minutes=30))
    clock.advance(1_800)
    run.stop(reason="end of the day")
    run.wait()
    return run


@life
def is_paused_between_attempts(clock: SleepersClock) -> TaskRun:
    """Nothing is parked: it goes back to the queue, and the rest of its backoff is kept."""

    def body(ctx: TaskContext) -> str:
        if ctx.attempt == 1:
            raise OSError("disk full")
        return "done"

    run = begin(body, clock, retry=RetryPolicy(max_attempts=2, backoff=FixedBackoff(60)))
    reach(run, "retry_wait")
    clock.advance(10)
    run.pause(reason="make room first")
    clock.advance(20)
    run.resume(reason="there is room")
    clock.advance(30)
    run.wait()
    return run


@life
def never_parks(clock: SleepersClock) -> TaskRun:
    """A pause that does not hold is taken back; the body goes on and returns."""
    with deaf(result=1) as body:
        run = begin(body, clock)
        pause = Call(lambda: run.pause(timeout=3, actor="wang"))
        reach(run, "pausing")
        clock.advance(3)
        assert pause.result() is False
        clock.advance(5)
        body.go.set()
        run.wait()
    return run


@life
def honours_its_stop(clock: SleepersClock) -> TaskRun:
    """Asked to end, it ends at its next checkpoint."""
    run = begin(ticking, clock)
    clock.advance(7)
    run.stop(actor="wang", reason="release window")
    run.wait()
    return run


@life
def ignores_its_stop(clock: SleepersClock) -> TaskRun:
    """Nobody can end a thread: lost, its late result noted; a person tries again beside it."""
    with deaf(result="too late") as body:

        def target(ctx: TaskContext) -> Any:
            return body(ctx) if ctx.attempt == 1 else "second"

        run = begin(target, clock)
        run.stop(actor="wang", reason="release window")
        clock.advance(2)
        run.stop(actor="li", reason="now", timeout=3)
        clock.advance(3)
        run.retry(force=True, alongside=True, actor="wang", reason="idempotent")
        run.wait()
        body.go.set()
        gone(run)
    return run


@life
def finishes_although_cancelled(clock: SleepersClock) -> TaskRun:
    """A request is no verdict: what it returns within its window counts."""
    with deaf(result={"partial": True}) as body:
        run = begin(body, clock)
        run.cancel(actor="plan", reason="a sibling failed")
        clock.advance(4)
        body.go.set()
        run.wait()
    return run


@life
def runs_out_of_time_twice(clock: SleepersClock) -> TaskRun:
    """The first attempt hears its timeout and is tried again; the second is deaf and is lost."""
    with deaf() as body:

        def target(ctx: TaskContext) -> None:
            if ctx.attempt == 1:
                ticking(ctx)
            body(ctx)

        limits = Timeout(per_attempt=30, idle=10)
        run = begin(target, clock, timeout=limits, retry=RetryPolicy(max_attempts=2, backoff=FixedBackoff(5)))
        clock.advance(30)
        reach(run, "retry_wait")
        clock.advance(5)
        assert body.entered.wait(10)
        clock.advance(20)
        assert run.status == "lost"
    return run


@life
def is_overridden_and_begun_anew(clock: SleepersClock) -> TaskRun:
    """A person's word over a body that still runs, then a reset; the history keeps both generations."""
    run = begin(ticking, clock, retry=RetryPolicy(max_attempts=2))
    clock.advance(5)
    run.force_transition("succeeded", actor="wang", reason="checked by hand")
    gone(run)
    run.reset(actor="wang", reason="the check was wrong")
    clock.advance(60)
    run.start()
    clock.advance(1)
    run.stop(reason="enough")
    run.wait()
    return run


@life
def leaves_while_one_of_its_threads_is_parked(clock: SleepersClock) -> TaskRun:
    """Paused, but another thread of the body went on and returned: the value counts."""
    with deaf(result="value") as rest:
        pausing = threading.Event()

        def quiet(ctx: TaskContext) -> None:
            assert pausing.wait(10)
            ctx.checkpoint()

        def body(ctx: TaskContext) -> Any:
            threading.Thread(target=quiet, args=(ctx,), daemon=True).start()
            return rest(ctx)

        run = begin(body, clock)
        pause = Call(run.pause)
        reach(run, "pausing")
        pausing.set()
        assert pause.result() is True
        clock.advance(8)
        rest.go.set()
        run.wait()
    return run
