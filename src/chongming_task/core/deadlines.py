"""The stopwatches of one attempt: which timeouts run, what they show, and when each is due (D14, D15, D16).

Pure bookkeeping over `chongming_spec.timeouts`: the caller says how the facts are now, and learns what to set.
"""

from __future__ import annotations

from collections.abc import Mapping

from chongming_spec.facts import Deadline, Facts
from chongming_spec.timeouts import TIMEOUTS, Stopwatch, due_ms, runs, sample_ms, spent_ms, started, stopped


class Deadlines:
    """Three stopwatches with their limits in milliseconds; a timeout without a limit never runs."""

    def __init__(self, limits_ms: Mapping[Deadline, int]) -> None:
        self._limits = limits_ms
        self._watches = {row.deadline: Stopwatch() for row in TIMEOUTS}
        self._beats: tuple[int, int | None] = (0, None)

    def reset(self) -> None:
        """A new attempt: all watches stand at 0."""
        self._watches = {row.deadline: Stopwatch() for row in TIMEOUTS}
        self._beats = (0, None)

    def follow(self, facts: Facts, now_ms: int, held_until_ms: int | None) -> None:
        """Start and stop the watches as `facts` demand; while it is held back by a backoff, none runs.

        A watch of silence that starts again after a stand-still begins anew: the body was not silent, it was parked.
        """
        for row in TIMEOUTS:
            watch = self._watches[row.deadline]
            held = held_until_ms is not None and now_ms < held_until_ms
            if row.deadline not in self._limits or held or not runs(row, facts):
                self._watches[row.deadline] = stopped(watch, now_ms)
            elif watch.since_ms is None:
                fresh = Stopwatch() if row.deadline is Deadline.IDLE else watch
                self._watches[row.deadline] = started(fresh, now_ms)

    def due(self, now_ms: int) -> dict[Deadline, int]:
        """When each running timeout must be looked at next; silence is sampled (D16)."""
        times = {}
        for deadline, watch in self._watches.items():
            if watch.since_ms is not None:
                limit = self._limits[deadline]
                at = due_ms(watch, limit, now_ms)
                times[deadline] = min(at, now_ms + sample_ms(limit)) if deadline is Deadline.IDLE else at
        return times

    def passed(self, deadline: Deadline, now_ms: int, beats: tuple[int, int | None]) -> bool:
        """Whether the timeout has passed; a body that has beaten since the last look was not silent."""
        watch = self._watches[deadline]
        if watch.since_ms is None:
            return False
        if deadline is Deadline.IDLE and beats != self._beats:
            count, exact_ms = beats
            only_beat = count == self._beats[0] and exact_ms is not None
            self._beats = beats
            watch = self._watches[deadline] = Stopwatch(0, exact_ms if only_beat else now_ms)
        return spent_ms(watch, now_ms) >= self._limits[deadline]

    def left_ms(self, deadline: Deadline, now_ms: int) -> int | None:
        """How much of a limited timeout is left, running or standing still; None without a limit."""
        if deadline not in self._limits:
            return None
        return max(0, self._limits[deadline] - spent_ms(self._watches[deadline], now_ms))
