"""The tables of the memory store: plain dicts, and what keeps their indexes in step. No judgement is made here.

A method of the store asks the spec first and calls these functions last, so that nothing has to be rolled back.
Whatever a caller could still change (JSON values) is copied on its way in and on its way out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import attrs

from chongming_spec.errors import ConfigurationError
from chongming_spec.snapshot import AttemptRecord, TaskSnapshot, Transition
from chongming_spec.states import TaskStatus
from chongming_spec.stores import LOG_LINES_KEPT, Command, CommandState, OwnerRecord, RunRecord, Tombstone
from chongming_task.stores._codec import dumps, loads

Line = tuple[datetime, int, str]


def copied(argument: str, value: Any) -> Any:
    """A JSON value nobody else holds; ConfigurationError for one that a store cannot keep."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    try:
        return loads(dumps(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"{argument} must be a JSON value: {error}") from None


def own_task(row: TaskSnapshot) -> TaskSnapshot:
    """The row with an outcome of its own."""
    return row if row.outcome is None else attrs.evolve(row, outcome=copied("outcome", row.outcome))


def own_command(command: Command) -> Command:
    """The command with parameters and an answer of its own."""
    return attrs.evolve(command, ask=copied("ask", dict(command.ask)), answer=copied("answer", command.answer))


def own_run(run: RunRecord) -> RunRecord:
    """The run with a structure of its own."""
    return attrs.evolve(run, structure=copied("structure", run.structure))


class Tables:
    """Everything one memory store holds."""

    def __init__(self) -> None:
        self.epoch = 0
        self.rows: dict[str, TaskSnapshot] = {}
        self.by_status: dict[TaskStatus, dict[str, None]] = {}
        self.records: dict[str, list[Transition]] = {}
        self.feed: list[Transition | None] = []
        self.places: dict[str, list[int]] = {}
        self.effects: set[str] = set()
        self.attempts: dict[str, dict[tuple[int, int], AttemptRecord]] = {}
        self.arguments: dict[str, str] = {}
        self.submissions: dict[str, str] = {}
        self.submission_of: dict[str, str] = {}
        self.commands: dict[str, Command] = {}
        self.commands_of: dict[str, list[str]] = {}
        self.unfinished: dict[str, dict[str, None]] = {}
        self.owners: dict[str, OwnerRecord] = {}
        self.runs: dict[str, RunRecord] = {}
        self.tombstones: dict[str, Tombstone] = {}
        self.lines: dict[str, deque[Line]] = {}

    # Tasks

    def newest(self, task_id: str) -> Transition | None:
        """The last record of a task."""
        records = self.records.get(task_id)
        return records[-1] if records else None

    def record(self, task_id: str, version: int) -> Transition | None:
        """The record of one version; versions have no gaps and begin at 1."""
        records = self.records.get(task_id, ())
        return records[version - 1] if 1 <= version <= len(records) else None

    def put_row(self, row: TaskSnapshot) -> None:
        """Put a row down, or the next version of it."""
        before = self.rows.get(row.task_id)
        if before is None or before.status is not row.status:
            if before is not None:
                del self.by_status[before.status][row.task_id]
            self.by_status.setdefault(row.status, {})[row.task_id] = None
        self.rows[row.task_id] = row

    def put_record(self, record: Transition) -> None:
        """Add one record to its task's history and to the feed."""
        self.records.setdefault(record.task_id, []).append(record)
        self.places.setdefault(record.task_id, []).append(len(self.feed))
        self.feed.append(record)
        if record.command_id is not None:
            self.effects.add(record.command_id)

    def put_submission(self, task_id: str, submission_id: str | None, arguments: Mapping[str, Any] | None) -> None:
        """Keep what was submitted, beside the row."""
        if submission_id is not None:
            self.submissions[submission_id] = task_id
            self.submission_of[task_id] = submission_id
        if arguments is not None:
            self.arguments[task_id] = dumps(arguments)

    def lease_of(self, owner: str | None) -> datetime | None:
        """Until when the lease of an owner holds; None for one that never had any."""
        known = self.owners.get(owner) if owner is not None else None
        return None if known is None else known.lease_until

    def remove(self, task_id: str) -> None:
        """Take a whole task out, with its commands and lines."""
        row = self.rows.pop(task_id)
        del self.by_status[row.status][task_id]
        for record in self.records.pop(task_id):
            if record.command_id is not None:
                self.effects.discard(record.command_id)
        for place in self.places.pop(task_id):
            self.feed[place] = None
        for command_id in self.commands_of.pop(task_id, ()):
            command = self.commands.pop(command_id)
            self.unfinished.get(command.owner, {}).pop(command_id, None)
        submission = self.submission_of.pop(task_id, None)
        if submission is not None:
            del self.submissions[submission]
        for table in (self.attempts, self.arguments, self.lines):
            table.pop(task_id, None)

    def add_lines(self, task_id: str, lines: Iterator[Line]) -> None:
        """Add lines; the oldest fall out."""
        self.lines.setdefault(task_id, deque(maxlen=LOG_LINES_KEPT)).extend(lines)

    # Commands

    def put_command(self, command: Command) -> None:
        """Put a command down, or its next state."""
        if command.command_id not in self.commands:
            self.commands_of.setdefault(command.task_id, []).append(command.command_id)
        self.commands[command.command_id] = command
        waiting = self.unfinished.setdefault(command.owner, {})
        if command.state is CommandState.DONE:
            waiting.pop(command.command_id, None)
        else:
            waiting[command.command_id] = None

    def next_seq(self, task_id: str) -> int:
        """The place of a task's next command."""
        ids = self.commands_of.get(task_id)
        return self.commands[ids[-1]].seq + 1 if ids else 1

    def waiting_for(self, owner: str) -> list[Command]:
        """The unfinished commands of one owner, oldest first."""
        found = [self.commands[one] for one in self.unfinished.get(owner, ())]
        return sorted(found, key=lambda one: (one.created_at, one.command_id))

    def all_waiting(self) -> list[Command]:
        """The unfinished commands of all owners, oldest first."""
        found = [self.commands[one] for waiting in self.unfinished.values() for one in waiting]
        return sorted(found, key=lambda one: (one.created_at, one.command_id))

    def commands_on(self, task_id: str) -> list[Command]:
        """All commands of one task, in order."""
        return [self.commands[one] for one in self.commands_of.get(task_id, ())]
