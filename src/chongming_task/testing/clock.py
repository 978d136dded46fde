"""A clock that only moves when a test says so.

`advance` takes both kinds of time forward from timer to timer and fires each on the calling thread, in order.
After each it waits until nothing is in flight: whatever was handed to a carrier has been answered, so the next
timer meets a settled world. Waits of other threads are timers too. A thread that such a timer woke is given a
moment to come back to the clock, so that a body which sleeps twice sleeps twice within one `advance`.

Two real bounds turn a test that would hang into one that says why: five seconds for what is in flight, and
`patience` for a wait that nobody satisfies. `set_wall` and `jump_wall` move only the wall clock, as an operator
or a time server would.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from chongming_spec.errors import ConfigurationError
from chongming_task.clock import HeapTimer, TimerHeap

SETTLE_SECONDS = 5.0
RETURN_SECONDS = 0.02
START = datetime(2026, 1, 1, tzinfo=UTC)


class _Waiter:
    """One thread inside its `turn`-th wait. `over` is set by its timer, `left` when the thread has returned from it."""

    __slots__ = ("condition", "left", "over", "thread", "turn")

    def __init__(self, condition: threading.Condition) -> None:
        self.condition = condition
        self.thread = threading.get_ident()
        self.turn = 0
        self.over = False
        self.left = False


class FakeClock:
    """Stands still at `start` (aware) until `advance`; `patience` bounds, in real seconds, a wait that nobody
    satisfies.
    """

    def __init__(self, start: datetime = START, patience: float = 30.0) -> None:
        self._state = threading.Condition(threading.Lock())
        self._advancing = threading.RLock()
        self._heap = TimerHeap()
        self._mono_ms = 0
        self._wall = _aware("FakeClock(start=)", start)
        self._patience = _span("FakeClock(patience=)", patience)
        self._in_flight = 0
        self._firing = False
        self._moves = 0
        self._woken: list[_Waiter] = []
        self._waits: dict[int, int] = {}

    def now(self) -> datetime:
        """The wall time, aware UTC."""
        return self._wall

    def mono_ms(self) -> int:
        """Milliseconds advanced so far."""
        return self._mono_ms

    def call_at(self, mono_ms: int, callback: Callable[[], None]) -> HeapTimer:
        """Fire `callback` when `advance` reaches that time.

        One that is due already fires at once, on a thread of its own.
        """
        with self._state:
            timer = self._heap.push(mono_ms, callback)
            self._state.notify_all()
            overdue = mono_ms <= self._mono_ms and not self._firing
            if overdue:
                self._in_flight += 1
        if overdue:
            threading.Thread(target=self._fire_overdue, name="fake-timer", daemon=True).start()
        return timer

    def in_flight(self, change: int) -> None:
        """Count work that was handed over (+1) or answered (-1)."""
        with self._state:
            self._in_flight += change
            if self._in_flight <= 0:
                self._state.notify_all()

    def set_wall(self, wall: datetime) -> None:
        """Set the wall clock and leave the monotonic one alone."""
        aware = _aware("set_wall(wall)", wall)
        with self._state:
            self._wall = aware

    def jump_wall(self, seconds: float) -> None:
        """Move the wall clock forward, or back with a negative number, and leave the monotonic one alone."""
        if not _is_finite(seconds):
            raise ConfigurationError(f"jump_wall(seconds) must be a finite number, not {seconds!r}")
        with self._state:
            self._wall += timedelta(seconds=seconds)

    def advance(self, seconds: float) -> None:
        """Move both clocks forward by `seconds`, firing what falls due; RuntimeError if something stays in flight
        for 5 s.
        """
        target_ms = round(_span("advance(seconds)", seconds) * 1000)
        with self._advancing:
            target_ms += self._mono_ms
            self._settle()
            try:
                while (callback := self._next_due(target_ms)) is not None:
                    callback()
                    self._settle()
            finally:
                with self._state:
                    self._firing = False

    def wait(self, condition: threading.Condition, until_ms: int | None) -> bool:
        """Wait on the held `condition` until notified (True) or until fake time has reached `until_ms` (False).

        RuntimeError after `patience` real seconds in which nobody notified it and nobody advanced the clock.
        """
        waiter = _Waiter(condition)
        with self._state:
            if until_ms is not None and until_ms <= self._mono_ms:
                return False
            timer = None if until_ms is None else self._heap.push(until_ms, lambda: self._wake(waiter))
            waiter.turn = self._waits.get(waiter.thread, 0) + 1
            self._waits[waiter.thread] = waiter.turn
            moves = self._moves
            self._state.notify_all()
        try:
            while not condition.wait(self._patience):
                with self._state:
                    if moves == self._moves:
                        raise RuntimeError(self._complaint(until_ms))
                    moves = self._moves
        finally:
            if timer is not None:
                timer.cancel()
            with self._state:
                waiter.left = True
                self._state.notify_all()
        return not waiter.over

    def _complaint(self, until_ms: int | None) -> str:
        if until_ms is None:
            return f"a wait without a limit was not notified for {self._patience} real seconds"
        return (
            f"a wait until {until_ms} ms of fake time was not satisfied for {self._patience} real seconds: "
            f"nobody advanced the clock, which stands at {self._mono_ms} ms"
        )

    def _wake(self, waiter: _Waiter) -> None:
        with self._state:
            waiter.over = True
            self._woken.append(waiter)
        with waiter.condition:
            waiter.condition.notify_all()

    def _next_due(self, target_ms: int) -> Callable[[], None] | None:
        """Move to the next timer up to `target_ms` and take it; without one move to `target_ms` itself."""
        with self._state:
            due_ms = self._heap.next_ms()
            moment = target_ms if due_ms is None else max(self._mono_ms, min(due_ms, target_ms))
            self._wall += timedelta(milliseconds=moment - self._mono_ms)
            self._mono_ms = moment
            self._moves += 1
            callback = self._heap.pop_due(moment)
            self._firing = callback is not None
            return callback

    def _fire_overdue(self) -> None:
        try:
            while (callback := self._pop_overdue()) is not None:
                callback()
        finally:
            self.in_flight(-1)

    def _pop_overdue(self) -> Callable[[], None] | None:
        with self._state:
            return self._heap.pop_due(self._mono_ms)

    def _settle(self) -> None:
        """Wait until nothing is in flight, every woken thread has left its wait, and had a moment to wait again."""
        limit = time.monotonic() + SETTLE_SECONDS
        with self._state:
            woken, self._woken = self._woken, []
            while self._in_flight > 0 or not all(waiter.left for waiter in woken):
                self._pause_until(limit)
            grace = time.monotonic() + RETURN_SECONDS
            while any(self._waits[waiter.thread] == waiter.turn for waiter in woken):
                if not self._state.wait(max(0.0, grace - time.monotonic())):
                    break
            while self._in_flight > 0:
                self._pause_until(limit)

    def _pause_until(self, limit: float) -> None:
        left = limit - time.monotonic()
        if left <= 0:
            raise RuntimeError(
                f"{self._in_flight} pieces of work are still in flight {SETTLE_SECONDS} real seconds after the clock "
                f"reached {self._mono_ms} ms; a carrier does not answer, or a woken thread cannot take its lock"
            )
        self._state.wait(left)


def _is_finite(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _span(argument: str, value: float) -> float:
    if not _is_finite(value) or value < 0:
        raise ConfigurationError(f"{argument} must be a finite number of seconds of at least 0, not {value!r}")
    return value


def _aware(argument: str, value: object) -> datetime:
    if not isinstance(value, datetime) or value.utcoffset() is None:
        raise ConfigurationError(f"{argument} must be a datetime with a time zone, such as tzinfo=UTC, not {value!r}")
    return value.astimezone(UTC)
