"""What is measured, and what is hoped for.

A benchmark is a list of sides that do the same work, each in a process of its own, and a list of ratios between them.
An aim is shown beside its figure and never asserted: the machine decides what a second holds.

The life: five steps, each with a record of where it came from and where it went: created (pending), queued, starting,
running, succeeded. A `StateMachine` takes the first by being created; the others have a state before it and an input
that leaves it. Each library gets the way its manual shows for many objects of one machine, one guard per step, and the
further transitions a real table has.
"""

from __future__ import annotations

from typing import NamedTuple


class Aim(NamedTuple):
    """A bound that a median should keep: `sign` is "≥" or "≤"."""

    sign: str
    bound: float

    def is_met(self, value: float) -> bool:
        """Whether `value` keeps the bound."""
        return value >= self.bound if self.sign == "≥" else value <= self.bound


class Side(NamedTuple):
    """One contender: a module of `benchmarks.sides`, its variant, how often it does the work, which peer it imports."""

    name: str
    module: str
    variant: str
    times: int
    needs: str = ""
    contracts: bool = False
    aim: Aim | None = None


class Ratio(NamedTuple):
    """The value of one side over another's of the same round."""

    above: str
    below: str
    aim: Aim | None = None


class Benchmark(NamedTuple):
    """Sides that do the same work."""

    name: str
    unit: str
    sides: tuple[Side, ...]
    ratios: tuple[Ratio, ...]


LIFE = Benchmark(
    "life",
    "lives/s",
    (
        Side("chongming", "chongming", "none", 6_000),
        Side("chongming, snapshot at the end", "chongming", "end", 6_000),
        Side("chongming, snapshot per step", "chongming", "step", 4_000),
        Side("chongming, contracts on", "chongming", "none", 200, contracts=True),
        Side("chongming, contracts on, snapshot at the end", "chongming", "end", 200, contracts=True),
        Side("chongming, contracts on, snapshot per step", "chongming", "step", 200, contracts=True),
        Side("automat", "automat_machine", "five", 6_000, "automat"),
        Side("automat, creation by hand", "automat_machine", "four", 6_000, "automat"),
        Side("transitions", "transitions_machine", "new", 1_000, "transitions"),
        Side("transitions, one model put back", "transitions_machine", "reuse", 1_000, "transitions"),
        Side("python-statemachine", "statemachine_class", "new", 200, "statemachine"),
    ),
    (
        Ratio("chongming", "transitions", Aim("≥", 5.0)),
        Ratio("chongming", "transitions, one model put back"),
        Ratio("chongming", "automat", Aim("≥", 1.0)),
        Ratio("chongming", "automat, creation by hand"),
        Ratio("chongming, snapshot at the end", "automat", Aim("≥", 0.6)),
        Ratio("chongming, snapshot at the end", "automat, creation by hand"),
        Ratio("chongming, snapshot per step", "automat"),
        Ratio("chongming, snapshot per step", "transitions"),
        Ratio("chongming", "python-statemachine"),
        Ratio("chongming, contracts on", "chongming"),
        Ratio("chongming, contracts on", "transitions"),
    ),
)

CHECKPOINT = Benchmark(
    "checkpoint",
    "ns",
    (
        Side("ctx.checkpoint()", "checkpoint", "context", 5_000, aim=Aim("≤", 100.0)),
        Side("empty method", "checkpoint", "empty", 5_000),
    ),
    (Ratio("ctx.checkpoint()", "empty method"),),
)

BENCHMARKS = {benchmark.name: benchmark for benchmark in (LIFE, CHECKPOINT)}
