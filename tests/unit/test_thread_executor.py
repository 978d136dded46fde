"""Carriers in daemon threads: order of answers, withdrawal, and an interpreter that can end (D6, D8, D20)."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from chongming_spec.errors import ConfigurationError, InternalError, TaskCancelled
from chongming_spec.facts import EndingKind
from chongming_task.core.ports import Ending, ExecutionRequest, Signal
from chongming_task.runtime.context import TaskContext
from chongming_task.runtime.executors.thread import ThreadCarrier, ThreadExecutor
from tests.unit.carriers import PATIENCE, Recorder, launch, loops, raising, request


@pytest.fixture
def executor() -> Iterator[ThreadExecutor]:
    made = ThreadExecutor()
    yield made
    made.close()


def test_a_life_is_told_in_order(executor: ThreadExecutor) -> None:
    """started, parked, unparked, exited once and last; running is False after (D8, D20)."""
    carrier, recorder = launch(executor, loops)
    assert carrier.running
    recorder.wait_for("started")
    carrier.signal(Signal.PAUSE)
    recorder.wait_for("parked")
    carrier.signal(Signal.RESUME)
    recorder.wait_for("unparked")
    carrier.signal(Signal.STOP, "enough")
    ending = recorder.ending
    assert recorder.told == ["started", "parked", "unparked", "exited"]
    assert ending.kind is EndingKind.CANCELLED
    assert ending.failure is not None
    assert ending.failure.message == "enough"
    assert not carrier.running
    assert carrier.beats[0] > 0
    assert carrier.beats[1] is None
    assert carrier.pid is None
    assert carrier.kill() is False
    assert executor.name == "thread"


def test_running_is_false_when_the_end_is_told(executor: ThreadExecutor) -> None:
    """Whoever hears `exited` finds no carrier running."""
    seen: list[bool] = []
    carriers: list[ThreadCarrier] = []
    ready = threading.Event()

    class Asking(Recorder):
        def exited(self, ending: Ending) -> None:
            ready.wait(PATIENCE)
            seen.append(carriers[0].running)
            super().exited(ending)

    recorder = Asking()
    carriers.append(executor.launch(request(lambda ctx: None), recorder))
    ready.set()
    assert recorder.ending.kind is EndingKind.RETURNED
    assert seen == [False]


@pytest.mark.parametrize(
    "error",
    [
        KeyboardInterrupt(),
        SystemExit(0),
        SystemExit("text"),
        GeneratorExit(),
        asyncio.CancelledError(),
        TaskCancelled(),
    ],
    ids=repr,
)
def test_nothing_escapes_a_thread(
    executor: ThreadExecutor, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No exception surfaces in the thread, and the next task runs (D20, P-041, P-045)."""
    escaped: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", escaped.append)
    _, recorder = launch(executor, raising(error))
    assert recorder.ending.kind in (EndingKind.RAISED, EndingKind.CANCELLED)
    _, following = launch(executor, lambda ctx: "fine")
    assert following.ending.value == "fine"
    assert escaped == []


def test_a_stop_before_the_body_has_begun_withdraws_it() -> None:
    """Never started, ends `withdrawn` (D6)."""
    recorder = Recorder()
    carrier = ThreadCarrier(request(lambda ctx: "never"), recorder)
    carrier.signal(Signal.STOP, "changed my mind")
    assert carrier.carry() is True
    assert recorder.told == ["exited"]
    assert recorder.ending == Ending(EndingKind.WITHDRAWN)
    with pytest.raises(InternalError):
        carrier.perform()


def test_a_pause_before_the_body_has_begun_parks_at_its_first_checkpoint(executor: ThreadExecutor) -> None:
    """started, then parked (D8)."""
    recorder = Recorder()
    carrier = ThreadCarrier(request(loops), recorder)
    carrier.signal(Signal.PAUSE)
    thread = threading.Thread(target=carrier.carry)
    thread.start()
    recorder.wait_for("parked")
    assert recorder.told == ["started", "parked"]
    carrier.signal(Signal.STOP)
    thread.join(PATIENCE)
    assert recorder.ending.kind is EndingKind.CANCELLED


def test_stops_around_the_end_lose_nothing(executor: ThreadExecutor) -> None:
    """200 stops around the end: each attempt ends once, in one of three ways, and no thread is lost (P-041, P-051)."""
    kinds = set()
    for number in range(200):
        carrier, recorder = launch(executor, lambda ctx: [ctx.checkpoint() for _ in range(50)])
        if number % 3:
            recorder.wait_for("started")
        carrier.signal(Signal.STOP, "race")
        kinds.add(recorder.ending.kind)
        assert recorder.told[-1] == "exited"
    assert kinds <= {EndingKind.RETURNED, EndingKind.CANCELLED, EndingKind.WITHDRAWN}
    assert len(executor._idle) <= 3


