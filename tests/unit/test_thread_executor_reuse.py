"""When a thread carries another attempt, and when it must not (D6, P-041, P-045)."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from chongming_spec.facts import EndingKind
from chongming_task.runtime.context import TaskContext
from chongming_task.runtime.executors import thread as thread_module
from chongming_task.runtime.executors.base import BodyCarrier
from chongming_task.runtime.executors.thread import IDLE_NAME, ThreadCarrier, ThreadExecutor
from tests.unit.carriers import PATIENCE, Recorder, idle, launch, loops, raising, request


@pytest.fixture
def executor() -> Iterator[ThreadExecutor]:
    made = ThreadExecutor()
    yield made
    made.close()


def current(ctx: TaskContext) -> list[Any]:
    thread = threading.current_thread()
    return [thread.ident, thread.name, thread.daemon]


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
    _, third = launch(executor, raising(ValueError("x")))
    assert third.ending.kind is EndingKind.RAISED
    idle(executor)
    _, fourth = launch(executor, current)
    assert fourth.ending.value[0] == ident


def traces(ctx: TaskContext) -> None:
    sys.setprofile(lambda *args: None)


def leaves_a_loop(ctx: TaskContext) -> None:
    asyncio._set_running_loop(asyncio.new_event_loop())


@pytest.mark.filterwarnings("ignore:unclosed event loop:ResourceWarning")
@pytest.mark.parametrize("body", [traces, leaves_a_loop, raising(SystemExit(1)), raising(KeyboardInterrupt())])
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
