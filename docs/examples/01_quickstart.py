"""A function becomes a task by taking a context first; `run_task` runs it to its end and says what came of it."""

from __future__ import annotations

from chongming_task import TaskContext, run_task, task


@task
def add_up(ctx: TaskContext, numbers: list[int]) -> int:
    """Add numbers, one at a time."""
    total = 0
    for done, number in enumerate(numbers, start=1):
        ctx.checkpoint()  # here it may be paused or stopped
        total += number
        ctx.progress(done, total=len(numbers))
    return total


good = run_task(add_up, [1, 2, 3])
print(good.status, good.value, good.ok)

bad = run_task(add_up, [1, None, 3])
print(bad.status, bad.value, bad.ok)
if bad.failure is not None and bad.snapshot.progress is not None:
    print(f"{bad.failure.kind}: {bad.failure.message}")
    print(f"it got to {bad.snapshot.progress.done:.0f} of {bad.snapshot.progress.total:.0f}")
