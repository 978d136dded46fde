"""`python -m benchmarks [NAME ...] [--rounds N] [--n COUNT]`: run benchmarks and print their tables.

Exits 1 if a side failed, 2 for a wrong command line. A missed aim is no failure.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from benchmarks.catalogue import BENCHMARKS
from benchmarks.report import table
from benchmarks.rounds import SideFailed, run


def _at_least_one(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {number}")
    return number


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was named, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="What the library costs beside others.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(BENCHMARKS)}; all if none is named")
    parser.add_argument("--rounds", type=_at_least_one, default=7, help="how often each side runs (7)")
    parser.add_argument("--n", type=_at_least_one, help="how often a side does its work; else its own count")
    given = parser.parse_args(arguments)
    if unknown := [name for name in given.names if name not in BENCHMARKS]:
        parser.error(f"no benchmark is named {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    for name in given.names or BENCHMARKS:
        benchmark = BENCHMARKS[name]
        try:
            figures = run(benchmark, given.rounds, given.n, _tell)
        except SideFailed as error:
            _tell(str(error))
            return 1
        print(table(benchmark, figures), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
