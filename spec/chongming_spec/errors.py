"""The errors a user can meet, one class per answer to "what should I do now?".

Every class carries its facts as attributes, not only in the message, and survives pickling with them (D40 keeps
exceptions inside one process, but users send them across on their own). `TaskCancelled` is the one `BaseException`:
it may surface on any line of a body, where `except Exception` must not swallow it (D20).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class TaskError(Exception):
    """Root of everything this library raises at a caller."""

    def __init__(self, message: str = "", **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        self.__dict__.update(facts)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.message), dict(self.__dict__))


def _rebuild(kind: type[TaskError], message: str) -> TaskError:
    error = kind.__new__(kind)
    Exception.__init__(error, message)
    return error


class InvalidTransition(TaskError):
    """A verb was refused and nothing changed.

    `current` and `requested` are status or verb names, `allowed` the states reachable now, `guard` the name of the
    guard that said no (None: the table has no such row), `sentence` what that guard means.
    """

    def __init__(
        self,
        message: str = "",
        *,
        current: str = "",
        requested: str = "",
        allowed: Iterable[str] = (),
        guard: str | None = None,
        sentence: str = "",
        trigger: str = "",
        task_id: str = "",
    ) -> None:
        super().__init__(message)
        self.current = current
        self.requested = requested
        self.allowed = tuple(allowed)
        self.guard = guard
        self.sentence = sentence
        self.trigger = trigger
        self.task_id = task_id


class CarrierStillRunning(InvalidTransition):
    """An abandoned or orphaned carrier of this task may still be at work (D10)."""


class AttemptsExhausted(InvalidTransition):
    """No attempt is left in the budget; `retry(force=True)` raises it by one (D5)."""


class DependencyFailed(TaskError):
    """An upstream task did not succeed; `upstream` maps its id to its failure."""


class CircularDependency(TaskError):
    """The graph has a cycle; `path` names it."""


class TaskTimeout(TaskError):
    """A deadline passed; `scope` is `start`, `attempt` or `idle`."""

    def __init__(self, message: str = "", *, scope: str = "", **facts: Any) -> None:
        super().__init__(message, **facts)
        self.scope = scope


class TaskExecutionError(TaskError):
    """The body failed; `failure` has the details and `__cause__` the exception while it is in this process."""

    def __init__(self, message: str = "", *, failure: Any = None, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.failure = failure


class ConcurrencyConflict(TaskError):
    """Somebody else wrote first; `expected` and `actual` are versions."""


class Fenced(ConcurrencyConflict):
    """This owner no longer holds the task's epoch and may write nothing more for it (D24)."""


class StoreError(TaskError):
    """The store could not do what was asked."""


class StoreCorruption(StoreError):
    """The store holds something that the rules cannot produce."""


class ConfigurationError(TaskError):
    """An argument is unusable; the message names it and the way out. Nothing was started or stored."""


class TaskExists(ConfigurationError):
    """The id is taken; `status` is what that task is now."""


class UnknownTask(TaskError, LookupError):
    """Nobody knows this id."""


class TaskCancelled(BaseException):
    """Raised inside a body at a checkpoint when it was asked to end; let it pass."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


class InternalError(TaskError):
    """A check that must never fail did; please report it with the trajectory it names."""


ERRORS: tuple[type[BaseException], ...] = (
    TaskError,
    InvalidTransition,
    CarrierStillRunning,
    AttemptsExhausted,
    DependencyFailed,
    CircularDependency,
    TaskTimeout,
    TaskExecutionError,
    ConcurrencyConflict,
    Fenced,
    StoreError,
    StoreCorruption,
    ConfigurationError,
    TaskExists,
    UnknownTask,
    InternalError,
    TaskCancelled,
)
