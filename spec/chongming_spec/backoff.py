"""How long a task waits before its next attempt, in whole milliseconds.

A wait grows by a factor from attempt to attempt until it meets its ceiling. The factor is given in thousandths,
so that no float takes part: the same attempt waits equally long on every machine. Every step rounds up, so a
factor above 1 always grows, and the ceiling (or a factor of 1) ends the loop early: attempt 2,000 costs no more
steps than reaching the ceiling.

`grown_ms` is one step and has no loop, which makes its bounds provable; `backoff_ms` repeats it, so it inherits them.
"""

from __future__ import annotations

ONE = 1000


def grown_ms(delay_ms: int, factor_milli: int, max_ms: int) -> int:
    """One step of growth.

    Given `0 <= delay_ms <= max_ms` and `factor_milli >= 1000`, the result is between `delay_ms` and `max_ms`.
    """
    return min(max_ms, -(-delay_ms * factor_milli // ONE))


def backoff_ms(attempt: int, base_ms: int, factor_milli: int, max_ms: int) -> int:
    """The wait after `attempt` (1 is the first) has failed, before jitter.

    Given `base_ms >= 0`, `factor_milli >= 1000` and `max_ms >= 0`: `0 <= result <= max_ms`, and never less than
    the result for an earlier attempt.
    """
    delay = min(base_ms, max_ms)
    for _ in range(attempt - 1):
        longer = grown_ms(delay, factor_milli, max_ms)
        if longer == delay:
            break
        delay = longer
    return delay
