"""The ladder from what a body raises to how it ended; it has a rung for everything (D18, D20)."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
from typing import Any

import pytest

from chongming_spec.errors import TaskCancelled
from chongming_spec.facts import EndingKind
from chongming_spec.failures import FailureKind
from chongming_task.core.ports import Ending
from chongming_task.policies import RetryPolicy
from chongming_task.runtime.cancellation import CancellationToken
from chongming_task.runtime.context import TaskContext
from tests.unit.carriers import failure_of, raising, run


def helper() -> None:
    try:
        raise KeyError("inner")
    except KeyError as inner:
        raise ValueError("outer") from inner


def test_a_failure_tells_type_message_causes_and_place() -> None:
    """Both errors, the user's file and line, no frames of ours (P-115)."""
    ending = run(lambda ctx: helper())
    failure = failure_of(ending)
    assert ending.kind is EndingKind.RAISED
    assert ending.retries
    assert isinstance(ending.exception, ValueError)
    assert ending.fatal is None
    assert (failure.kind, failure.message, failure.exception_type) == (FailureKind.EXCEPTION, "outer", "ValueError")
    assert failure.retryable
    assert failure.traceback is not None
    for part in ("KeyError: 'inner'", "ValueError: outer", "test_body.py", "in helper", "direct cause"):
        assert part in failure.traceback
    assert "runtime/body.py" not in failure.traceback


def test_a_group_of_errors_is_told_with_its_members() -> None:
    """ExceptionGroup: all members are in the traceback (P-115)."""
    failure = failure_of(run(raising(ExceptionGroup("both", [ValueError("one"), OSError("two")]))))
    assert failure.exception_type == "ExceptionGroup"
    assert failure.traceback is not None
    assert "ValueError: one" in failure.traceback
    assert "OSError: two" in failure.traceback


class Own(BaseException):
    """A BaseException of a stranger."""


@pytest.mark.parametrize(
    "error",
    [KeyboardInterrupt(), SystemExit(0), SystemExit("text"), GeneratorExit(), asyncio.CancelledError(), Own()],
    ids=repr,
)
def test_a_base_exception_is_a_failure_and_not_retried(error: BaseException) -> None:
    """FAILED with the class name; never matches retry_on=(Exception,); only Ctrl-C and exit are fatal (D20, P-045)."""
    ending = run(raising(error), retry=RetryPolicy(max_attempts=3))
    failure = failure_of(ending)
    assert ending.kind is EndingKind.RAISED
    assert not ending.retries
    assert type(error).__name__ in str(failure.exception_type)
    assert (ending.fatal is error) == isinstance(error, (KeyboardInterrupt, SystemExit))


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise SystemExit("in __str__")

    __repr__ = __str__

    def __reduce__(self) -> Any:
        raise OSError


class Lying(type):
    @property
    def __module__(cls) -> str:  # type: ignore[override]
        raise OSError


class Nameless(Exception, metaclass=Lying):
    pass


