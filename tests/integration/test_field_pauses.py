"""What went wrong in the field with pausing, as far as one task in a thread goes (area D)."""

from __future__ import annotations

import threading
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from chongming_task import FixedBackoff, RetryPolicy, TaskRun, Timeout
from chongming_task.runtime.context import TaskContext
from chongming_task.testing import FakeClock
from tests.integration.running import Call, SleepersClock, deaf, path, reach, record, running, ticking


def counting(seen: list[int]) -> Any:
    def body(ctx: TaskContext) -> None:
        number = 0
        while True:
            number += 1
            seen.append(number)
            ctx.sleep(1)

    return body


def test_what_is_paused_does_not_work() -> None:
    """P-059, D8: the counter stands still, and goes on from where it was."""
    clock = SleepersClock()
    seen: list[int] = []
    run = running(counting(seen), clock=clock)
    clock.await_sleeper()
    clock.advance(3)
    assert run.pause() is True
    frozen = list(seen)
    clock.advance(60)
    assert (seen, run.status) == (frozen, "paused")
    for _ in frozen[1:]:
        clock.await_sleeper()
    run.resume()
    clock.await_sleeper()
    clock.advance(1)
    run.stop()
    run.wait()
    assert seen == list(range(1, len(frozen) + 2))


def test_a_pause_that_never_holds_is_rolled_back() -> None:
    """P-059, P-069, D8: False, running again, on record; and every verb works afterwards."""
    with deaf() as body:
        run = TaskRun(body).start()
        assert body.entered.wait(10)
        assert run.pause(timeout=0.02) is False
        assert path(run).endswith("running pausing running")
        assert run.transitions[-1].trigger == "runtime:pause_aborted"
        assert run.do("resume").changed is False
        assert run.pause(timeout=0.02) is False
        assert run.stop()
        assert run.status == "stopping"


def test_stop_while_a_pause_is_under_way() -> None:
    """P-069: legal, and the pause answers no."""
    clock = FakeClock()
    with deaf() as body:
        run = running(body, clock=clock)
        pause = Call(run.pause)
        reach(run, "pausing")
        run.stop()
        assert pause.result() is False
        clock.advance(10)
        assert run.status == "lost"


def test_a_hold_with_a_name_a_reason_and_an_end() -> None:
    """P-061, D43: all four are to be seen; at its time it resumes by itself, by the timer."""
    clock = FakeClock()
    run = running(ticking, clock=clock)
    until = clock.now() + timedelta(minutes=30)
    run.pause(actor="li", reason="db maintenance", resume_at=until)
    snapshot = run.snapshot
    assert (snapshot.status, snapshot.held_by, snapshot.held_reason, snapshot.resume_at) == (
        "paused",
        "li",
        "db maintenance",
        until,
    )
    clock.advance(1_799)
    assert run.status == "paused"
    clock.advance(1)
    assert run.status == "running"
    assert (run.transitions[-1].actor, run.transitions[-1].trigger) == ("timer", "timer:resume")
    run.stop()
    run.wait()


def test_a_stop_before_the_end_of_a_hold_wins() -> None:
    """P-061: nothing is resumed that was stopped."""
    clock = FakeClock()
    run = running(ticking, clock=clock)
    run.pause(resume_at=clock.now() + timedelta(minutes=30))
    run.stop()
    assert run.wait().status == "stopped"
    clock.advance(3_600)
    assert run.status == "stopped"


def test_a_paused_task_does_not_run_out_of_time() -> None:
    """P-062, D15: ten minutes count for nothing; afterwards the rest of the attempt and a fresh silence."""
    clock = FakeClock()
    with deaf() as body:

        def held(ctx: TaskContext) -> None:
            ctx.sleep(1)
            gate.wait(10)
            ctx.checkpoint()
            body(ctx)

        gate = threading.Event()
        run = running(held, clock=clock, timeout=Timeout(idle=5, per_attempt=7))
        clock.advance(1)
        clock.advance(3)
        pause = Call(run.pause)
        reach(run, "pausing")
        gate.set()
        assert pause.result()
        clock.advance(600)
        assert run.status == "paused"
        run.resume()
        assert body.entered.wait(10)
        clock.advance(2.9)
        assert not run.snapshot.is_terminal
        clock.advance(0.1)
        clock.advance(10)
        assert run.snapshot.failure is not None
        assert run.snapshot.failure.cause == "timeout_attempt"


def test_pauses_are_on_record() -> None:
    """P-063: who, why and how long can be told from the history alone."""
    clock = FakeClock()
    run = running(ticking, clock=clock)
    for name in ("li", "wang"):
        run.pause(actor=name, reason=f"for {name}")
        clock.advance(30)
        run.resume(actor=name)
    run.stop()
    run.wait()
    assert path(run).count("pausing paused running") == 2
    history = run.transitions
    held = [after.at - before.at for before, after in pairwise(history) if before.to_status == "paused"]
    assert sum(held, timedelta()) == timedelta(seconds=60)
    asked = [(one.actor, one.reason) for one in history if one.to_status == "pausing"]
    assert asked == [("li", "for li"), ("wang", "for wang")]


