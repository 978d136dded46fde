"""Carriers in daemon threads: order of answers, reuse, withdrawal, and an interpreter that can end (D6, D8, D20)."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import logging
import os
import subprocess
import sys
import textwrap
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chongming_spec.errors import ConfigurationError, InternalError, TaskCancelled
from chongming_spec.facts import EndingKind
from chongming_task.core.ports import Ending, ExecutionRequest, Signal
from chongming_task.runtime.context import TaskContext
from chongming_task.runtime.executors import thread as thread_module
from chongming_task.runtime.executors.base import BodyCarrier
from chongming_task.runtime.executors.thread import IDLE_NAME, ThreadCarrier, ThreadExecutor
from tests.unit.carriers import PATIENCE, Recorder, request


@pytest.fixture
def executor() -> Iterator[ThreadExecutor]:
    made = ThreadExecutor()
    yield made
    made.close()


def launch(
    executor: ThreadExecutor, target: Callable[..., Any], *args: Any, **changes: Any
) -> tuple[ThreadCarrier, Recorder]:
    recorder = Recorder()
    return executor.launch(request(target, *args, **changes), recorder), recorder


def idle(executor: ThreadExecutor, count: int = 1) -> None:
    """Until `count` threads wait for work."""
    for _ in range(int(PATIENCE * 1000)):
        if len(executor._idle) == count:
            return
        threading.Event().wait(0.001)
    raise AssertionError(f"{len(executor._idle)} threads idle, not {count}")


def current(ctx: TaskContext) -> list[Any]:
    thread = threading.current_thread()
    return [thread.ident, thread.name, thread.daemon]


def loops(ctx: TaskContext) -> None:
    while True:
        ctx.checkpoint()


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


def test_a_thread_is_used_again_after_a_clean_end(executor: ThreadExecutor) -> None:
    """The next attempt runs in the same daemon thread, named after its task while it works (P-041)."""
    _, first = launch(executor, current)
    ident, name, daemon = first.ending.value
    assert (name, daemon) == ("job (job-1)", True)
    idle(executor)
    _, second = launch(executor, current, name="job-1")
    assert second.ending.value == [ident, "job-1", True]
    idle(executor)
    names = [thread.name for thread in threading.enumerate() if thread.ident == ident]
    assert names == [IDLE_NAME]
    _, third = launch(executor, raises(ValueError("x")))
    assert third.ending.kind is EndingKind.RAISED
    idle(executor)
    _, fourth = launch(executor, current)
    assert fourth.ending.value[0] == ident


def raises(error: BaseException) -> Callable[[TaskContext], None]:
    def body(ctx: TaskContext) -> None:
        raise error

    return body


def traces(ctx: TaskContext) -> None:
    sys.setprofile(lambda *args: None)


def leaves_a_loop(ctx: TaskContext) -> None:
    asyncio._set_running_loop(asyncio.new_event_loop())


@pytest.mark.filterwarnings("ignore:unclosed event loop:ResourceWarning")
@pytest.mark.parametrize("body", [traces, leaves_a_loop, raises(SystemExit(1)), raises(KeyboardInterrupt())])
def test_a_thread_that_is_not_as_it_was_is_not_used_again(executor: ThreadExecutor, body: Any) -> None:
    """Changed trace or profile functions, a running loop, or something fatal: the thread ends (P-045)."""
    threads: list[threading.Thread] = []

    def wrapped(ctx: TaskContext) -> None:
        threads.append(threading.current_thread())
        body(ctx)

    _, recorder = launch(executor, wrapped)
    assert recorder.ending is not None
    threads[0].join(PATIENCE)
    assert not threads[0].is_alive()
    assert executor._idle == []
    gc.collect()


def test_reuse_can_be_turned_off() -> None:
    """ThreadExecutor(reuse=False): each thread ends with its body."""
    executor = ThreadExecutor(reuse=False)
    threads: list[threading.Thread] = []
    _, recorder = launch(executor, lambda ctx: threads.append(threading.current_thread()))
    assert recorder.ending.kind is EndingKind.RETURNED
    threads[0].join(PATIENCE)
    assert executor._idle == []


def test_an_abandoned_thread_never_comes_back(executor: ThreadExecutor) -> None:
    """Nobody waits for it; when its body ends at last, so does the thread (D6)."""
    go, threads = threading.Event(), []

    def deaf(ctx: TaskContext) -> str:
        threads.append(threading.current_thread())
        go.wait(PATIENCE)
        return "late"

    carrier, recorder = launch(executor, deaf)
    recorder.wait_for("started")
    carrier.abandon()
    assert carrier.running
    go.set()
    assert recorder.ending.value == "late"
    threads[0].join(PATIENCE)
    assert executor._idle == []


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
    _, recorder = launch(executor, raises(error))
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
    threading.Event().wait(0.02)
    carrier.signal(Signal.RESUME)
    assert gone.wait(PATIENCE)
    assert recorder.told == ["started", "exited"]
    assert (recorder.reports, recorder.lines) == ([], [])


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


def test_an_idle_thread_keeps_no_arguments_alive(executor: ThreadExecutor) -> None:
    """What an attempt was given is free once it is over."""

    class Thing:
        pass

    thing = Thing()
    gone = weakref.ref(thing)
    _, recorder = launch(executor, lambda ctx, thing: None, thing)
    assert recorder.ending.kind is EndingKind.RETURNED
    idle(executor)
    del recorder, thing, _
    gc.collect()
    assert gone() is None


def test_idle_threads_end_after_a_while_and_at_close() -> None:
    """No thread waits for ever; launching after `close` still works (D21)."""
    executor = ThreadExecutor()
    executor.idle_seconds = 0.01
    threads: list[threading.Thread] = []

    def body(ctx: TaskContext) -> None:
        threads.append(threading.current_thread())

    _, recorder = launch(executor, body)
    assert recorder.ending.kind is EndingKind.RETURNED
    threads[0].join(PATIENCE)
    executor.idle_seconds = 60.0
    _, recorder = launch(executor, body)
    assert recorder.ending.kind is EndingKind.RETURNED
    idle(executor)
    executor.close()
    threads[1].join(PATIENCE)
    _, recorder = launch(executor, body)
    assert recorder.ending.kind is EndingKind.RETURNED
    threads[2].join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads)


def test_a_thread_that_was_given_work_just_now_does_not_leave() -> None:
    """Between waiting too long and leaving, the executor may have handed it an attempt."""
    executor = ThreadExecutor()
    executor.idle_seconds = 0.001
    asked: list[bool] = []
    real = executor.let_go
    recorder = Recorder()

    def let_go(worker: Any) -> bool:
        if not asked:
            asked.append(True)
            executor._idle.remove(worker)
            worker.inbox.put(ThreadCarrier(request(lambda ctx: "in time"), recorder))
        return real(worker)

    executor.let_go = let_go  # type: ignore[method-assign]
    _, first = launch(executor, lambda ctx: None)
    assert first.ending.kind is EndingKind.RETURNED
    assert recorder.ending.value == "in time"


def test_a_thread_whose_carrier_fails_is_not_trusted(
    executor: ThreadExecutor, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error of ours is logged and costs that thread only (D18)."""
    threads: list[threading.Thread] = []

    def broken(self: BodyCarrier) -> bool:
        threads.append(threading.current_thread())
        raise SystemExit("a defect")

    monkeypatch.setattr(thread_module.ThreadCarrier, "carry", broken)
    with caplog.at_level(logging.ERROR, "chongming_task.executors"):
        launch(executor, loops)
        for _ in range(1000):
            if threads:
                break
            threading.Event().wait(0.001)
        threads[0].join(PATIENCE)
    assert "a defect" in caplog.text
    assert executor._idle == []


def test_where_no_thread_can_start_launch_raises(executor: ThreadExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    """RuntimeError, and nothing has begun (D6)."""

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(RuntimeError, match="can't start"):
        launch(executor, loops)


def test_check_refuses_bad_targets_and_arguments(executor: ThreadExecutor) -> None:
    """ConfigurationError before anything starts (D42, P-119)."""

    def generator(ctx: Any) -> Any:
        yield 1

    bad: list[ExecutionRequest] = [request(generator), request(lambda ctx: 1, "too", "many")]
    for asked in bad:
        with pytest.raises(ConfigurationError):
            executor.check(asked)
    executor.check(request(loops))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_starts_threads_of_its_own(executor: ThreadExecutor) -> None:
    """The idle threads of the parent do not exist in a child; it launches without them."""
    _, recorder = launch(executor, lambda ctx: 1)
    assert recorder.ending.value == 1
    idle(executor)
    pid = os.fork()
    if pid == 0:  # pragma: no cover - the child leaves without reporting coverage
        code = 1
        try:
            _, inside = launch(executor, lambda ctx: 2)
            code = 0 if inside.ending.value == 2 else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


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
