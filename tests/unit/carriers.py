"""Help for tests of bodies and carriers: a sink that records, requests with defaults, and bodies."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from chongming_spec.snapshot import Failure, Progress
from chongming_task.clock import system_clock
from chongming_task.core.ports import Ending, ExecutionRequest, LogLine
from chongming_task.policies import RetryPolicy
from chongming_task.runtime.body import run_body
from chongming_task.runtime.cancellation import CancellationToken
from chongming_task.runtime.context import TaskContext
from chongming_task.runtime.executors.thread import ThreadCarrier, ThreadExecutor

PATIENCE = 10.0


class Recorder:
    """A sink that keeps what it was told, in order, and says when."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.reports: list[Progress] = []
        self.lines: list[LogLine] = []
        self.endings: list[Ending] = []
        self._changed = threading.Condition()

    def _tell(self, word: str) -> None:
        with self._changed:
            self.told.append(word)
            self._changed.notify_all()

    def started(self) -> None:
        self._tell("started")

    def parked(self) -> None:
        self._tell("parked")

    def unparked(self) -> None:
        self._tell("unparked")

    def progress(self, progress: Progress) -> None:
        self.reports.append(progress)

    def line(self, line: LogLine) -> None:
        self.lines.append(line)

    def exited(self, ending: Ending) -> None:
        self.endings.append(ending)
        self._tell("exited")

    def wait_for(self, word: str, times: int = 1) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self.told.count(word) >= times, PATIENCE), (word, self.told)

    @property
    def ending(self) -> Ending:
        self.wait_for("exited")
        assert len(self.endings) == 1
        return self.endings[0]


def request(target: Callable[..., Any], *args: Any, **changes: Any) -> ExecutionRequest:
    """A request with defaults for what the test does not care about."""
    values: dict[str, Any] = {
        "task_id": "job-1",
        "name": "job",
        "attempt": 1,
        "max_attempts": 1,
        "target": target,
        "args": args,
        "kwargs": {},
        "clock": system_clock(),
        "retry": RetryPolicy(),
    }
    return ExecutionRequest(**{**values, **changes})


def run(target: Callable[..., Any], *args: Any, token: CancellationToken | None = None, **changes: Any) -> Ending:
    """Run a body here, without a carrier."""
    token = token or CancellationToken()
    asked = request(target, *args, **changes)
    return run_body(asked, TaskContext(asked, Recorder(), token), token)


def failure_of(ending: Ending) -> Failure:
    """The failure an ending must have."""
    assert ending.failure is not None
    return ending.failure


def returning(value: Any) -> Callable[[Any], Any]:
    """A body that returns `value`."""
    return lambda ctx: value


def raising(error: BaseException) -> Callable[[Any], Any]:
    """A body that raises `error`."""

    def body(ctx: Any) -> None:
        raise error

    return body


def launch(
    executor: ThreadExecutor, target: Callable[..., Any], *args: Any, **changes: Any
) -> tuple[ThreadCarrier, Recorder]:
    """Launch a body with a sink of its own."""
    recorder = Recorder()
    return executor.launch(request(target, *args, **changes), recorder), recorder


def loops(ctx: TaskContext) -> None:
    """A body that never ends by itself and checks always."""
    while True:
        ctx.checkpoint()


def idle(executor: ThreadExecutor, count: int = 1) -> None:
    """Until `count` threads wait for work."""
    for _ in range(int(PATIENCE * 1000)):
        if len(executor._idle) == count:
            return
        threading.Event().wait(0.001)
    raise AssertionError(f"{len(executor._idle)} threads idle, not {count}")