def chained_in_a_ring() -> ValueError:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    return first


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (Unspeakable(), "unformattable"),
        (Nameless("x"), "x"),
        (chained_in_a_ring(), "first"),
        (ValueError("a\0b\udfff"), "a\\x00b\\udfff"),
        (ValueError(), "ValueError"),
        (RecursionError("deep"), "deep"),
        (MemoryError(), "MemoryError"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_that_cannot_be_told_still_end_the_attempt(error: Exception, message: str) -> None:
    """At worst the message is `unformattable`; nothing escapes (D18, P-114)."""
    ending = run(raising(error))
    assert ending.kind is EndingKind.RAISED
    assert failure_of(ending).message == message


def test_messages_and_tracebacks_are_capped() -> None:
    """8 KiB and 64 KiB, both ends of the traceback kept (D18)."""
    failure = failure_of(run(raising(ValueError("é" * 100_000))))
    assert len(failure.message.encode()) <= 8 * 1024
    assert "cut" in failure.message
    assert failure.traceback is not None
    assert 60_000 < len(failure.traceback.encode()) <= 64 * 1024
    assert failure.traceback.startswith("Traceback")
    assert failure.traceback.endswith("é\n")


def test_a_policy_that_raises_means_no_retry_and_is_told() -> None:
    """`retry_on` is asked safely: False, and a note in the message (D18)."""

    class Broken:
        def retries(self, error: BaseException) -> bool:
            raise KeyboardInterrupt("broken policy")

    ending = run(raising(ValueError("boom")), retry=Broken())
    assert not ending.retries
    assert failure_of(ending).message == "(the retry policy raised KeyboardInterrupt: broken policy) boom"


@pytest.mark.parametrize("code", [3, -9])
def test_a_failed_command_is_a_nonzero_exit(code: int) -> None:
    """CalledProcessError gives kind nonzero_exit with its code, and the policy is asked as usual."""
    ending = run(raising(subprocess.CalledProcessError(code, ["false"])))
    failure = failure_of(ending)
    assert (failure.kind, failure.exit_code, ending.retries) == (FailureKind.NONZERO_EXIT, code, True)
    odd: Any = "odd"
    assert failure_of(run(raising(subprocess.CalledProcessError(odd, "x")))).exit_code is None


def test_a_delivered_stop_ends_cancelled_with_its_reason() -> None:
    """TaskCancelled from a checkpoint: cancelled, no traceback, no retry (D6, D20)."""
    token = CancellationToken()
    token.request_stop("release window")
    ending = run(lambda ctx: ctx.checkpoint(), token=token)
    failure = failure_of(ending)
    assert ending.kind is EndingKind.CANCELLED
    assert (failure.kind, failure.message, failure.traceback) == (FailureKind.CANCELLED, "release window", None)
    assert not failure.retryable
    assert not ending.retries


def test_an_unprompted_cancellation_ends_cancelled() -> None:
    """The body raised TaskCancelled of itself (D7)."""
    assert failure_of(run(raising(TaskCancelled("I quit")))).message == "I quit"

    class Mute(TaskCancelled):
        def __str__(self) -> str:
            raise OSError

    assert failure_of(run(raising(Mute("x")))).message == "unformattable"
    silent = TaskCancelled()
    silent.args = ()
    ending = run(raising(silent))
    assert ending.kind is EndingKind.CANCELLED
    assert failure_of(ending).message == "cancelled"


def test_an_error_from_the_delivered_stop_is_still_a_cancellation() -> None:
    """`raise RuntimeError from TaskCancelled`: cancelled, the other error named, no retry (D6, P-049)."""

    def body(ctx: TaskContext) -> None:
        try:
            ctx.checkpoint()
        except TaskCancelled as stop:
            try:
                raise KeyError("between") from stop
            except KeyError as between:
                raise RuntimeError("cleanup") from between

    token = CancellationToken()
    token.request_stop("enough")
    ending = run(body, token=token, retry=RetryPolicy(max_attempts=5))
    failure = failure_of(ending)
    assert ending.kind is EndingKind.CANCELLED
    assert not ending.retries
    assert failure.message == "enough; then raised RuntimeError: cleanup"
    assert failure.exception_type == "RuntimeError"
    assert failure.traceback is not None


def test_a_cancellation_nobody_delivered_excuses_nothing() -> None:
    """A TaskCancelled of the body's own making, or one that is only the context, leaves the error a failure (D6)."""
    error = RuntimeError("mine")
    error.__cause__ = TaskCancelled("forged")
    assert run(raising(error)).kind is EndingKind.RAISED

    def body(ctx: TaskContext) -> None:
        try:
            ctx.checkpoint()
        finally:
            raise OSError("while cleaning up")

    token = CancellationToken()
    token.request_stop()
    assert run(body, token=token).kind is EndingKind.RAISED


def test_a_request_to_stop_is_no_verdict() -> None:
    """A body that returns after a stop returned (D6, P-050)."""
    token = CancellationToken()
    token.request_stop()
    assert run(lambda ctx: ctx.is_stop_requested, token=token) == Ending(EndingKind.RETURNED, True)


def test_the_context_of_the_submitter_is_seen_and_not_changed() -> None:
    """Fresh copy per attempt, for sync and async bodies and also without a request's context (P-123)."""
    var: contextvars.ContextVar[str] = contextvars.ContextVar("var", default="unset")

    def body(ctx: Any) -> str:
        before = var.get()
        var.set("changed")
        return before

    async def abody(ctx: Any) -> str:
        await asyncio.sleep(0)
        return body(ctx)

    mine = contextvars.copy_context()
    mine.run(var.set, "mine")
    for target in (body, abody):
        for _ in range(2):
            assert run(target, context=mine).value == "mine"
            assert mine.run(run, target).value == "mine"
    assert mine.run(var.get) == "mine"
    assert var.get() == "unset"
