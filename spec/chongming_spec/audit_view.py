"""What an audit reads: the rows of a store, or of a history alone, and indexes over them.

Everything here is decoded; what could not be decoded is listed as `Damage`. A table that is None was not there to be
audited, and what needs it is left out. A task with damage in a table is judged by what else is known of it, never by
the gap that the damage leaves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

import attrs

from chongming_spec.snapshot import AttemptRecord, TaskSnapshot, Transition
from chongming_spec.stores import Command, FeedRecord, OwnerRecord, Tombstone

FILE = "file"


class Damage(NamedTuple):
    """What could not be read: of which table, of which task (empty: nobody knows), and why. `FILE` is the whole."""

    table: str
    task_id: str
    problem: str


class Flaw(NamedTuple):
    """One place where an invariant does not hold; `version` where it is a record."""

    task_id: str
    version: int | None
    message: str


@attrs.frozen
class AuditRows:
    """The rows of one consistent view. `epoch` is the store-wide sequence, `now` the time of reading (aware UTC)."""

    records: Sequence[FeedRecord] = ()
    tasks: Sequence[TaskSnapshot] | None = None
    attempts: Sequence[AttemptRecord] | None = None
    commands: Sequence[Command] | None = None
    owners: Sequence[OwnerRecord] | None = None
    tombstones: Sequence[Tombstone] | None = None
    counters: Mapping[str, int] | None = None
    epoch: int | None = None
    num_buckets: int | None = None
    now: datetime | None = None
    damage: Sequence[Damage] = ()


class History(NamedTuple):
    """One task as far as it is known: its records by version, and its row."""

    task_id: str
    records: Sequence[FeedRecord]
    row: TaskSnapshot | None

    @property
    def last(self) -> Transition:
        """The newest record."""
        return self.records[-1].transition

    def pairs(self) -> Iterator[tuple[Transition | None, Transition]]:
        """Each record with the one before it in the history (None before the first)."""
        previous = None
        for _, record in self.records:
            yield previous, record
            previous = record


class View:
    """Rows by task."""

    def __init__(self, rows: AuditRows) -> None:
        self.rows = rows
        self._damaged = {(one.table, one.task_id) for one in rows.damage}

    def has(self, table: str) -> bool:
        """Whether a table is there to be audited, and not one of its rows is missing for an unknown task."""
        return getattr(self.rows, table) is not None and (table, "") not in self._damaged

    def whole(self, task_id: str, *tables: str) -> bool:
        """Whether all rows of a task in these tables could be read."""
        return not any((table, task_id) in self._damaged for table in tables)

    @cached_property
    def row_of(self) -> dict[str, TaskSnapshot]:
        """Rows by id."""
        return {row.task_id: row for row in self.rows.tasks or ()}

    @cached_property
    def histories(self) -> list[History]:
        """The tasks whose records could all be read, in the order of their first record."""
        found: dict[str, list[FeedRecord]] = defaultdict(list)
        for one in self.rows.records:
            found[one.transition.task_id].append(one)
        for records in found.values():
            records.sort(key=lambda one: (one.transition.version, one.seq))
        return [
            History(task_id, records, self.row_of.get(task_id))
            for task_id, records in found.items()
            if self.whole(task_id, "records")
        ]

    @cached_property
    def history_of(self) -> dict[str, History]:
        """The same by id."""
        return {history.task_id: history for history in self.histories}

    @cached_property
    def attempts_of(self) -> dict[str, list[AttemptRecord]]:
        """Attempts by task."""
        found: dict[str, list[AttemptRecord]] = defaultdict(list)
        for one in self.rows.attempts or ():
            found[one.task_id].append(one)
        return found

    @cached_property
    def command_of(self) -> dict[str, Command]:
        """Commands by id."""
        return {one.command_id: one for one in self.rows.commands or ()}


Check = Callable[[View], Iterator[Flaw]]


def each_row(problem: Callable[[TaskSnapshot], str | None]) -> Check:
    """A check of every row by itself."""

    def check(view: View) -> Iterator[Flaw]:
        for row in view.rows.tasks or ():
            message = problem(row)
            if message is not None:
                yield Flaw(row.task_id, row.status_version, message)

    return check


def each_history(first_flaw: Callable[[View, History], Flaw | None]) -> Check:
    """A check of every history; of each the first flaw."""

    def check(view: View) -> Iterator[Flaw]:
        for history in view.histories:
            flaw = first_flaw(view, history)
            if flaw is not None:
                yield flaw

    return check
