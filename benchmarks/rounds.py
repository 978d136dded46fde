"""Running the sides: one process each, in rounds, every other round backwards.

A slow spell of the machine falls on a whole round, so figures are compared within their round only.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.catalogue import Benchmark, Side

ROOT = Path(__file__).resolve().parent.parent
PATIENCE_SECONDS = 300.0
# Whatever would turn the contracts on by itself, or change what the interpreter does.
_UNWANTED = ("CHONGMING_CONTRACTS", "PYTHONDEVMODE", "PYTHONOPTIMIZE", "PYTHONWARNINGS", "PYTHONMALLOC")

Figures = dict[str, dict[int, float]]


class SideFailed(Exception):
    """A side ended without its line; says which and what it wrote."""


def is_absent(side: Side) -> bool:
    """Whether the peer that the side imports is not installed here."""
    return side.needs != "" and importlib.util.find_spec(side.needs) is None


def run_side(side: Side, n: int | None = None) -> float:
    """The value of one run in a process of its own; SideFailed if it prints none."""
    environment = {name: value for name, value in os.environ.items() if name not in _UNWANTED}
    places = (str(ROOT), str(ROOT / "spec"), str(ROOT / "src"), environment.get("PYTHONPATH", ""))
    environment["PYTHONPATH"] = os.pathsep.join(place for place in places if place)
    if side.contracts:
        environment["CHONGMING_CONTRACTS"] = "1"
    command = [sys.executable, "-m", f"benchmarks.sides.{side.module}", "--variant", side.variant]
    command += ["--n", str(side.times if n is None else n)]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise SideFailed(f"{side.name}: no figure within {PATIENCE_SECONDS:.0f} s") from None
    try:
        return float(json.loads(done.stdout)["value"])
    except (ValueError, KeyError):
        raise SideFailed(f"{side.name}: {done.stderr.strip() or done.stdout.strip()}") from None


def run(benchmark: Benchmark, rounds: int, n: int | None, tell: Callable[[str], None]) -> Figures:
    """The figures of all sides that are present, by name and round. `tell` hears how far it is."""
    present = [side for side in benchmark.sides if not is_absent(side)]
    figures: Figures = {side.name: {} for side in present}
    for number in range(1, rounds + 1):
        for side in present if number % 2 else reversed(present):
            figures[side.name][number] = run_side(side, n)
        tell(f"{benchmark.name}: round {number} of {rounds}")
    return figures