def test_paused_between_attempts() -> None:
    """P-070, D8, D9: at once; back to the queue, with the attempts and the rest of the backoff kept."""
    clock = FakeClock()
    run = TaskRun(lambda ctx: 1 / 0, clock=clock, retry=RetryPolicy(max_attempts=2, backoff=FixedBackoff(60))).start()
    reach(run, "retry_wait")
    assert run.pause() is True
    assert (run.status, run.snapshot.paused_in_place) == ("paused", False)
    clock.advance(20)
    run.resume()
    clock.advance(39)
    assert (run.status, run.snapshot.attempt) == ("queued", 1)
    clock.advance(1)
    assert run.wait().snapshot.attempt == 2


def test_a_body_that_fails_before_it_parks() -> None:
    """P-070, D8: the pause is dropped, and says no; the failure is retried as ever."""
    clock = FakeClock()
    with deaf(OSError("net")) as body:
        run = running(body, clock=clock, retry=RetryPolicy(max_attempts=2, backoff=FixedBackoff(60)))
        pause = Call(run.pause)
        reach(run, "pausing")
        body.go.set()
        assert pause.result() is False
    assert path(run).endswith("pausing running retry_wait")
    assert record(run, "running").reason == "finished_before_quiescence"
    run.stop()


def test_a_pause_at_the_very_start() -> None:
    """P-075, D8: whichever comes first, it ends parked and resumes; it is never left asking for a pause for ever."""
    for _ in range(50):
        run = TaskRun(lambda ctx: [ctx.checkpoint() for _ in iter(int, 1)])
        run.start()
        assert run.pause(timeout=10) is True
        assert path(run) in (
            "pending queued starting pausing paused",
            "pending queued starting running pausing paused",
        )
        run.resume()
        run.stop()
        assert run.wait(10).status == "stopped"


def test_a_paused_sleep_stands_still() -> None:
    """P-076: 60 s, paused at 10 s for 5 minutes: the remaining 50 s go on after the resume."""
    clock = SleepersClock()
    run = running(lambda ctx: ctx.sleep(60), clock=clock)
    clock.await_sleeper()
    clock.advance(10)
    assert run.pause()
    clock.advance(300)
    run.resume()
    clock.await_sleeper()
    clock.advance(49)
    assert run.status == "running"
    clock.advance(1)
    assert run.wait().ok


def test_asking_again_says_that_nothing_changed() -> None:
    """P-078, D13: pause, resume and stop twice each; no second record, no error."""
    clock = FakeClock()
    run = running(ticking, clock=clock)
    for verb, status in (("pause", "paused"), ("resume", "running")):
        assert run.do(verb).changed is True
        records = len(run.transitions)
        second = run.do(verb)
        assert (second.changed, second.confirmed, second.status) == (False, True, status)
        assert len(run.transitions) == records
    with deaf() as body:
        run.stop()
        run.wait()
        run = running(body, clock=clock)
        assert run.do("stop").changed is True
        assert (run.do("stop").changed, run.do("stop").confirmed) == (False, True)
        assert path(run).endswith("running stopping")


def test_one_of_ten_is_paused() -> None:
    """P-079: the others finish; the tenth keeps its carrier, and says so."""
    clock = SleepersClock()
    runs = [running(lambda ctx: ctx.sleep(5), clock=clock) for _ in range(10)]
    for _ in runs:
        clock.await_sleeper()
    assert runs[9].pause()
    clock.advance(5)
    assert [run.wait().status for run in runs[:9]] == ["succeeded"] * 9
    assert (runs[9].status, runs[9].snapshot.occupies, runs[9].running) == ("paused", True, True)
    runs[9].stop()
    assert runs[9].wait().status == "stopped"


@pytest.mark.parametrize("result", [5, OSError("died")])
def test_a_body_that_leaves_while_one_of_its_threads_is_parked(result: Any) -> None:
    """D1, D8: a value counts (left_while_paused); an error fails it, whatever the budget."""
    clock = FakeClock()
    with deaf(result) as rest:

        def body(ctx: TaskContext) -> Any:
            threading.Thread(target=lambda: quiet(ctx), daemon=True).start()
            return rest(ctx)

        def quiet(ctx: TaskContext) -> None:
            ready.wait(10)
            ctx.checkpoint()

        ready = threading.Event()
        run = running(body, clock=clock, retry=RetryPolicy(max_attempts=3))
        pause = Call(run.pause)
        reach(run, "pausing")
        ready.set()
        assert pause.result() is True
        rest.go.set()
        run.wait()
    assert path(run).endswith("paused running succeeded" if result == 5 else "paused failed")
