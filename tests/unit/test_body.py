"""The ladder from what a body does to how it ended; it has a rung for everything (D18, D19, D20)."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import logging
import subprocess
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

from chongming_spec.errors import ConfigurationError, TaskCancelled
from chongming_spec.facts import EndingKind
from chongming_spec.failures import FailureKind
from chongming_spec.snapshot import Failure
from chongming_task.core.ports import Ending
from chongming_task.policies import RetryPolicy
from chongming_task.runtime import coroutines
from chongming_task.runtime.body import bind, check_target, run_body
from chongming_task.runtime.cancellation import CancellationToken
from chongming_task.runtime.context import TaskContext
from chongming_task.runtime.targets import is_async, name_of, parameters_of
from tests.unit.carriers import Recorder, request


def run(target: Callable[..., Any], *args: Any, token: CancellationToken | None = None, **changes: Any) -> Ending:
    token = token or CancellationToken()
    asked = request(target, *args, **changes)
    return run_body(asked, TaskContext(asked, Recorder(), token), token)


def failure_of(ending: Ending) -> Failure:
    assert ending.failure is not None
    return ending.failure


def returning(value: Any) -> Callable[[Any], Any]:
    return lambda ctx: value


def raising(error: BaseException) -> Callable[[Any], Any]:
    def body(ctx: Any) -> None:
        raise error

    return body


# ---------------------------------------------------------------- results


@pytest.mark.parametrize(
    ("value", "canonical"),
    [
        (None, None),
        (True, True),
        (0, 0),
        ("", ""),
        ([], []),
        ("\\u0000 é 你", "\\u0000 é 你"),
        ({"a": (1, 2.5, [()])}, {"a": [1, 2.5, [[]]]}),
    ],
)
def test_a_json_value_is_returned_in_canonical_form(value: Any, canonical: Any) -> None:
    """Dumped and loaded once; a tuple becomes a list; empty values are values (D19, P-118)."""
    ending = run(returning(value))
    assert ending == Ending(EndingKind.RETURNED, canonical)
    assert type(ending.value) is type(canonical)


def test_a_result_cannot_be_changed_afterwards() -> None:
    """What the body keeps of its result is not what others see (D19)."""
    kept: list[int] = [1]
    ending = run(returning(kept))
    kept.append(2)
    assert ending.value == [1]


class Hostile(dict[str, int]):
    def __iter__(self) -> Any:
        raise RuntimeError("do not look")


def cyclic() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    return value


def doubling() -> list[Any]:
    value: list[Any] = []
    for _ in range(60):
        value = [value, value]
    return value


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({1, 2}, "not JSON serializable"),
        ({1: "x"}, "key that is no string: int"),
        ({"a": {None: 1}}, "key that is no string: NoneType"),
        (float("nan"), "not JSON"),
        ([float("inf")], "not JSON"),
        ("a\0b", "NUL"),
        ({"k\0": 1}, "NUL"),
        (["\ud800"], "lone surrogate"),
        (10**5000, "not JSON"),
        (b"raw", "not JSON serializable"),
        (cyclic(), "cyclic"),
        (deep(), "too deeply"),
        (doubling(), "cyclic, or larger"),
        ("x" * 2_000_000, "takes 2000002 bytes"),
        (Hostile(a=1), "do not look"),
        (object(), "not JSON serializable"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_anything_else_is_invalid_and_says_why(value: Any, says: str) -> None:
    """NaN, keys that are no strings, NUL, surrogates, cycles, depth, size, other types: RESULT_INVALID (D18, D19)."""
    ending = run(returning(value))
    assert ending.kind is EndingKind.INVALID
    assert not ending.retries
    failure = failure_of(ending)
    assert failure.kind is FailureKind.RESULT_INVALID
    assert says in failure.message
    assert not failure.retryable


def test_the_size_limit_is_the_requests() -> None:
    """`max_outcome_bytes` of UTF-8 (D18)."""
    assert run(returning("éé"), max_outcome_bytes=6).kind is EndingKind.RETURNED
    assert run(returning("éé"), max_outcome_bytes=5).kind is EndingKind.INVALID


def test_a_generator_is_never_a_success() -> None:
    """A body that returns an untouched generator has not run (P-119)."""
    assert run(lambda ctx: (n for n in range(3))).kind is EndingKind.INVALID


def test_an_interrupt_while_the_result_is_looked_through_is_kept() -> None:
    """Ctrl-C during the last step is raised on, not called an invalid result (D20)."""

    class Interrupting(dict[str, int]):
        def __iter__(self) -> Any:
            raise KeyboardInterrupt

    ending = run(returning(Interrupting(a=1)))
    assert ending.kind is EndingKind.RAISED
    assert isinstance(ending.fatal, KeyboardInterrupt)


# ---------------------------------------------------------------- errors


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


# ---------------------------------------------------------------- cancellation


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


# ---------------------------------------------------------------- async bodies


def test_an_async_body_runs_to_its_end() -> None:
    """Its value and its errors count like a function's; a partial or a lambda gives a coroutine too (D20)."""

    async def body(ctx: TaskContext, value: int) -> int:
        await ctx.acheckpoint()
        if value < 0:
            raise ValueError("negative")
        return value

    assert run(body, 3).value == 3
    assert run(functools.partial(body, value=4)).value == 4
    assert run(lambda ctx: body(ctx, 5)).value == 5
    assert failure_of(run(body, -1)).exception_type == "ValueError"


