"""What a conformance run found, and the clock it hands to its target."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import attrs

START = datetime(2026, 1, 1, tzinfo=UTC)


class ManualClock:
    """A clock that stands still until it is moved."""

    def __init__(self, start: datetime = START) -> None:
        self._start = start
        self._now = start

    def now(self) -> datetime:
        """The wall time, aware UTC."""
        return self._now

    def mono_ms(self) -> int:
        """Milliseconds it was moved so far."""
        return round((self._now - self._start).total_seconds() * 1000)

    def advance(self, seconds: float) -> None:
        """Move forward."""
        self._now += timedelta(seconds=seconds)


Target = Callable[[ManualClock], Any]


@attrs.define
class Report:
    """One run: what was driven, how far, and what came of it. `failure` is None when every call agreed."""

    target: str
    seed: int
    examples: int
    run: int = 0
    calls: dict[str, int] = attrs.field(factory=dict)
    refusals: dict[str, int] = attrs.field(factory=dict)
    skipped: tuple[str, ...] = ()
    failure: str | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return self.failure is None

    def count(self, method: str, error: str | None) -> None:
        """Note one call and its refusal, if it was one."""
        self.calls[method] = self.calls.get(method, 0) + 1
        if error is not None:
            self.refusals[error] = self.refusals.get(error, 0) + 1

    def as_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {**attrs.asdict(self), "skipped": list(self.skipped), "ok": self.ok}
