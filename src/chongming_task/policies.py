"""When to try again and how long to wait for what: values a person writes beside a task.

Everything is checked when it is written, not when it is needed. Spans are given in seconds; inside they are
whole milliseconds, and the growth of a wait is the spec's arithmetic. A policy decides nothing about states: it
answers whether an error is worth another attempt and how long to wait before it.

`TaskCancelled` is never worth another attempt, whatever `retry_on` says: trying again what a person has stopped
would ignore them (D20). A timeout is asked about like any error (`TaskTimeout`, D14).
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Protocol, TypeAlias, runtime_checkable

import attrs

from chongming_spec.backoff import ONE, backoff_ms
from chongming_spec.errors import ConfigurationError, TaskCancelled

LONGEST_SECONDS = 100 * 366 * 86400
"""A century: whatever is longer is a slip, and could not be added to a date."""

MAX_FACTOR = 1000

ErrorTypes: TypeAlias = tuple[type[BaseException], ...]


def check_seconds(argument: str, value: object) -> float:
    """Return `value` if it is a span in seconds; else ConfigurationError naming `argument` and the fix."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ConfigurationError(f"{argument} must be a number of seconds, not {type(value).__name__}")
    if not 0 <= value <= LONGEST_SECONDS:
        raise ConfigurationError(
            f"{argument} must be a finite number of seconds from 0 to {LONGEST_SECONDS} (a century), not {value!r}"
        )
    return value


def to_ms(seconds: float) -> int:
    """Whole milliseconds, rounded up so that a wait never ends early."""
    return math.ceil(round(seconds * 1000, 3))


def _named(policy: object, field: attrs.Attribute[Any]) -> str:
    return f"{type(policy).__name__}({field.name}=)"


def _seconds(policy: object, field: attrs.Attribute[Any], value: object) -> None:
    check_seconds(_named(policy, field), value)


def _optional_seconds(policy: object, field: attrs.Attribute[Any], value: object) -> None:
    if value is not None:
        check_seconds(_named(policy, field), value)


class Jitter(StrEnum):
    """How a wait is spread, so that tasks which failed together do not come back together (P-089).

    `none` keeps it, `full` draws evenly from [0, wait), `equal` keeps one half and draws the other.
    """

    NONE = "none"
    FULL = "full"
    EQUAL = "equal"

    def spread(self, delay_ms: int, rng: random.Random) -> int:
        """One draw; never more than `delay_ms`."""
        kept = {Jitter.NONE: delay_ms, Jitter.FULL: 0, Jitter.EQUAL: delay_ms // 2}[self]
        drawn = delay_ms - kept
        return kept + (rng.randrange(drawn) if drawn > 0 else 0)


@runtime_checkable
class Backoff(Protocol):
    """How long to wait after an attempt (counted from 1) has failed."""

    def delay_ms(self, attempt: int, rng: random.Random) -> int:
        """Whole milliseconds from 0 on."""
        ...


@attrs.frozen
class FixedBackoff:
    """The same wait before each attempt, `delay` seconds, without jitter."""

    delay: float = attrs.field(validator=_seconds)

    def delay_ms(self, attempt: int, rng: random.Random) -> int:
        """`delay`, whatever the attempt."""
        return to_ms(self.delay)


def _factor(policy: object, field: attrs.Attribute[Any], value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 1 <= value <= MAX_FACTOR:
        raise ConfigurationError(f"{_named(policy, field)} must be a number from 1 to {MAX_FACTOR}, not {value!r}")


def _jitter(policy: object, field: attrs.Attribute[Any], value: object) -> None:
    if not isinstance(value, Jitter):
        names = ", ".join(f"Jitter.{kind.name}" for kind in Jitter)
        raise ConfigurationError(f"{_named(policy, field)} must be one of {names}, not {value!r}")


@attrs.frozen
class ExponentialBackoff:
    """`base` seconds, then `factor` times as long after each attempt, at most `max_delay`, spread by `jitter`."""

    base: float = attrs.field(default=1, validator=_seconds)
    factor: float = attrs.field(default=2, validator=_factor)
    max_delay: float = attrs.field(default=300, validator=_seconds)
    jitter: Jitter = attrs.field(default=Jitter.FULL, validator=_jitter)

    def delay_ms(self, attempt: int, rng: random.Random) -> int:
        """The wait after `attempt` has failed; 0 <= result <= `max_delay`."""
        longest = backoff_ms(attempt, to_ms(self.base), round(self.factor * ONE), to_ms(self.max_delay))
        return self.jitter.spread(longest, rng)


def _attempts(policy: object, field: attrs.Attribute[Any], value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigurationError(
            f"{_named(policy, field)} must be a whole number of at least 1 (1: no retry), not {value!r}"
        )


def _backoff(policy: object, field: attrs.Attribute[Any], value: object) -> None:
    if isinstance(value, type) or not isinstance(value, Backoff):
        raise ConfigurationError(
            f"{_named(policy, field)} must be a FixedBackoff, an ExponentialBackoff or have delay_ms(), not {value!r}"
        )


def _as_tuple(value: type[BaseException] | Sequence[type[BaseException]]) -> ErrorTypes:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)  # type: ignore[return-value]


def _error_types(policy: object, field: attrs.Attribute[Any], value: tuple[object, ...]) -> None:
    for one in value:
        if not (isinstance(one, type) and issubclass(one, BaseException)):
            raise ConfigurationError(
                f"{_named(policy, field)} must hold exception classes, such as {field.name}=(OSError,), not {one!r}"
            )


@attrs.frozen
class RetryPolicy:
    """How often to try (`max_attempts` counts the first), how long to wait between, and after which errors.

    `give_up_on` is asked first. Other BaseExceptions than Exception match only where `retry_on` names them (D20).
    """

    max_attempts: int = attrs.field(default=1, validator=_attempts)
    backoff: Backoff = attrs.field(factory=ExponentialBackoff, validator=_backoff)
    retry_on: ErrorTypes = attrs.field(default=(Exception,), converter=_as_tuple, validator=_error_types)
    give_up_on: ErrorTypes = attrs.field(default=(), converter=_as_tuple, validator=_error_types)

    def retries(self, error: BaseException) -> bool:
        """Whether `error` is worth another attempt, the budget aside."""
        if isinstance(error, (TaskCancelled, *self.give_up_on)):
            return False
        return isinstance(error, self.retry_on)

    def delay_ms(self, attempt: int, rng: random.Random) -> int:
        """The wait after `attempt` (counted from 1) has failed, in milliseconds."""
        return self.backoff.delay_ms(attempt, rng)


@attrs.frozen
class Timeout:
    """Three limits in seconds, each on its own; None: no limit.

    What each measures is the spec's table of timeouts (D15).
    """

    start: float | None = attrs.field(default=None, validator=_optional_seconds)
    per_attempt: float | None = attrs.field(default=None, validator=_optional_seconds)
    idle: float | None = attrs.field(default=None, validator=_optional_seconds)

    def limit_ms(self, parameter: str) -> int | None:
        """The limit named `start`, `per_attempt` or `idle` in milliseconds."""
        seconds: float | None = getattr(self, parameter)
        return None if seconds is None else to_ms(seconds)