def test_a_stop_cancels_an_awaiting_body_at_once() -> None:
    """The asyncio task is cancelled wherever it waits; the ending is cancelled with the reason (D20, P-056)."""
    token = CancellationToken()

    async def body(ctx: TaskContext) -> None:
        asyncio.get_running_loop().call_later(0.01, token.request_stop, "enough")
        await asyncio.Event().wait()

    ending = run(body, token=token)
    assert ending.kind is EndingKind.CANCELLED
    assert failure_of(ending).message == "enough"


def test_a_stop_before_the_first_step_cancels_at_the_first_await() -> None:
    """Like a function's body, a coroutine runs until it could have heard of the stop (D20)."""
    token = CancellationToken()
    token.request_stop()
    log: list[str] = []

    async def body(ctx: TaskContext) -> None:
        log.append("began")
        await asyncio.sleep(60)
        log.append("never")

    assert run(body, token=token).kind is EndingKind.CANCELLED
    assert log == ["began"]


def test_a_shield_holds_the_cancellation_of_an_async_body_back() -> None:
    """Awaits inside a shield end normally; the first one after it is cancelled (D20)."""
    token = CancellationToken()
    log: list[str] = []

    async def body(ctx: TaskContext) -> None:
        with ctx.shield():
            token.request_stop()
            await asyncio.sleep(0.01)
            log.append("finished")
        await asyncio.sleep(60)
        log.append("never")

    assert run(body, token=token).kind is EndingKind.CANCELLED
    assert log == ["finished"]


def test_a_cancelled_group_of_coroutines_is_a_cancellation() -> None:
    """A TaskGroup whose members met the stop: every member is a delivered cancellation (D6, D20)."""
    token = CancellationToken()

    async def member(ctx: TaskContext) -> None:
        token.request_stop("enough")
        with ctx.shield():
            pass
        await ctx.acheckpoint()

    async def body(ctx: TaskContext) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(member(ctx))

    assert run(body, token=token).kind is EndingKind.CANCELLED
    token = CancellationToken()
    token.request_stop("enough")

    def grouped(ctx: TaskContext) -> None:
        try:
            ctx.checkpoint()
        except TaskCancelled as stop:
            raise BaseExceptionGroup("stopped", [stop]) from None

    ending = run(grouped, token=token)
    assert ending.kind is EndingKind.CANCELLED
    assert failure_of(ending).message == "enough"


def test_what_an_async_body_leaves_behind_is_cancelled(caplog: pytest.LogCaptureFixture) -> None:
    """Leftover coroutines end before the loop is closed; one that raises then is logged (D20)."""
    log: list[str] = []

    async def leftover() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            log.append("cleaned up")
            raise ValueError("in the leftover")

    async def body(ctx: TaskContext) -> str:
        ctx.logs  # noqa: B018 - looked at
        task = asyncio.ensure_future(leftover())
        await asyncio.sleep(0)
        assert not task.done()
        return "value"

    with caplog.at_level(logging.WARNING, "chongming_task.coroutines"):
        assert run(body).value == "value"
    assert log == ["cleaned up"]
    assert "in the leftover" in caplog.text


