"""The body in its caller's thread: prepared by launch, done by run, never paused (D8, D20)."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import Any

import pytest

from chongming_spec.errors import ConfigurationError
from chongming_spec.facts import EndingKind
from chongming_task.core.ports import Ending, Signal
from chongming_task.runtime.context import TaskContext
from chongming_task.runtime.executors.inline import InlineExecutor
from tests.unit.carriers import Recorder, request


def test_launch_prepares_and_run_does_the_work_here() -> None:
    """Nothing happens before `run`; then everything, in this thread (D8)."""
    recorder = Recorder()
    carrier = InlineExecutor().launch(request(lambda ctx: threading.get_ident()), recorder)
    assert recorder.told == []
    assert carrier.running
    carrier.run()
    assert recorder.told == ["started", "exited"]
    assert recorder.ending.value == threading.get_ident()
    assert not carrier.running
    assert InlineExecutor().name == "inline"
    assert carrier.kill() is False


def test_reports_of_the_body_reach_the_sink() -> None:
    """Progress and lines pass while the body runs."""
    recorder = Recorder()

    def body(ctx: TaskContext) -> None:
        ctx.progress(1, total=2)
        ctx.log("half")

    InlineExecutor().launch(request(body), recorder).run()
    assert [report.fraction for report in recorder.reports] == [0.5]
    assert [line.text for line in recorder.lines] == ["half"]


def test_it_is_never_parked() -> None:
    """A pause is ignored: the checkpoint goes on (D8)."""
    recorder = Recorder()

    def body(ctx: TaskContext) -> bool:
        carrier.signal(Signal.PAUSE)
        ctx.checkpoint()
        ctx.sleep(0.001)
        return ctx.is_pause_requested

    carrier = InlineExecutor().launch(request(body), recorder)
    carrier.run()
    assert recorder.ending == Ending(EndingKind.RETURNED, False)


def test_a_stop_before_run_withdraws_and_one_inside_is_delivered() -> None:
    """Withdrawn without a start (D6); from inside it meets the next checkpoint (D20)."""
    recorder = Recorder()
    carrier = InlineExecutor().launch(request(lambda ctx: 1), recorder)
    carrier.signal(Signal.STOP)
    carrier.run()
    assert recorder.told == ["exited"]
    assert recorder.ending.kind is EndingKind.WITHDRAWN

    def body(ctx: TaskContext) -> None:
        inner.signal(Signal.STOP, "from inside")
        ctx.checkpoint()

    recorder = Recorder()
    inner = InlineExecutor().launch(request(body), recorder)
    inner.run()
    assert recorder.ending.kind is EndingKind.CANCELLED


@pytest.mark.parametrize("error", [KeyboardInterrupt("x"), SystemExit(3)], ids=repr)
def test_what_is_fatal_is_recorded_and_raised_again(error: BaseException) -> None:
    """The end is told first, then the caller gets the exception (D20, P-045)."""
    recorder = Recorder()

    def body(ctx: TaskContext) -> None:
        raise error

    carrier = InlineExecutor().launch(request(body), recorder)
    with pytest.raises(type(error)) as caught:
        carrier.run()
    assert caught.value is error
    assert recorder.ending.kind is EndingKind.RAISED
    assert not carrier.running


@pytest.mark.parametrize("error", [ValueError(), GeneratorExit(), asyncio.CancelledError()], ids=repr)
def test_everything_else_stays_inside(error: BaseException) -> None:
    """Other BaseExceptions end up in the record only (D20, P-045)."""
    recorder = Recorder()

    def body(ctx: TaskContext) -> None:
        raise error

    InlineExecutor().launch(request(body), recorder).run()
    assert recorder.ending.kind is EndingKind.RAISED


def test_context_variables_are_the_callers_and_do_not_leak_back() -> None:
    """The body sees the caller's values and changes only its copy (P-123)."""
    var: contextvars.ContextVar[str] = contextvars.ContextVar("var", default="unset")
    recorder = Recorder()

    def body(ctx: TaskContext) -> str:
        before = var.get()
        var.set("changed")
        return before

    def caller() -> str:
        var.set("caller's")
        InlineExecutor().launch(request(body), recorder).run()
        return var.get()

    assert contextvars.copy_context().run(caller) == "caller's"
    assert recorder.ending.value == "caller's"


async def async_body(ctx: Any) -> str:
    await ctx.acheckpoint()
    return "done"


def test_an_async_body_runs_inline_where_no_loop_runs() -> None:
    """To its end in this thread; inside a running loop it is refused with the way out (D20)."""
    recorder = Recorder()
    executor = InlineExecutor()
    executor.check(request(async_body))
    executor.launch(request(async_body), recorder).run()
    assert recorder.ending.value == "done"

    async def inside() -> None:
        executor.check(request(lambda ctx: 1))
        with pytest.raises(ConfigurationError, match="ThreadExecutor"):
            executor.check(request(async_body))

    asyncio.run(inside())


def test_check_refuses_bad_arguments() -> None:
    """ConfigurationError before anything starts (D42)."""
    with pytest.raises(ConfigurationError, match="do not fit"):
        InlineExecutor().check(request(lambda ctx: 1, "extra"))