def test_context_variables_reach_the_body_and_do_not_leak_back(executor: ThreadExecutor) -> None:
    """Each attempt sees its submitter's value, in whichever thread (P-123)."""
    var: contextvars.ContextVar[str] = contextvars.ContextVar("var", default="unset")

    def body(ctx: TaskContext) -> str:
        before = var.get()
        var.set("changed")
        return before

    for value in ("one", "two"):
        mine = contextvars.copy_context()
        mine.run(var.set, value)
        for _ in range(2):
            _, recorder = launch(executor, body, context=mine)
            assert recorder.ending.value == value
        assert mine.run(var.get) == value
    _, bare = launch(executor, body)
    assert bare.ending.value == "unset"


def test_blocking_code_in_an_async_body_holds_nobody_else(executor: ThreadExecutor) -> None:
    """Each async body has its own loop in its own thread (P-122)."""
    go = threading.Event()

    async def blocks(ctx: TaskContext) -> None:
        go.wait(PATIENCE)

    async def quick(ctx: TaskContext) -> str:
        await asyncio.sleep(0)
        return "done"

    _, blocked = launch(executor, blocks)
    blocked.wait_for("started")
    _, other = launch(executor, quick)
    assert other.ending.value == "done"
    go.set()
    assert blocked.ending.kind is EndingKind.RETURNED


def test_what_is_left_behind_reports_nothing_after_the_end(executor: ThreadExecutor) -> None:
    """A thread of the body that goes on cannot report progress, lines or parking after `exited`, nor stay parked."""
    go, gone = threading.Event(), threading.Event()

    def body(ctx: TaskContext) -> None:
        def straggler() -> None:
            go.wait(PATIENCE)
            ctx.progress(1)
            ctx.log("late")
            ctx.checkpoint()
            gone.set()

        threading.Thread(target=straggler, daemon=True).start()

    carrier, recorder = launch(executor, body)
    assert recorder.ending.kind is EndingKind.RETURNED
    carrier.signal(Signal.PAUSE)
    go.set()
    with carrier._token.changed:  # parking notifies nobody
        while not carrier._token._parkers:
            carrier._token.changed.wait(0.001)
    carrier.signal(Signal.RESUME)
    assert gone.wait(PATIENCE)
    assert recorder.told == ["started", "exited"]
    assert (recorder.reports, recorder.lines) == ([], [])


def test_whoever_is_parked_at_the_end_goes_on_in_silence() -> None:
    """A thread that the body left parked is let go when the attempt is over, since nobody can resume it (D8)."""
    parked, gone = threading.Event(), threading.Event()

    def body(ctx: TaskContext) -> None:
        def straggler() -> None:
            ctx.checkpoint()
            gone.set()

        carriers[0].signal(Signal.PAUSE)
        threading.Thread(target=straggler, daemon=True).start()
        assert parked.wait(PATIENCE)

    class Noting(Recorder):
        def parked(self) -> None:
            super().parked()
            parked.set()

    recorder = Noting()
    carriers = [ThreadCarrier(request(body), recorder)]
    carriers[0].carry()
    assert gone.wait(PATIENCE)
    assert recorder.told == ["started", "parked", "exited"]


def test_a_sink_that_raises_does_not_end_the_thread(executor: ThreadExecutor, caplog: pytest.LogCaptureFixture) -> None:
    """It is logged; the body runs and its end is told (D18)."""

    class Broken(Recorder):
        def started(self) -> None:
            raise OSError("broken sink")

    recorder = Broken()
    with caplog.at_level(logging.ERROR, "chongming_task.executors"):
        executor.launch(request(lambda ctx: 1), recorder)
        assert recorder.ending.value == 1
    assert "broken sink" in caplog.text


def test_check_refuses_bad_targets_and_arguments(executor: ThreadExecutor) -> None:
    """ConfigurationError before anything starts (D42, P-119)."""

    def generator(ctx: Any) -> Any:
        yield 1

    bad: list[ExecutionRequest] = [request(generator), request(lambda ctx: 1, "too", "many")]
    for asked in bad:
        with pytest.raises(ConfigurationError):
            executor.check(asked)
    executor.check(request(loops))


def test_the_interpreter_ends_although_threads_are_stuck() -> None:
    """A deaf body, a paused one, a sleeping and an async one: the process ends with code 0 and says nothing (P-126)."""
    script = """
        import asyncio, time
        from tests.unit.carriers import Recorder, request
        from chongming_task.core.ports import Signal
        from chongming_task.runtime.executors.thread import ThreadExecutor

        async def waits(ctx):
            await asyncio.sleep(3600)

        def pauses(ctx):
            while True:
                ctx.checkpoint()

        executor = ThreadExecutor()
        for body in (lambda ctx: time.sleep(3600), pauses, lambda ctx: ctx.sleep(3600), waits, lambda ctx: 1):
            recorder = Recorder()
            carrier = executor.launch(request(body), recorder)
            recorder.wait_for("started")
            if body is pauses:
                carrier.signal(Signal.PAUSE)
                recorder.wait_for("parked")
    """
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([root, *(p for p in sys.path if p)])},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
