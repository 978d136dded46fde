"""What the core needs from the world, as protocols.

`runtime` and `stores` implement these without knowing each other; `run` and the faces above join them (D43). A
carrier is one attempt's thread, process or call; its sink is how it answers. Neither ever decides anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import Context
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import attrs

from chongming_spec.facts import EndingKind
from chongming_spec.snapshot import Failure, Progress
from chongming_task.clock import Clock


class Signal(StrEnum):
    """What a carrier can be told (D43)."""

    STOP = "stop"
    PAUSE = "pause"
    RESUME = "resume"


class LogLine(NamedTuple):
    """One line of `ctx.log`: when (aware UTC), its std logging level number, and the text."""

    at: datetime
    level: int
    text: str


@attrs.frozen
class Ending:
    """How a carrier ended. `value` is canonical JSON (D19); `retries` is the policy's answer about what was raised.

    `exception` is kept only while it is in this process, for `outcome.result()`; `fatal` is an exception that an inline
    carrier raises again to its caller (D20).
    """

    kind: EndingKind
    value: Any = None
    failure: Failure | None = None
    retries: bool = False
    exception: BaseException | None = None
    fatal: BaseException | None = None


class Retries(Protocol):
    """The part of a retry policy a carrier asks where the exception object is."""

    def retries(self, error: BaseException) -> bool: ...


@attrs.frozen
class ExecutionRequest:
    """One attempt to be carried out. `deadline` computes the wall time of the attempt's end, or None (D15)."""

    task_id: str
    name: str
    attempt: int
    max_attempts: int
    target: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    clock: Clock
    retry: Retries
    epoch: int = 1
    pipeline_run_id: str | None = None
    upstream: Mapping[str, Any] = attrs.field(factory=dict)
    artifact_dir: Path | None = None
    max_outcome_bytes: int = 1024 * 1024
    deadline: Callable[[], datetime | None] = lambda: None
    context: Context | None = None


class Sink(Protocol):
    """What a carrier answers. Calls come from the carrier's own thread, never block, and never raise.

    Order per attempt: `started`, then any number of the middle ones, then `exited` exactly once, last.
    """

    def started(self) -> None: ...

    def parked(self) -> None: ...

    def unparked(self) -> None: ...

    def progress(self, progress: Progress) -> None: ...

    def line(self, line: LogLine) -> None: ...

    def exited(self, ending: Ending) -> None: ...


class Carrier(Protocol):
    """One attempt under way. `running` is never False while its thread, process or call lives.

    `beats` is (checkpoints so far, monotonic ms of the last exact beat or None): a checkpoint only counts, the
    supervisor samples the count (D16).
    """

    @property
    def running(self) -> bool: ...

    @property
    def pid(self) -> int | None: ...

    @property
    def beats(self) -> tuple[int, int | None]: ...

    def signal(self, signal: Signal, reason: str = "") -> None: ...

    def kill(self) -> bool:
        """End it by force. True if it is gone; False where that is impossible."""
        ...

    def abandon(self) -> None:
        """Nobody waits for it any more: what carries it is not used again (D17)."""
        ...


class Executor(Protocol):
    """Makes carriers. `name` is a row of the spec's executor table."""

    @property
    def name(self) -> str: ...

    def check(self, request: ExecutionRequest) -> None:
        """Raise ConfigurationError if this executor cannot carry the request out."""
        ...

    def launch(self, request: ExecutionRequest, sink: Sink) -> Carrier:
        """Start carrying it out and return at once (inline: prepare it; `InlineCarrier.run` does the work)."""
        ...
