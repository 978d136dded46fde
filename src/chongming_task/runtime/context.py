"""What a body sees of its task: its first argument.

A context belongs to one attempt, which is why it is handed in and cannot be captured. It offers the meeting
points with whoever controls the task (`checkpoint`, `sleep`, `run_subprocess`, `shield`), a way to report
(`progress`, `log`), and what the attempt was given (`input`, `artifact_dir`, `deadline`). Everything may be
called from any thread of the body.

Log records carry the name `chongming_task.task.<id>` without a logger object per task: they go through their
common parent, unless somebody has made a logger of that name (D43).
"""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from chongming_spec.errors import ConfigurationError
from chongming_spec.snapshot import Progress
from chongming_task.core.ports import ExecutionRequest, LogLine, Sink
from chongming_task.policies import check_seconds, to_ms
from chongming_task.runtime.cancellation import CancellationToken
from chongming_task.runtime.heartbeat import Heartbeat
from chongming_task.runtime.sleeping import asleep_ms, sleep_ms
from chongming_task.runtime.texts import storable

if TYPE_CHECKING:
    import subprocess

LOGS_KEPT = 200
PARENT_LOGGER = logging.getLogger("chongming_task.task")


class TaskContext:
    """The first argument of every body; also known as `RuntimeContext`."""

    __slots__ = ("_directory", "_lines", "_progress", "_request", "_sink", "_token", "heartbeat")

    def __init__(self, request: ExecutionRequest, sink: Sink, token: CancellationToken) -> None:
        self._request = request
        self._sink = sink
        self._token = token
        self._lines: deque[LogLine] = deque(maxlen=LOGS_KEPT)
        self._progress = Progress()
        self._directory: Path | None = None
        self.heartbeat = Heartbeat(request.clock)

    # ------------------------------------------------------------ who it is

    @property
    def task_id(self) -> str:
        """The id of the task."""
        return self._request.task_id

    @property
    def name(self) -> str:
        """Its label, or the name of its function."""
        return self._request.name

    @property
    def attempt(self) -> int:
        """Which attempt this is, counted from 1."""
        return self._request.attempt

    @property
    def pipeline_run_id(self) -> str | None:
        """The pipeline run it belongs to, if any."""
        return self._request.pipeline_run_id

    @property
    def fencing_token(self) -> int:
        """Grows whenever somebody takes the task over: hand it to a resource that refuses older ones (D24)."""
        return self._request.epoch

    @property
    def deadline(self) -> datetime | None:
        """When this attempt runs out of time (aware UTC), computed anew at each look; None without a limit (D15)."""
        return self._request.deadline()

    # ------------------------------------------------------------ being controlled

    def checkpoint(self) -> None:
        """Answer to whoever controls the task: TaskCancelled after a stop, parked during a pause; a sign of life
        (D16, D20).
        """
        self.heartbeat.count += 1
        if self._token.attention:
            self._token.checkpoint()

    async def acheckpoint(self) -> None:
        """The checkpoint of a coroutine; a pause parks this coroutine while the others go on (D20)."""
        self.heartbeat.count += 1
        await self._token.acheckpoint()

    @property
    def is_stop_requested(self) -> bool:
        """Whether the task was asked to end; for code that wants to finish its own way."""
        return self._token.is_stop_requested

    @property
    def is_pause_requested(self) -> bool:
        """Whether a pause was asked for."""
        return self._token.is_pause_requested

    def shield(self) -> AbstractContextManager[None]:
        """`with ctx.shield():` delivers neither stop nor pause inside: for what must be finished (D20)."""
        return self._token.shield()

    def sleep(self, seconds: float) -> None:
        """Sleep on the task's clock.

        A stop wakes it at once; time spent paused does not count. No sign of life meanwhile.
        """
        span_ms = to_ms(check_seconds("sleep(seconds)", seconds))
        sleep_ms(self._token, self._request.clock, span_ms, self.checkpoint)

    async def asleep(self, seconds: float) -> None:
        """The sleep of a coroutine."""
        span_ms = to_ms(check_seconds("asleep(seconds)", seconds))
        await asleep_ms(self._token, self._request.clock, span_ms, self.acheckpoint)

    def run_subprocess(
        self,
        args: str | Sequence[str | Path],
        *,
        check: bool = True,
        timeout: float | None = None,
        terminate_grace: float = 2.0,
        **popen: Any,
    ) -> subprocess.CompletedProcess[Any]:
        """`subprocess.run` whose child and all of its group die with a stop; then TaskCancelled.

        It reads an empty stdin unless `input` or `stdin` is given. The group gets SIGTERM, and SIGKILL
        `terminate_grace` seconds later. A pause takes effect when the child has ended. CalledProcessError (a
        failure of kind `nonzero_exit`) after an exit code other than 0 with `check`; TimeoutExpired after
        `timeout` seconds of the task's clock.
        """
        from chongming_task.runtime.subprocesses import run_subprocess

        self.checkpoint()
        try:
            return run_subprocess(self._token, self._request.clock, args, check, timeout, terminate_grace, popen)
        finally:
            self.checkpoint()

    # ------------------------------------------------------------ reporting

    def progress(
        self,
        done: float | None = None,
        *,
        total: float | None = None,
        unit: str | None = None,
        message: str | None = None,
    ) -> None:
        """Say how far it is. No sign of life (P-086). Without `done` it keeps what was not given from the last call."""
        last = self._progress
        if done is None:
            done, total, unit = last.done, last.total if total is None else total, last.unit if unit is None else unit
        _check_number("done", done)
        if total is not None:
            _check_number("total", total)
        if unit is not None:
            unit = storable(str(unit))
        if message is not None:
            message = storable(str(message))
        self._progress = Progress(done, total, unit, message, self._request.clock.now())
        self._sink.progress(self._progress)

    def log(self, message: object, *, level: int | str = logging.INFO) -> None:
        """Log one line; `level` is a number or name of the standard library."""
        self._log(_level(level), message)

    def warning(self, message: object) -> None:
        """Log one line at level WARNING."""
        self._log(logging.WARNING, message)

    def error(self, message: object) -> None:
        """Log one line at level ERROR."""
        self._log(logging.ERROR, message)

    @property
    def logs(self) -> tuple[LogLine, ...]:
        """The newest 200 lines of this attempt, oldest first."""
        return tuple(self._lines.copy())

    def _log(self, level: int, message: object) -> None:
        line = LogLine(self._request.clock.now(), level, storable(str(message)))
        self._lines.append(line)
        self._sink.line(line)
        name = f"{PARENT_LOGGER.name}.{self.task_id}"
        own = logging.root.manager.loggerDict.get(name)
        logger = own if isinstance(own, logging.Logger) else PARENT_LOGGER
        if logger.isEnabledFor(level):
            path, number, function, stack = logger.findCaller(stacklevel=3)
            extra = {"task_id": self.task_id, "task_name": self.name, "attempt": self.attempt}
            record = logger.makeRecord(name, level, path, number, line.text, (), None, function, extra, stack)
            logger.handle(record)

    # ------------------------------------------------------------ what it was given

    @property
    def upstream(self) -> Mapping[str, Any]:
        """The results of upstream nodes that succeeded, by node id."""
        return MappingProxyType(dict(self._request.upstream))

    def input(self, node_id: str, default: Any = None) -> Any:
        """The result of one upstream node, also where that is None or empty; `default` if it has none (P-118)."""
        return self._request.upstream.get(node_id, default)

    @property
    def artifact_dir(self) -> Path:
        """A directory of this attempt alone, created at the first look (P-103).

        ConfigurationError if the task was given none.
        """
        if self._directory is None:
            base = self._request.artifact_dir
            if base is None:
                raise ConfigurationError("ctx.artifact_dir needs a place: pass artifact_dir= where the task is started")
            epoch = f"-epoch-{self._request.epoch}" if self._request.epoch > 1 else ""
            directory = Path(base) / f"attempt-{self.attempt}{epoch}"
            directory.mkdir(parents=True, exist_ok=True)
            self._directory = directory
        return self._directory


RuntimeContext = TaskContext


def _check_number(argument: str, value: object) -> None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or (isinstance(value, float) and not math.isfinite(value)):
        raise ConfigurationError(f"progress({argument}=) must be a finite number, not {value!r}")


def _level(level: int | str) -> int:
    number = logging.getLevelNamesMapping().get(level) if isinstance(level, str) else level
    if isinstance(number, bool) or not isinstance(number, int):
        raise ConfigurationError(
            f"log(level=) must be a level number or name of logging, such as 'INFO', not {level!r}"
        )
    return number
