"""Each body runs in a daemon thread of its own.

A thread is used again for the next attempt only if nothing of the last one can be left in it: it was not
abandoned, nothing fatal came out of it, no event loop runs in it, and its trace and profile functions are what
they were. Each attempt has a fresh copy of its submitter's context variables. A thread that is not used for a
while ends. (`reuse=False`: each thread ends with its body.)

The threads are daemons and nobody joins them, so a body that never ends cannot hold the interpreter at its exit
(P-126). KeyboardInterrupt, SystemExit and GeneratorExit of a body end up in its `Ending` and nowhere else
(P-045).
"""

from __future__ import annotations

import logging
import os
import queue
import sys
import threading
from typing import Any

from chongming_task.core.ports import ExecutionRequest, Sink
from chongming_task.runtime.executors.base import BodyCarrier, check_request

logger = logging.getLogger("chongming_task.executors")

IDLE_NAME = "chongming-idle"
IDLE_SECONDS = 30.0


class ThreadCarrier(BodyCarrier):
    """One attempt in a daemon thread."""

    def __init__(self, request: ExecutionRequest, sink: Sink) -> None:
        super().__init__(request, sink, pausable=True)

    def carry(self) -> bool:
        """Run it in this thread, report, and say whether the thread may be used again."""
        before = _hooks()
        ending = self.perform()
        is_clean = ending.fatal is None and _hooks() == before and not _has_running_loop()
        self.finish(ending)
        return is_clean and not self.is_abandoned


class _Worker:
    """One thread; takes carriers from its inbox until it gets None, waits too long, or may not be used again."""

    def __init__(self, executor: ThreadExecutor) -> None:
        self._executor = executor
        self.inbox: queue.SimpleQueue[ThreadCarrier | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=IDLE_NAME, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        while (carrier := self._next()) is not None:
            self._thread.name = _thread_name(carrier.request)
            try:
                is_reusable = carrier.carry()
            except BaseException:  # nothing of ours should raise here; if it does, this thread is not trusted again
                logger.exception("carrying task %s failed", carrier.request.task_id)
                return
            del carrier  # an idle thread keeps no arguments alive
            self._thread.name = IDLE_NAME
            if not (is_reusable and self._executor.take_back(self)):
                return

    def _next(self) -> ThreadCarrier | None:
        while True:
            try:
                return self.inbox.get(timeout=self._executor.idle_seconds)
            except queue.Empty:
                if self._executor.let_go(self):
                    return None


class ThreadExecutor:
    """Runs bodies in daemon threads, reused where that is safe. `close` ends the idle ones."""

    name = "thread"

    def __init__(self, reuse: bool = True) -> None:
        self.idle_seconds = IDLE_SECONDS
        self._reuse = reuse
        self._forget()

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._closed = False
        self._process = os.getpid()

    def check(self, request: ExecutionRequest) -> None:
        """ConfigurationError if the target is no body or the arguments do not fit it."""
        check_request(request)

    def launch(self, request: ExecutionRequest, sink: Sink) -> ThreadCarrier:
        """Hand it to a thread and return. RuntimeError, and nothing begun, where no thread can be started."""
        carrier = ThreadCarrier(request, sink)
        if self._process != os.getpid():  # a forked child has none of its parent's threads
            self._forget()
        with self._lock:
            worker = self._idle.pop() if self._idle else None
        if worker is not None:
            worker.inbox.put(carrier)
            return carrier
        worker = _Worker(self)
        worker.inbox.put(carrier)
        worker.start()
        return carrier

    def close(self) -> None:
        """End the idle threads; those at work end with their bodies.

        Launching afterwards still works, without reuse.
        """
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.inbox.put(None)

    def take_back(self, worker: _Worker) -> bool:
        """Whether `worker` may wait for the next attempt; called by its own thread."""
        with self._lock:
            if not self._reuse or self._closed:
                return False
            self._idle.append(worker)
            return True

    def let_go(self, worker: _Worker) -> bool:
        """Whether `worker` may end for want of work; False if it was given some just now."""
        with self._lock:
            if worker in self._idle:
                self._idle.remove(worker)
                return True
            return False


def _thread_name(request: ExecutionRequest) -> str:
    return request.name if request.name == request.task_id else f"{request.name} ({request.task_id})"


def _hooks() -> tuple[Any, ...]:
    """What a body may have hung into its thread, or into all to come."""
    return sys.gettrace(), sys.getprofile(), threading.gettrace(), threading.getprofile()


def _has_running_loop() -> bool:
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None
