"""The life as an automat `TypeMachineBuilder`: one built class, one instance per task.

Automat has no guards, so the body of an input asks it. The core keeps its records itself.

Variants: `five` takes each of the five steps as an input, the first from a state before the life; `four` starts in
pending, and what creation leaves behind is written by hand.
"""

from __future__ import annotations

from typing import Any, Protocol

from automat import TypeMachineBuilder

from benchmarks.stopwatch import arguments, report_lives


class Life(Protocol):
    """What can be put into the machine."""

    def create(self) -> None:
        """Nothing yet, then pending."""

    def queue(self) -> None:
        """Pending or waiting for a retry, then queued."""

    def start(self) -> None:
        """Queued, then starting."""

    def run(self) -> None:
        """Starting, then running."""

    def succeed(self) -> None:
        """Running, then succeeded."""

    def pause(self) -> None:
        """Running, then paused."""

    def resume(self) -> None:
        """Paused, then running."""

    def fail(self) -> None:
        """Running, then failed."""

    def retry(self) -> None:
        """Failed, then waiting for a retry."""

    def cancel(self) -> None:
        """Pending, queued or running, then cancelled."""


class Core:
    """What the inputs act on."""

    def __init__(self, *records: tuple[str | None, str]) -> None:
        self.attempt = 0
        self.records = list(records)

    def record(self, source: str | None, target: str) -> None:
        """The guard, then the record."""
        if not self.attempt < 3:
            raise ValueError("no attempt is left")
        self.records.append((source, target))


MOVES = (
    ("new", "pending", Life.create),
    ("pending", "queued", Life.queue),
    ("retry_wait", "queued", Life.queue),
    ("queued", "starting", Life.start),
    ("starting", "running", Life.run),
    ("running", "succeeded", Life.succeed),
    ("running", "paused", Life.pause),
    ("paused", "running", Life.resume),
    ("running", "failed", Life.fail),
    ("failed", "retry_wait", Life.retry),
    ("pending", "cancelled", Life.cancel),
    ("queued", "cancelled", Life.cancel),
    ("running", "cancelled", Life.cancel),
)
STATES = ("new", "pending", "queued", "starting", "running", "paused", "retry_wait", "succeeded", "failed", "cancelled")


def built(first: str) -> Any:
    """The factory of lives that start in state `first`."""
    builder = TypeMachineBuilder(Life, Core)
    states = {name: builder.state(name) for name in sorted(STATES, key=lambda name: name != first)}
    for source_name, target_name, method in MOVES:

        def behave(life: Life, core: Core, source: str = source_name, target: str = target_name) -> None:
            core.record(source, target)

        states[source_name].upon(method).to(states[target_name])(behave)
    return builder.build()


new_life = built("new")
pending_life = built("pending")


def live_five() -> tuple[str, int]:
    """One life of five inputs."""
    core = Core()
    life = new_life(core)
    life.create()
    life.queue()
    life.start()
    life.run()
    life.succeed()
    return core.records[-1][1], len(core.records)


def live_four() -> tuple[str, int]:
    """One life of four inputs."""
    core = Core((None, "pending"))
    life = pending_life(core)
    life.queue()
    life.start()
    life.run()
    life.succeed()
    return core.records[-1][1], len(core.records)


LIVES = {"five": live_five, "four": live_four}

if __name__ == "__main__":
    variant, n = arguments(*LIVES)
    report_lives(LIVES[variant], n)
