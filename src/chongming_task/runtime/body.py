"""Running the body of one attempt, and saying how it ended. This path cannot fail (D18, D19, D20).

Whatever the body returns, raises or is, there is an `Ending`:

- a value that is JSON: `returned`, in canonical form; any other value: `invalid`;
- `TaskCancelled`, or an error whose `__cause__` chain holds the one this attempt was given: `cancelled` (P-049). So is
  `CancelledError` of asyncio once a stop was asked for;
- anything else, BaseExceptions included: `raised`, with the retry policy's answer.

KeyboardInterrupt and SystemExit are also `fatal`: an inline carrier raises them again. The body runs in a copy of the
submitter's context, so what it sets there does not leak (P-123).
"""

from __future__ import annotations

import contextvars
import inspect
import sys
from collections.abc import Iterator
from typing import Any

import attrs

from chongming_spec.errors import TaskCancelled
from chongming_spec.facts import EndingKind
from chongming_spec.failures import FailureKind
from chongming_task.core.ports import Ending, ExecutionRequest
from chongming_task.runtime.cancellation import CancellationToken
from chongming_task.runtime.canonical import InvalidResult, canonical
from chongming_task.runtime.context import TaskContext
from chongming_task.runtime.failing import ask_policy, describe, failure, message_of, type_of
from chongming_task.runtime.targets import bind, check_target

__all__ = ["bind", "check_target", "run_body"]


def run_body(request: ExecutionRequest, ctx: TaskContext, token: CancellationToken) -> Ending:
    """Call the target and return how it ended; never raises."""
    try:
        context = contextvars.copy_context() if request.context is None else request.context.copy()
        value = context.run(_call, request, ctx, token)
    except BaseException as error:
        return _raised(error, request, token)
    try:
        return Ending(EndingKind.RETURNED, canonical(value, request.max_outcome_bytes))
    except InvalidResult as error:
        return _invalid(error, message_of(error))
    except Exception as error:  # a dict or list of the body's own making
        return _invalid(error, f"looking through the result raised {type_of(error)}: {message_of(error)}")
    except BaseException as error:
        return _raised(error, request, token)


def _call(request: ExecutionRequest, ctx: TaskContext, token: CancellationToken) -> Any:
    value = request.target(ctx, *request.args, **request.kwargs)
    if inspect.iscoroutine(value):
        from chongming_task.runtime.coroutines import run_coroutine

        return run_coroutine(value, token)
    return value


def _invalid(error: BaseException, message: str) -> Ending:
    return Ending(EndingKind.INVALID, failure=failure(FailureKind.RESULT_INVALID, message), exception=error)


def _raised(error: BaseException, request: ExecutionRequest, token: CancellationToken) -> Ending:
    if isinstance(error, TaskCancelled):
        return _cancelled(message_of(error) if error.args else "", error)
    if any(_is_delivered(cause, token) for cause in _causes(error)):
        other = "" if _is_delivered(error, token) else f"; then raised {type_of(error)}: {message_of(error)}"
        return _cancelled((token.reason or "cancelled") + other, error)
    retries, note = ask_policy(request.retry, error)
    return Ending(
        EndingKind.RAISED,
        failure=describe(error, note),
        retries=retries,
        exception=error,
        fatal=error if isinstance(error, (KeyboardInterrupt, SystemExit)) else None,
    )


def _cancelled(message: str, error: BaseException) -> Ending:
    """The traceback of a plain cancellation says nothing; that of another error is kept."""
    told = failure(FailureKind.CANCELLED, message or "cancelled", error)
    if isinstance(error, TaskCancelled):
        told = attrs.evolve(told, traceback=None)
    return Ending(EndingKind.CANCELLED, failure=told, exception=error)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and its `__cause__` chain, each once."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__


def _is_delivered(error: BaseException, token: CancellationToken) -> bool:
    """Whether this is how the stop reached the body; a group is if all its members are."""
    if isinstance(error, BaseExceptionGroup):
        return all(_is_delivered(member, token) for member in error.exceptions)
    if isinstance(error, TaskCancelled):
        return token.was_delivered(error)
    asyncio = sys.modules.get("asyncio")
    return token.is_stop_requested and asyncio is not None and isinstance(error, asyncio.CancelledError)
