"""The public interface as a type checker sees it: `mypy --strict` (in `make check`) holds every line to its type.

`uses` is also run by a test, so that the types promised here are those of real values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, assert_type

import chongming_task as ct


@ct.task
def bare(ctx: ct.TaskContext, count: int) -> int:
    """The decorator without parentheses keeps the signature."""
    ctx.checkpoint()
    ctx.progress(count, total=count, unit="row", message="done")
    assert_type(ctx.attempt, int)
    assert_type(ctx.deadline, datetime | None)
    assert_type(ctx.is_stop_requested, bool)
    with ctx.shield():
        ctx.log("inside", level="INFO")
    return count


@ct.task(name="told", tags={"a"}, retry=ct.RetryPolicy(max_attempts=2), timeout=ct.Timeout(idle=5), graceful_stop=1.0)
def told(ctx: ct.TaskContext) -> str:
    """With parentheses too."""
    ctx.sleep(0)
    return ctx.name


@ct.task
async def waiting(ctx: ct.TaskContext) -> None:
    """And of a coroutine."""
    await ctx.acheckpoint()
    await ctx.asleep(0)


def policies() -> None:
    """Policies, with all their parameters."""
    backoff = ct.ExponentialBackoff(base=1, factor=2, max_delay=300, jitter=ct.Jitter.FULL)
    policy = ct.RetryPolicy(max_attempts=5, backoff=backoff, retry_on=(OSError,), give_up_on=(KeyError, ValueError))
    assert_type(policy.retries(OSError()), bool)
    ct.RetryPolicy(backoff=ct.FixedBackoff(0.5), retry_on=Exception)
    ct.Timeout(start=30, per_attempt=600, idle=60)


def running() -> None:
    """A task run to its end, and one under control."""
    outcome = ct.run_task(bare, 3, task_id="t", name="n", tags=("x",), executor=ct.InlineExecutor())
    assert_type(outcome, ct.TaskOutcome)
    assert_type(outcome.ok, bool)
    assert_type(outcome.status, ct.TaskStatus)
    assert_type(outcome.failure, ct.Failure | None)
    assert_type(outcome.snapshot, ct.TaskSnapshot)
    assert_type(outcome.snapshot.progress, ct.Progress | None)

    run = ct.TaskRun(told, executor=ct.ThreadExecutor(reuse=False)).start()
    assert_type(run, ct.TaskRun)
    assert_type(run.wait(timeout=30), ct.TaskOutcome)
    assert_type(run.stop(reason="r", actor="a", graceful=False, timeout=1.0), bool)
    assert_type(run.transitions, tuple[ct.Transition, ...])
    assert_type(run.attempts, tuple[ct.AttemptRecord, ...])
    assert_type(run.outcome, ct.TaskOutcome | None)
    assert_type(run.do("stop").changed, bool)
    assert_type(run.transitions[-1].requested_action, ct.RequestedAction)
    ct.run_task(waiting)


def model() -> None:
    """The state model, and a machine."""
    assert_type(ct.TRANSITIONS, Mapping[ct.TaskStatus, frozenset[ct.TaskStatus]])
    assert_type(ct.TERMINAL, frozenset[ct.TaskStatus])
    assert_type(ct.REVIVABLE, frozenset[ct.TaskStatus])
    machine = ct.StateMachine.create("t1", "extract", max_attempts=3)
    assert_type(machine.mark_queued(), bool)
    machine.mark_starting(executor="thread")
    machine.mark_running(pid=None)
    assert_type(bool(machine.can_pause), bool)
    assert_type(machine.can_pause.reason, str | None)
    machine.mark_failed(failure=ct.Failure(ct.FailureKind.EXCEPTION, "no"))
    try:
        machine.mark_running()
    except ct.InvalidTransition as refused:
        assert_type(refused.guard, str | None)
        assert_type(refused.allowed, tuple[str, ...])
    assert_type(ct.__version__, str)
    assert_type(ct.SPEC_VERSION, str)


def as_given() -> None:
    """A declared function is still the function: its parameters and result are checked at a plain call."""
    plain: Callable[[ct.TaskContext, int], int] = bare
    body: Callable[..., Any] = plain
    assert body is bare


def uses() -> None:
    """Everything above, for real."""
    policies()
    running()
    model()
    as_given()
