"""Time, in the two kinds that must not be confused (D15).

The wall clock stamps records and can jump; the monotonic clock counts deadlines and cannot. Whatever in this
library needs either asks a `Clock`, so that a test can bring its own (`chongming_task.testing.FakeClock`).

A clock has one heap of timers and one daemon thread that waits for the earliest. The thread starts with the
first timer. A callback runs on it outside every lock; what it raises is logged and disturbs nothing else. A
forked child begins with an empty heap: the timers were its parent's, and so were the threads they were set for.
"""

from __future__ import annotations

import heapq
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple, Protocol

__all__ = ["Clock", "Moment", "SystemClock", "Timer", "TimerHeap", "system_clock", "utcnow"]

logger = logging.getLogger("chongming_task.clock")

LONGEST_WAIT = 3600.0
"""Seconds of one wait on a condition; longer ones are repeated, since platforms limit a single wait."""

MAIN_WAIT = 0.5
"""The same in the main thread: an interrupt that comes just before it blocks is only met when it wakes."""


class Moment(NamedTuple):
    """D15: `wall` (aware UTC) stamps records, `mono_ms` (monotonic milliseconds) counts deadlines."""

    wall: datetime
    mono_ms: int


class Timer(Protocol):
    """A timer that was set; cancelling one that fired already does nothing."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """The only source of time. One timer heap per clock; callbacks must be short and never raise."""

    def now(self) -> datetime: ...

    def mono_ms(self) -> int: ...

    def call_at(self, mono_ms: int, callback: Callable[[], None]) -> Timer: ...

    def wait(self, condition: threading.Condition, until_ms: int | None) -> bool:
        """Wait on the held `condition` until notified or `until_ms`; False when the time is over."""
        ...

    def in_flight(self, change: int) -> None:
        """Count work handed to a carrier that has not answered yet; a fake clock waits for it to reach 0."""
        ...


utcnow: Callable[[], datetime] = partial(datetime.now, UTC)
"""The wall clock, as aware UTC."""


class HeapTimer:
    """One entry of a heap; without a callback it has fired or was cancelled."""

    __slots__ = ("_heap", "callback", "due_ms", "order")

    def __init__(self, heap: TimerHeap, due_ms: int, order: int, callback: Callable[[], None]) -> None:
        self._heap = heap
        self.due_ms = due_ms
        self.order = order
        self.callback: Callable[[], None] | None = callback

    def __lt__(self, other: HeapTimer) -> bool:
        return (self.due_ms, self.order) < (other.due_ms, other.order)

    def cancel(self) -> None:
        """Forget it; nothing happens if it fired already."""
        if self.callback is not None:
            self.callback = None
            self._heap.cancelled += 1


class TimerHeap:
    """Timers in order of time, then of being set. Not locked: its clock does that (`cancel` needs no lock)."""

    __slots__ = ("_order", "_timers", "cancelled")

    def __init__(self) -> None:
        self._timers: list[HeapTimer] = []
        self._order = 0
        self.cancelled = 0

    def __len__(self) -> int:
        return len(self._timers)

    def push(self, due_ms: int, callback: Callable[[], None]) -> HeapTimer:
        """Add a timer.

        Cancelled ones are swept out when they are the greater part, so deadlines nobody needs cost nothing.
        """
        if self.cancelled > 64 and self.cancelled * 2 > len(self._timers):
            self._timers = [timer for timer in self._timers if timer.callback is not None]
            heapq.heapify(self._timers)
            self.cancelled = 0
        self._order += 1
        timer = HeapTimer(self, due_ms, self._order, callback)
        heapq.heappush(self._timers, timer)
        return timer

    def next_ms(self) -> int | None:
        """When the earliest timer is due."""
        while self._timers and self._timers[0].callback is None:
            heapq.heappop(self._timers)
            self.cancelled = max(0, self.cancelled - 1)
        return self._timers[0].due_ms if self._timers else None

    def pop_due(self, now_ms: int) -> Callable[[], None] | None:
        """Take the callback of the earliest timer if it is due."""
        while (due_ms := self.next_ms()) is not None and due_ms <= now_ms:
            timer = heapq.heappop(self._timers)
            callback, timer.callback = timer.callback, None
            if callback is not None:  # None: cancelled by another thread just now
                return callback
        return None


class SystemClock:
    """The real clock."""

    def __init__(self) -> None:
        self._reset()
        _clocks.add(self)

    def _reset(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._heap = TimerHeap()
        self._thread: threading.Thread | None = None

    def now(self) -> datetime:
        """The wall clock, as aware UTC."""
        return utcnow()

    def mono_ms(self) -> int:
        """Milliseconds of a clock that never jumps; only differences mean anything."""
        return time.monotonic_ns() // 1_000_000

    def call_at(self, mono_ms: int, callback: Callable[[], None]) -> Timer:
        """Call `callback` on the timer thread once `mono_ms()` has reached that time; at once if it has."""
        with self._changed:
            timer = self._heap.push(mono_ms, callback)
            if self._thread is None:
                self._start()
            elif self._heap.next_ms() == mono_ms:
                self._changed.notify()
        return timer

    def wait(self, condition: threading.Condition, until_ms: int | None) -> bool:
        """Wait on the held `condition` until notified (True) or until the time is over (False)."""
        longest = MAIN_WAIT if threading.current_thread() is threading.main_thread() else LONGEST_WAIT
        left = longest
        while until_ms is None or (left := until_ms / 1000 - time.monotonic()) > 0:
            if condition.wait(min(left, longest)):
                return True
        return False

    def in_flight(self, change: int) -> None:
        """Nothing: real time waits for nobody."""

    def _start(self) -> None:
        thread = threading.Thread(target=self._run, name="chongming-timer", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no thread can start while the interpreter goes down, and no timer matters any more
            logger.debug("no timer thread could be started", exc_info=True)
        else:
            self._thread = thread

    def _run(self) -> None:
        while True:
            callback = self._next_due()
            try:
                callback()
            except BaseException:  # the thread serves every task of the process and outlives any error
                logger.exception("a timer's callback raised")

    def _next_due(self) -> Callable[[], None]:
        with self._changed:
            while True:
                callback = self._heap.pop_due(self.mono_ms())
                if callback is not None:
                    return callback
                due_ms = self._heap.next_ms()
                left = LONGEST_WAIT if due_ms is None else due_ms / 1000 - time.monotonic()
                self._changed.wait(min(max(left, 0.0), LONGEST_WAIT))


_clocks: weakref.WeakSet[SystemClock] = weakref.WeakSet()
_system = SystemClock()


def system_clock() -> SystemClock:
    """The clock everything uses that is not told another; one per process."""
    return _system


def _forget_the_parents_timers() -> None:
    for clock in list(_clocks):
        clock._reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_the_parents_timers)
