"""What the sides share: the command line, the watch, and the line that is printed.

Every side is one thread that never waits, so its work is timed in the CPU seconds of its process: another program on
the same core then takes wall time from it, but little of the figure.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable


def arguments(*variants: str) -> tuple[str, int]:
    """The variant and the count this process was asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--variant", choices=variants, required=True)
    parser.add_argument("--n", type=int, required=True)
    given = parser.parse_args()
    return given.variant, given.n


def seconds_for(work: Callable[[], object], n: int) -> float:
    """CPU seconds of `n` times `work`, after a tenth of that to get warm; at least one tick of the clock."""
    for _ in range(n // 10 + 1):
        work()
    repeat = range(n)
    start = time.process_time()
    for _ in repeat:
        work()
    return max(time.process_time() - start, time.get_clock_info("process_time").resolution)


def report(value: float, n: int) -> None:
    """Print the one line of a side."""
    print(json.dumps({"value": value, "n": n, "python": platform.python_version()}))


def report_lives(live: Callable[[], tuple[str, int]], n: int) -> None:
    """Measure lives per second. `live` leads one life and says where it ended and how many records it kept."""
    ended, records = live()
    if (ended, records) != ("succeeded", 5):
        raise SystemExit(f"this life ended {ended} with {records} records, not succeeded with 5")
    report(n / seconds_for(live, n), n)