def test_a_leftover_that_ignores_its_cancellation_does_not_hold_the_attempt(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait for leftovers is bounded (D18)."""
    monkeypatch.setattr(coroutines, "LEFTOVER_SECONDS", 0.02)

    kept: list[asyncio.Future[None]] = []

    async def deaf() -> None:
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(60)

    async def body(ctx: TaskContext) -> str:
        kept.append(asyncio.ensure_future(deaf()))
        await asyncio.sleep(0)
        return "value"

    with caplog.at_level(logging.WARNING):
        ending = run(body)
    assert ending.value == "value"
    assert "ignore their cancellation" in caplog.text


def test_cleaning_up_that_fails_does_not_change_the_ending(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The value stands; the error of the clean-up is logged (D18)."""

    def refuse(loop: Any) -> None:
        raise OSError("no clean-up")

    async def body(ctx: TaskContext) -> str:
        return "value"

    monkeypatch.setattr(coroutines, "_cancel_leftovers", refuse)
    with caplog.at_level(logging.ERROR, "chongming_task.coroutines"):
        assert run(body).value == "value"
    assert "no clean-up" in caplog.text


def test_a_stop_after_the_loop_has_closed_is_quiet() -> None:
    """A cancellation that comes too late has nothing to cancel (P-051)."""
    loop = asyncio.new_event_loop()
    loop.close()
    coroutines._cancel(loop, Mock())


def test_an_async_body_inside_a_running_loop_is_a_failure_that_says_so() -> None:
    """It cannot run there; the coroutine is closed, not forgotten (D20)."""

    async def body(ctx: TaskContext) -> None:
        pass

    async def outer() -> Ending:
        return run(body)

    failure = failure_of(asyncio.run(outer()))
    assert "running event loop" in failure.message


# ---------------------------------------------------------------- targets


class Callable_:  # noqa: N801 - stands for any callable object
    def __call__(self, ctx: Any) -> None:
        """Do nothing."""


class AsyncCallable:
    async def __call__(self, ctx: Any) -> None:
        """Do nothing."""


async def coroutine_function(ctx: Any) -> None:
    """Do nothing."""


def generator(ctx: Any) -> Any:
    yield 1


async def async_generator(ctx: Any) -> Any:
    yield 1


class GeneratorObject:
    def __call__(self, ctx: Any) -> Any:
        yield 1


@pytest.mark.parametrize(
    "target",
    [lambda ctx: 1, lambda *args: 1, print, Callable_(), AsyncCallable(), coroutine_function, dict, min, type],
    ids=name_of,
)
def test_targets_that_can_be_bodies(target: Any) -> None:
    """Functions, methods, partials and objects with a first positional parameter; built-ins that do not tell."""
    check_target(target)


@pytest.mark.parametrize(
    ("target", "says"),
    [
        (3, "must be a function"),
        ("name", "must be a function"),
        (lambda: 1, "first positional parameter must be ctx"),
        (lambda *, ctx: 1, "first positional parameter must be ctx"),
        (generator, "generator function"),
        (async_generator, "generator function"),
        (GeneratorObject(), "generator function"),
        (functools.partial(generator), "generator function"),
    ],
)
def test_targets_that_cannot_be_bodies_are_refused(target: Any, says: str) -> None:
    """Non-callables, no ctx, generator functions: ConfigurationError with the fix (P-119)."""
    with pytest.raises(ConfigurationError, match=says):
        check_target(target)


def test_arguments_are_bound_at_the_call() -> None:
    """They must fit the signature behind ctx; the message shows both (D42)."""

    def body(ctx: Any, source: str, *, size: int = 1) -> None:
        """Do nothing."""

    bind(body, ("x",), {"size": 2})
    bind(dict.fromkeys, (), {})
    bind(min, (1, 2, 3), {"no": "signature"})
    for args, kwargs, says in [
        ((), {}, "missing a required argument: 'source'"),
        (("x", 2), {}, "too many positional"),
        (("x",), {"sise": 2}, "'sise'"),
        (("x",), {"ctx": 2}, "multiple values for argument 'ctx'"),
    ]:
        with pytest.raises(ConfigurationError, match=says) as caught:
            bind(body, args, kwargs)
        assert "body(ctx" in str(caught.value)


def test_the_keyword_parameters_of_a_target() -> None:
    """Everything after ctx that can be given by name; nothing for a built-in that does not tell (D42)."""

    def body(ctx: Any, source: str, /, other: int, *rest: int, size: int = 1, **more: int) -> None:
        """Do nothing."""

    assert parameters_of(body) == ("other", "size")
    assert parameters_of(min) == ()


def test_names_and_kinds_of_targets() -> None:
    """What a person calls it, and whether it is async, through partials and objects."""
    assert name_of(functools.partial(generator)) == "generator"
    assert name_of(AsyncCallable()) == "AsyncCallable"
    assert is_async(coroutine_function)
    assert is_async(functools.partial(coroutine_function))
    assert is_async(AsyncCallable())
    assert not is_async(generator)
