"""What the carriers that run a body inside this process have in common.

A carrier answers through its sink in a fixed order: `started`, whatever happens, `exited` once and last. What a
thread that a body has left behind reports after that is dropped. A stop that arrives before the body has begun
withdraws the attempt: it ends `withdrawn` and was never started (D6).
"""

from __future__ import annotations

import logging

from chongming_spec.errors import InternalError
from chongming_spec.facts import EndingKind
from chongming_spec.snapshot import Progress
from chongming_task.core.ports import Carrier, Ending, ExecutionRequest, Executor, LogLine, Signal, Sink
from chongming_task.runtime.body import bind, check_target, run_body
from chongming_task.runtime.cancellation import CancellationToken
from chongming_task.runtime.context import TaskContext

__all__ = [
    "BodyCarrier",
    "Carrier",
    "Ending",
    "ExecutionRequest",
    "Executor",
    "Signal",
    "Sink",
    "check_request",
]

logger = logging.getLogger("chongming_task.executors")


def check_request(request: ExecutionRequest) -> None:
    """ConfigurationError unless the target is a body and the arguments fit it."""
    check_target(request.target)
    bind(request.target, request.args, request.kwargs)


class _Gate:
    """The sink as the body's side sees it: open from `started` to `exited`."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._is_open = False

    def started(self) -> None:
        self._is_open = True
        self._sink.started()

    def parked(self) -> None:
        if self._is_open:
            self._sink.parked()

    def unparked(self) -> None:
        if self._is_open:
            self._sink.unparked()

    def progress(self, progress: Progress) -> None:
        if self._is_open:
            self._sink.progress(progress)

    def line(self, line: LogLine) -> None:
        if self._is_open:
            self._sink.line(line)

    def exited(self, ending: Ending) -> None:
        self._is_open = False
        self._sink.exited(ending)


class BodyCarrier:
    """One attempt in this process.

    Its executor calls `perform` and then `finish`, both in the thread that carries it.
    """

    def __init__(self, request: ExecutionRequest, sink: Sink, *, pausable: bool) -> None:
        self.request = request
        self._gate = _Gate(sink)
        self._token = CancellationToken(pausable=pausable, parked=self._gate.parked, unparked=self._gate.unparked)
        self._context = TaskContext(request, self._gate, self._token)
        self._running = True
        self._performed = False
        self.is_abandoned = False

    @property
    def running(self) -> bool:
        """True from the launch until the body has ended and its thread is free of it."""
        return self._running

    @property
    def pid(self) -> int | None:
        """None: it runs inside this process."""
        return None

    @property
    def beats(self) -> tuple[int, int | None]:
        """Checkpoints so far, and the monotonic ms of the last exact beat (D16)."""
        heartbeat = self._context.heartbeat
        return heartbeat.count, heartbeat.last_beat_ms

    def signal(self, signal: Signal, reason: str = "") -> None:
        """Hand a request to the body; returns at once."""
        if signal is Signal.STOP:
            self._token.request_stop(reason)
        elif signal is Signal.PAUSE:
            self._token.request_pause()
        else:
            self._token.resume()

    def kill(self) -> bool:
        """False: nothing can end a thread by force."""
        return False

    def abandon(self) -> None:
        """Nobody waits for it any more: its thread ends with it and is not used again."""
        self.is_abandoned = True

    def perform(self) -> Ending:
        """Run the body unless it was withdrawn; never raises but for being called twice."""
        if self._performed:
            raise InternalError("a carrier carries one attempt once")
        self._performed = True
        if self._token.is_stop_requested:
            return Ending(EndingKind.WITHDRAWN)
        self._answer(self._gate.started)
        return run_body(self.request, self._context, self._token)

    def finish(self, ending: Ending) -> None:
        """Report the end. Whoever the body left parked goes on, since nobody is there to resume it."""
        self._running = False
        self._answer(lambda: self._gate.exited(ending))
        self._token.resume()

    def _answer(self, call: object) -> None:
        try:
            call()  # type: ignore[operator]
        except Exception:
            logger.exception("the sink of task %s raised", self.request.task_id)
