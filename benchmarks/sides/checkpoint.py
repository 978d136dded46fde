"""What a body pays at a meeting point when nobody wants anything of it: nanoseconds per call, the loop taken off."""

from __future__ import annotations

from benchmarks.stopwatch import arguments, report, seconds_for
from chongming_spec.snapshot import Progress
from chongming_task.clock import system_clock
from chongming_task.core.ports import Ending, ExecutionRequest, LogLine
from chongming_task.policies import RetryPolicy
from chongming_task.runtime.cancellation import CancellationToken
from chongming_task.runtime.context import TaskContext

CALLS = 100


class Deaf:
    """A sink for a body that says nothing."""

    def started(self) -> None:
        """Not heard."""

    def parked(self) -> None:
        """Not heard."""

    def unparked(self) -> None:
        """Not heard."""

    def progress(self, progress: Progress) -> None:
        """Not heard."""

    def line(self, line: LogLine) -> None:
        """Not heard."""

    def exited(self, ending: Ending) -> None:
        """Not heard."""


class Empty:
    """What a call alone costs."""

    __slots__ = ()

    def checkpoint(self) -> None:
        """Nothing."""


def context() -> TaskContext:
    """The context of an attempt that nobody controls."""
    request = ExecutionRequest("job", "work", 1, 1, print, (), {}, system_clock(), RetryPolicy())
    return TaskContext(request, Deaf(), CancellationToken())


def nanoseconds(ctx: TaskContext | Empty, n: int) -> float:
    """CPU nanoseconds per call, of `n` rounds of `CALLS` calls less as many empty rounds."""
    calls = range(CALLS)

    def call() -> None:
        for _ in calls:
            ctx.checkpoint()

    def turn() -> None:
        for _ in calls:
            pass

    spent = seconds_for(call, n) - seconds_for(turn, n)
    return max(spent, 0.0) / (n * CALLS) * 1e9


if __name__ == "__main__":
    variant, n = arguments("context", "empty")
    report(nanoseconds(context() if variant == "context" else Empty(), n), n * CALLS)
