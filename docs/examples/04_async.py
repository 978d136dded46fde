"""A coroutine is a body like any other: it runs to completion in the task's own thread."""

from __future__ import annotations

import asyncio

from chongming_task import TaskContext, TaskRun, run_task, task


@task
async def both(ctx: TaskContext, texts: list[str]) -> list[str]:
    """Shout all texts at the same time."""

    async def shout(text: str) -> str:
        await ctx.acheckpoint()  # a pause parks the coroutine that awaits this
        await asyncio.sleep(0.01)
        return text.upper()

    return list(await asyncio.gather(*map(shout, texts)))


print(run_task(both, ["left", "right"]).value)


@task
async def patient(ctx: TaskContext) -> None:
    """Waits for something that never comes; a stop cancels the coroutine at once."""
    ctx.log("waiting")
    try:
        await asyncio.Event().wait()
    finally:
        ctx.log("cleaned up")


run = TaskRun(patient).start()
while not run.logs:
    run.do("resume")  # already running: changes nothing
run.stop(actor="ann")
print(run.wait(timeout=30).status, [line.text for line in run.logs])
