"""The real clock: timers in order on one thread, waits, and a forked child that starts afresh (D15)."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from datetime import timedelta

import pytest

from chongming_task.clock import SystemClock, TimerHeap, system_clock, utcnow


def never() -> None:
    raise AssertionError("a cancelled timer fired")


def test_now_is_aware_utc_and_mono_never_goes_back() -> None:
    """D15: two kinds of time; the wall clock is aware UTC, the monotonic one counts milliseconds."""
    clock = system_clock()
    assert clock.now().utcoffset() == timedelta(0) == utcnow().utcoffset()
    assert abs(clock.now() - utcnow()) < timedelta(seconds=5)
    assert clock.mono_ms() <= clock.mono_ms()
    assert system_clock() is clock
    clock.in_flight(1)


def test_timers_fire_in_order_on_one_thread_and_not_early() -> None:
    """Timers fire by time, not by when they were set, on one daemon thread (D15)."""
    clock = SystemClock()
    seen: list[tuple[str, int, threading.Thread]] = []
    done = threading.Event()
    now = clock.mono_ms()

    def note(name: str) -> Callable[[], None]:
        def fire() -> None:
            seen.append((name, clock.mono_ms() - now, threading.current_thread()))
            if name == "late":
                done.set()

        return fire

    clock.call_at(now + 60, note("late"))
    clock.call_at(now + 20, note("early"))
    assert done.wait(5)
    assert [name for name, _, _ in seen] == ["early", "late"]
    assert seen[0][1] >= 20
    assert seen[1][1] >= 60
    assert seen[0][2] is seen[1][2]
    assert seen[0][2].daemon


def test_a_callback_that_raises_is_logged_and_the_next_one_fires(caplog: pytest.LogCaptureFixture) -> None:
    """An error of a callback, SystemExit included, never ends the timer thread (D15, P-045)."""
    clock = SystemClock()
    done = threading.Event()

    def bad() -> None:
        raise SystemExit("no")

    with caplog.at_level(logging.ERROR, "chongming_task.clock"):
        clock.call_at(0, bad)
        clock.call_at(clock.mono_ms() + 1, done.set)
        assert done.wait(5)
    assert "callback raised" in caplog.text


def test_a_cancelled_timer_does_not_fire() -> None:
    """Cancelling is final; cancelling one that fired does nothing (D15)."""
    clock = SystemClock()
    done = threading.Event()
    clock.call_at(clock.mono_ms() + 10, never).cancel()
    timer = clock.call_at(clock.mono_ms() + 20, done.set)
    assert done.wait(5)
    timer.cancel()


def test_wait_ends_when_notified_or_when_the_time_is_over() -> None:
    """`wait` says True for a notification and False for the end of the time (D15)."""
    clock = SystemClock()
    condition = threading.Condition()

    def notify() -> None:
        with condition:
            condition.notify_all()

    with condition:
        assert clock.wait(condition, clock.mono_ms() + 10) is False
        assert clock.wait(condition, clock.mono_ms() - 10) is False
        clock.call_at(clock.mono_ms() + 10, notify)
        assert clock.wait(condition, clock.mono_ms() + 60_000) is True
        clock.call_at(clock.mono_ms() + 10, notify)
        assert clock.wait(condition, None) is True


def test_a_heap_forgets_what_was_cancelled() -> None:
    """Deadlines that are set and cancelled for ever do not pile up (D15)."""
    heap = TimerHeap()
    kept = heap.push(5, lambda: None)
    for number in range(1000):
        heap.push(1_000_000 + number, never).cancel()
    assert len(heap) < 200
    assert heap.next_ms() == 5
    kept.cancel()
    assert heap.next_ms() is None or heap.pop_due(10**9) is None


def test_no_thread_at_the_end_of_the_interpreter_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no thread can start any more, setting a timer is quiet (P-126)."""

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    clock = SystemClock()
    monkeypatch.setattr(threading.Thread, "start", refuse)
    clock.call_at(0, never).cancel()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_an_empty_heap_and_a_thread_of_its_own() -> None:
    """After a fork the parent's timers are the parent's, and the child's fire (D15)."""
    clock = SystemClock()
    fired_in: list[int] = []
    ready = threading.Event()
    clock.call_at(clock.mono_ms(), ready.set)
    assert ready.wait(5)
    clock.call_at(clock.mono_ms() + 200, lambda: fired_in.append(os.getpid()))
    pid = os.fork()
    if pid == 0:  # pragma: no cover - the child leaves without reporting coverage
        code = 1
        try:
            done = threading.Event()
            clock.call_at(clock.mono_ms() + 10, done.set)
            if done.wait(5):
                after = threading.Event()
                clock.call_at(clock.mono_ms() + 300, after.set)
                code = 0 if after.wait(5) and not fired_in else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
