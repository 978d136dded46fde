"""Coroutines as bodies: their own loop, stops, shields and what they leave behind (D20)."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from typing import Any
from unittest.mock import Mock

import pytest

from chongming_spec.errors import TaskCancelled
from chongming_spec.facts import EndingKind
from chongming_task.core.ports import Ending
from chongming_task.runtime import coroutines
from chongming_task.runtime.cancellation import CancellationToken
from chongming_task.runtime.context import TaskContext
from tests.unit.carriers import failure_of, run


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
