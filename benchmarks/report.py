"""Figures as Markdown: medians, and ratios of the same round with their least and greatest."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from benchmarks.catalogue import Aim, Benchmark, Ratio
from benchmarks.rounds import Figures


def _number(value: float) -> str:
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _spread(values: Iterable[float]) -> str:
    values = list(values)
    return f"{_number(min(values))} – {_number(max(values))}"


def _aim(aim: Aim | None, median: float) -> str:
    if aim is None:
        return ""
    return f"{aim.sign} {aim.bound:g}: {'met' if aim.is_met(median) else 'missed'}"


def ratios_of(ratio: Ratio, figures: Figures) -> list[float]:
    """One quotient per round in which both sides ran; a round whose divisor is 0 is left out."""
    above, below = figures.get(ratio.above, {}), figures.get(ratio.below, {})
    return [above[number] / below[number] for number in above if below.get(number)]


def table(benchmark: Benchmark, figures: Figures) -> str:
    """Two tables: the sides, then their ratios."""
    lines = [
        f"## {benchmark.name}",
        "",
        f"| side | median, {benchmark.unit} | min – max | aim |",
        "|---|--:|--:|---|",
    ]
    for side in benchmark.sides:
        values = figures.get(side.name, {}).values()
        if values:
            median = statistics.median(values)
            lines.append(f"| {side.name} | {_number(median)} | {_spread(values)} | {_aim(side.aim, median)} |")
        else:
            lines.append(f"| {side.name} | absent: `{side.needs}` is not installed | | |")
    lines += ["", "| ratio, same round | median | min – max | aim |", "|---|--:|--:|---|"]
    for ratio in benchmark.ratios:
        quotients = ratios_of(ratio, figures)
        if quotients:
            median = statistics.median(quotients)
            aim = _aim(ratio.aim, median)
            lines.append(f"| {ratio.above} / {ratio.below} | {_number(median)} | {_spread(quotients)} | {aim} |")
    return "\n".join(lines) + "\n"
