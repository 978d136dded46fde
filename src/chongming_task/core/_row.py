"""A machine's mutable row, blank for a new task, and the view of it that the guards read.

The row is a plain dict with the columns of `TaskSnapshot` and the watched ones, whose names differ. `RowFacts` is an
object whose attributes are that very dict: what `Facts` calls by the name of its column costs one look, the rest is
condensed here, and asking one guard does not cost a projection of everything.
"""

from __future__ import annotations

from typing import Any

import attrs

from chongming_spec.facts import CarrierState, Facts, Requested
from chongming_spec.snapshot import TaskSnapshot
from chongming_spec.states import TaskStatus
from chongming_spec.step import Watch

Row = dict[str, Any]

WATCHABLE = frozenset(Watch._fields)
BLANK_ROW: Row = {
    **{field.name: None if field.default is attrs.NOTHING else field.default for field in attrs.fields(TaskSnapshot)},
    **Watch()._asdict(),
    "status": TaskStatus.PENDING,
    "status_version": 1,
}


class RowFacts:
    """The facts of a row, read one by one; they change with it."""

    requested_action: Requested
    paused_in_place: bool
    started_at: object
    carrier_state: CarrierState

    def __init__(self, row: Row) -> None:
        self.__dict__ = row

    @property
    def requested(self) -> Requested:
        return self.requested_action

    @property
    def in_place(self) -> bool:
        return self.paused_in_place

    @property
    def started(self) -> bool:
        return self.started_at is not None

    @property
    def stray(self) -> bool:
        return self.carrier_state is not CarrierState.NONE


def frozen(facts: Facts) -> Facts:
    """All of it at once, as it is now."""
    return Facts(*[getattr(facts, name) for name in Facts._fields])
