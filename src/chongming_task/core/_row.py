"""A machine's mutable row, and the view of it that the guards read.

The row is a plain dict with the columns of `TaskSnapshot`, the watched columns stand beside it. `RowFacts` answers
for both under the names of `Facts`, so that asking one guard does not cost a projection of everything.
"""

from __future__ import annotations

from typing import Any

import attrs

from chongming_spec.facts import CarrierState, CarrierView, Deadline, Facts, Requested
from chongming_spec.snapshot import TaskSnapshot
from chongming_spec.states import TaskStatus
from chongming_spec.step import Watch

Row = dict[str, Any]

BLANK_ROW: Row = {
    field.name: None if field.default is attrs.NOTHING else field.default for field in attrs.fields(TaskSnapshot)
}
BLANK_WATCH: Row = Watch()._asdict()


class RowFacts:
    """The facts of a row, read one by one."""

    __slots__ = ("_row", "_watch")

    def __init__(self, row: Row, watch: Row) -> None:
        self._row = row
        self._watch = watch

    def __getattr__(self, name: str) -> Any:
        return self._watch[name]

    @property
    def status(self) -> TaskStatus:
        status: TaskStatus = self._row["status"]
        return status

    @property
    def requested(self) -> Requested:
        requested: Requested = self._row["requested_action"]
        return requested

    @property
    def in_place(self) -> bool:
        in_place: bool = self._row["paused_in_place"]
        return in_place

    @property
    def started(self) -> bool:
        return self._row["started_at"] is not None

    @property
    def attempt(self) -> int:
        attempt: int = self._row["attempt"]
        return attempt

    @property
    def max_attempts(self) -> int:
        max_attempts: int = self._row["max_attempts"]
        return max_attempts

    @property
    def stray(self) -> bool:
        return self._row["carrier_state"] is not CarrierState.NONE

    @property
    def carrier(self) -> CarrierView:
        carrier: CarrierView = self._watch["carrier"]
        return carrier

    @property
    def verdict(self) -> Deadline:
        verdict: Deadline = self._watch["verdict"]
        return verdict


def frozen(facts: Facts) -> Facts:
    """All of it at once, as it is now."""
    return Facts(*[getattr(facts, name) for name in Facts._fields])
