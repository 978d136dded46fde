"""Policies stand beside the task: how often to try, how long to wait, how long an attempt may take."""

from __future__ import annotations

from chongming_task import FixedBackoff, RetryPolicy, TaskContext, TaskRun, Timeout, run_task, task

CAREFUL = RetryPolicy(
    max_attempts=3,
    backoff=FixedBackoff(0.05),  # ExponentialBackoff(base=1, factor=2, max_delay=300) is the default
    retry_on=(ConnectionError,),
    give_up_on=(PermissionError,),
)


@task(retry=CAREFUL)
def fetch(ctx: TaskContext, good_attempt: int) -> str:
    """Fails until `good_attempt`."""
    if ctx.attempt < good_attempt:
        raise ConnectionError(f"attempt {ctx.attempt} found nobody")
    return f"fetched in attempt {ctx.attempt}"


print(run_task(fetch, 2).value)

run = TaskRun(fetch, (9,)).start()
outcome = run.wait(timeout=30)
print(outcome.status, "after", outcome.snapshot.attempt, "attempts")
for attempt in run.attempts:
    print(f"  attempt {attempt.attempt}: {attempt.disposition}, {attempt.failure.message if attempt.failure else ''}")


@task(timeout=Timeout(per_attempt=0.1))
def slow(ctx: TaskContext) -> str:
    """Sleeps for a minute; `ctx.sleep` wakes at once when the time of the attempt is over."""
    ctx.sleep(60)
    return "rested"


outcome = run_task(slow)
print(outcome.status, outcome.failure.kind if outcome.failure else "")


@task(timeout=Timeout(idle=0.1), retry=RetryPolicy(max_attempts=2, backoff=FixedBackoff(0)))
def stuck_once(ctx: TaskContext) -> str:
    """Reaches no checkpoint in its first attempt, as code does that waits for an answer that never comes."""
    if ctx.attempt == 1:
        while not ctx.is_stop_requested:
            pass
        ctx.checkpoint()
    return f"came through in attempt {ctx.attempt}"


print(run_task(stuck_once).value)
