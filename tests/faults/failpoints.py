"""A connection that fails when told: at its Nth call, before or after the call took effect, once or from then on.

Calls are counted over all connections of a plan: execute, executemany, commit and rollback.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

import attrs
import pytest

ERRORS: dict[str, Callable[[], sqlite3.Error]] = {
    "BUSY": lambda: sqlite3.OperationalError("database is locked"),
    "FULL": lambda: sqlite3.OperationalError("database or disk is full"),
    "IOERR": lambda: sqlite3.OperationalError("disk I/O error"),
    "READONLY": lambda: sqlite3.OperationalError("attempt to write a readonly database"),
    "CORRUPT": lambda: sqlite3.DatabaseError("database disk image is malformed"),
    "NOTADB": lambda: sqlite3.DatabaseError("file is not a database"),
}


@attrs.define
class Plan:
    """Which call fails and how; `calls` counts. Without `at` none does."""

    at: int | None = None
    before: bool = True
    persistent: bool = False
    error: str = "IOERR"
    calls: int = 0
    failed: int = 0

    def run(self, call: Callable[..., Any], *given: Any) -> Any:
        """The call, or the planned error before or after it."""
        self.calls += 1
        hit = self.at is not None and (self.calls >= self.at if self.persistent else self.calls == self.at)
        if not hit:
            return call(*given)
        self.failed += 1
        if not self.before:
            call(*given)
        raise ERRORS[self.error]()

    def heal(self) -> None:
        """Nothing fails any more."""
        self.at = None


def install(patch: pytest.MonkeyPatch, plan: Plan) -> None:
    """Connections opened from here on follow the plan."""

    class Cursor(sqlite3.Cursor):
        def execute(self, *given: Any) -> Any:
            return plan.run(super().execute, *given)

        def executemany(self, *given: Any) -> Any:
            return plan.run(super().executemany, *given)

    class Connection(sqlite3.Connection):
        def cursor(self, factory: Any = Cursor) -> Any:
            return super().cursor(factory)

        def execute(self, *given: Any) -> Any:
            return plan.run(super().execute, *given)

        def executemany(self, *given: Any) -> Any:
            return plan.run(super().executemany, *given)

        def commit(self) -> None:
            plan.run(super().commit)

        def rollback(self) -> None:
            plan.run(super().rollback)

    real = sqlite3.connect
    patch.setattr(sqlite3, "connect", lambda *given, **named: real(*given, **{"factory": Connection, **named}))
