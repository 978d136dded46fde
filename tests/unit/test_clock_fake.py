"""The clock of the tests: it moves when told, fires in order, and complains instead of hanging (D15)."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chongming_spec.errors import ConfigurationError
from chongming_task.testing import FakeClock
from chongming_task.testing import clock as fake


def test_advance_moves_both_clocks_from_timer_to_timer() -> None:
    """Each timer sees its own time on both clocks, in order, also one that a timer has set (D15)."""
    clock = FakeClock()
    start = clock.now()
    seen: list[tuple[str, int, timedelta, threading.Thread]] = []

    def note(name: str) -> None:
        seen.append((name, clock.mono_ms(), clock.now() - start, threading.current_thread()))

    def first() -> None:
        note("first")
        clock.call_at(clock.mono_ms() + 500, lambda: note("nested"))
        clock.call_at(0, lambda: note("overdue"))

    clock.call_at(3000, lambda: note("last"))
    clock.call_at(1000, first)
    clock.call_at(9000, lambda: note("beyond"))
    clock.advance(5)
    assert [(name, at) for name, at, _, _ in seen] == [
        ("first", 1000),
        ("overdue", 1000),
        ("nested", 1500),
        ("last", 3000),
    ]
    assert all(wall == timedelta(milliseconds=at) for _, at, wall, _ in seen)
    assert all(thread is threading.current_thread() for *_, thread in seen)
    assert clock.mono_ms() == 5000
    assert clock.now() == start + timedelta(seconds=5)


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), True, "1", None])
def test_advance_refuses_what_is_no_span(seconds: Any) -> None:
    """Only finite numbers from 0 on; the refusal names the argument."""
    with pytest.raises(ConfigurationError, match=r"advance\(seconds\)"):
        FakeClock().advance(seconds)


def test_the_wall_clock_jumps_alone() -> None:
    """A jump of the wall clock changes no deadline (D15)."""
    clock = FakeClock(start=datetime(2026, 5, 1, tzinfo=UTC))
    clock.jump_wall(-3600)
    assert clock.now() == datetime(2026, 4, 30, 23, tzinfo=UTC)
    clock.set_wall(datetime(2030, 1, 1, tzinfo=UTC))
    assert clock.now().year == 2030
    assert clock.mono_ms() == 0
    with pytest.raises(ConfigurationError, match="finite"):
        clock.jump_wall(float("nan"))
    with pytest.raises(ConfigurationError, match="time zone"):
        clock.set_wall(datetime(2030, 1, 1))  # noqa: DTZ001 - the naive time is the point
    with pytest.raises(ConfigurationError, match="start"):
        FakeClock(start="2026")  # type: ignore[arg-type]


def test_a_timer_that_is_due_already_fires_without_advance() -> None:
    """A backoff of 0 needs nobody to move the clock."""
    clock = FakeClock()
    fired = threading.Event()
    clock.call_at(0, fired.set)
    assert fired.wait(5)
    clock.advance(0)


def test_a_thread_that_sleeps_several_times_does_so_within_one_advance() -> None:
    """Waits are timers: each ends at its own time, and the thread comes back to the clock in between."""
    clock = FakeClock()
    condition = threading.Condition()
    woken: list[int] = []
    waiting = threading.Event()

    def body() -> None:
        with condition:
            for _ in range(3):
                until = clock.mono_ms() + 10_000
                waiting.set()
                while clock.wait(condition, until):
                    pass
                woken.append(clock.mono_ms())

    thread = threading.Thread(target=body)
    thread.start()
    assert waiting.wait(5)
    with condition:
        clock_is_waited_on = True
    assert clock_is_waited_on
    clock.advance(30)
    thread.join(5)
    assert woken == [10_000, 20_000, 30_000]


def test_a_wait_is_over_at_once_when_its_time_has_passed() -> None:
    """False without waiting for a time that is over."""
    clock = FakeClock()
    clock.advance(1)
    condition = threading.Condition()
    with condition:
        assert clock.wait(condition, 1000) is False


def test_a_notified_wait_says_so() -> None:
    """True for a notification, and its timer is forgotten."""
    clock = FakeClock()
    condition = threading.Condition()
    clock.call_at(10, lambda: None)

    def notify() -> None:
        with condition:
            condition.notify_all()

    with condition:
        thread = threading.Thread(target=notify)
        thread.start()
        assert clock.wait(condition, 60_000) is True
    thread.join()


def test_a_wait_that_nobody_satisfies_says_that_nobody_advanced() -> None:
    """Instead of hanging, a test fails with the reason, for limited and unlimited waits."""
    clock = FakeClock(patience=0.02)
    condition = threading.Condition()
    with condition, pytest.raises(RuntimeError, match="nobody advanced the clock"):
        clock.wait(condition, 1000)
    with condition, pytest.raises(RuntimeError, match="not notified"):
        clock.wait(condition, None)


def test_patience_starts_anew_when_the_clock_moves() -> None:
    """A wait is patient as long as somebody advances the clock."""
    clock = FakeClock(patience=0.05)
    condition = threading.Condition()
    moved = threading.Event()

    def move() -> None:
        clock.advance(0.5)
        moved.set()

    thread = threading.Timer(0.02, move)
    thread.start()
    with condition, pytest.raises(RuntimeError, match="nobody advanced the clock, which stands at 500 ms"):
        clock.wait(condition, 1000)
    assert moved.is_set()
    thread.join()


def test_advance_waits_for_what_is_in_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that a timer handed over is answered before the next timer fires; without an answer advance raises."""
    clock = FakeClock()
    order: list[str] = []

    def answer() -> None:
        order.append("answered")
        clock.in_flight(-1)

    def hand_over() -> None:
        clock.in_flight(1)
        threading.Timer(0.02, answer).start()

    clock.call_at(1000, hand_over)
    clock.call_at(1001, lambda: order.append("next"))
    clock.advance(2)
    assert order == ["answered", "next"]
    monkeypatch.setattr(fake, "SETTLE_SECONDS", 0.02)
    clock.in_flight(1)
    with pytest.raises(RuntimeError, match="1 pieces of work are still in flight"):
        clock.advance(1)
    clock.in_flight(-1)
    clock.advance(1)


def test_a_timer_that_raises_reaches_the_test_and_leaves_the_clock_usable() -> None:
    """An error in a callback is the test's business; later timers still fire."""
    clock = FakeClock()

    def bad() -> None:
        raise ValueError("bad callback")

    clock.call_at(10, bad)
    with pytest.raises(ValueError, match="bad callback"):
        clock.advance(1)
    fired = threading.Event()
    clock.call_at(0, fired.set)
    assert fired.wait(5)


def test_the_settling_goes_on_when_a_woken_thread_hands_work_over() -> None:
    """Work that a woken thread handed over is waited for too."""
    clock = FakeClock()
    condition = threading.Condition()
    answered: list[bool] = []
    ready = threading.Event()

    def answer() -> None:
        answered.append(True)
        clock.in_flight(-1)

    def body() -> None:
        with condition:
            ready.set()
            while clock.wait(condition, 1000):
                pass
        clock.in_flight(1)
        threading.Timer(0.05, answer).start()

    thread = threading.Thread(target=body)
    thread.start()
    assert ready.wait(5)
    with condition:
        pass
    clock.advance(1)
    assert answered == [True]
    thread.join()
