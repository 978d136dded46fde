"""Tasks in one SQLite file; several processes of one machine may share it (D29).

The database itself refuses what the rules do not allow: its triggers are generated from the tables of the spec.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from chongming_spec import store_rules
from chongming_spec.errors import ConfigurationError, StoreCorruption, StoreError, TaskError
from chongming_spec.snapshot import AttemptRecord, Progress, TaskSnapshot, Transition
from chongming_spec.states import TaskStatus
from chongming_spec.stores import (
    Command,
    Completion,
    FeedRecord,
    LeaseView,
    OwnerRecord,
    QueryResult,
    RunRecord,
    SaveRequest,
    TaskQuery,
    Tombstone,
    WriteRequest,
)
from chongming_task.clock import Clock, system_clock
from chongming_task.stores import _sqlite_commands as commands
from chongming_task.stores import _sqlite_tasks as tasks
from chongming_task.stores._codec import dumps, loads, time_of, time_text
from chongming_task.stores._sqlite_file import SqliteFile, told


class SqliteTaskStore:
    """Tasks in the file `path`, or in memory (`":memory:"`).

    `synchronous="normal"` trades the last commits at a power cut for speed. `read_only` never creates, alters or
    migrates. `clock` judges leases. `num_buckets` is written down by the first that tells it; another number is
    refused (D29). Raises StoreError for a file that cannot be used, and then has created or altered nothing.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        synchronous: str = "full",
        read_only: bool = False,
        clock: Clock | None = None,
        num_buckets: int | None = None,
    ) -> None:
        self._file = SqliteFile(os.fspath(path), synchronous=synchronous, read_only=read_only)
        self._clock = clock if clock is not None else system_clock()
        if num_buckets is not None:
            self._tell_num_buckets(num_buckets)

    def _tell_num_buckets(self, told: int) -> None:
        if type(told) is not int or told < 1:
            self.close()
            raise ConfigurationError(f"num_buckets must be an int of at least 1, not {told!r}")
        stands = self._file.claim_num_buckets(told)
        if stands != told:
            self.close()
            raise StoreError(
                f"{self.path} was begun with {stands} buckets and {told} were told: every key would move; "
                f"leave num_buckets out, or say {stands}"
            )

    @property
    def path(self) -> str:
        """Where the file is."""
        return self._file.path

    def __repr__(self) -> str:
        return f"<SqliteTaskStore {self.path}>"

    # Rows and history

    def create(
        self,
        snapshot: TaskSnapshot,
        *,
        transitions: Sequence[Transition],
        submission_id: str | None = None,
        arguments: Mapping[str, Any] | None = None,
    ) -> TaskSnapshot:
        """Put a new task and its first records down; returns it with its epoch."""
        with self._file.write() as cursor:
            return tasks.create(cursor, snapshot, transitions, submission_id, arguments)

    def save(
        self,
        snapshot: TaskSnapshot,
        *,
        expect_version: int,
        transitions: Sequence[Transition],
        attempts: Sequence[AttemptRecord] = (),
        complete: Completion | None = None,
    ) -> TaskSnapshot:
        """Follow `expect_version` by `snapshot` and its records, in one transaction."""
        request = SaveRequest(snapshot, expect_version, tuple(transitions), tuple(attempts), complete)
        with self._file.write() as cursor:
            return self._save(cursor, request)

    def save_many(self, requests: Sequence[WriteRequest]) -> list[TaskSnapshot | TaskError]:
        """Creates and saves in one transaction, each in a savepoint; an error stands in the place of its result."""
        results: list[TaskSnapshot | TaskError] = []
        with self._file.write() as cursor:
            for request in requests:
                cursor.execute("SAVEPOINT one")
                try:
                    results.append(self._write(cursor, request))
                except TaskError as error:
                    cursor.execute("ROLLBACK TO one")
                    results.append(error)
                except sqlite3.IntegrityError as error:
                    cursor.execute("ROLLBACK TO one")
                    results.append(told(error, self.path))
                cursor.execute("RELEASE one")
        return results

    def _write(self, cursor: sqlite3.Cursor, request: WriteRequest) -> TaskSnapshot:
        if isinstance(request, SaveRequest):
            return self._save(cursor, request)
        return tasks.create(cursor, request.snapshot, request.transitions, request.submission_id, request.arguments)

    def _save(self, cursor: sqlite3.Cursor, request: SaveRequest) -> TaskSnapshot:
        saved = tasks.save(cursor, request)
        if not saved.known:
            fenced = store_rules.fenced_command(saved.head, saved.request, self._clock.now())
            if fenced is not None:
                commands.submit(cursor, fenced)
            if request.complete is not None:
                known = commands.command(cursor, request.complete.command_id)
                tasks.raise_if(store_rules.completion_error(known, request.complete))
                commands.complete(cursor, request.complete)
        owner = commands.owner(cursor, saved.request.snapshot.owner)
        return store_rules.leased(saved.request.snapshot, owner)

    def get(self, task_id: str) -> TaskSnapshot | None:
        """The task, or None."""
        with self._file.read() as cursor:
            return tasks.fetch(cursor, task_id)

    def arguments(self, task_id: str) -> Mapping[str, Any] | None:
        """The stored arguments of a task."""
        with self._file.read() as cursor:
            row = cursor.execute("SELECT arguments FROM tasks WHERE task_id = ?", (task_id,)).fetchone()
        try:
            found: Mapping[str, Any] | None = None if row is None or row[0] is None else loads(row[0])
        except (ValueError, TypeError, RecursionError) as error:
            raise StoreCorruption(f"task {task_id!r}: its arguments cannot be read: {error}", task_id=task_id) from None
        return found

    def query(self, query: TaskQuery | None = None) -> QueryResult:
        """One page of tasks, with the rows that cannot be read beside it."""
        with self._file.read() as cursor:
            return tasks.query(cursor, query if query is not None else TaskQuery())

    def counts(self) -> dict[TaskStatus, int]:
        """How many tasks there are in each state."""
        with self._file.read() as cursor:
            return tasks.counts(cursor)

    def append(self, transition: Transition) -> None:
        """Import one record that continues a history."""
        with self._file.write() as cursor:
            tasks.append(cursor, transition)

    def history(self, task_id: str, *, since_version: int = 0, generation: int | None = None) -> list[Transition]:
        """The records after `since_version`, oldest first."""
        with self._file.read() as cursor:
            return tasks.history(cursor, task_id, since_version, generation)

    def feed(self, after: int = 0, limit: int = 1000) -> list[FeedRecord]:
        """Records of all tasks in store-wide order."""
        with self._file.read() as cursor:
            return [FeedRecord(seq, record) for seq, record in tasks.feed(cursor, after, limit)]

    def attempts(self, task_id: str, *, generation: int | None = None) -> list[AttemptRecord]:
        """One record per attempt started."""
        with self._file.read() as cursor:
            return tasks.attempts(cursor, task_id, generation)

    def note_late_result(self, task_id: str, *, generation: int, attempt: int, note: str) -> bool:
        """Note on a closed attempt what its carrier reported too late."""
        with self._file.write() as cursor:
            return tasks.note(cursor, task_id, generation, attempt, note)

    # The bypass and the leases

    def touch(
        self,
        task_id: str,
        *,
        owner: str,
        epoch: int,
        progress: Progress | None = None,
        heartbeat_at: datetime | None = None,
    ) -> bool:
        """Keep progress and heartbeat; False: the caller is fenced."""
        with self._file.write("bypass") as cursor:
            if not store_rules.may_touch(tasks.fetch(cursor, task_id), owner, epoch):
                return False
            cursor.execute(
                "UPDATE tasks SET progress = COALESCE(?, progress), last_heartbeat_at = COALESCE(?, last_heartbeat_at) "
                "WHERE task_id = ?",
                (
                    None if progress is None else dumps(progress),
                    None if heartbeat_at is None else time_text(heartbeat_at),
                    task_id,
                ),
            )
            return True

    def renew(self, owner: OwnerRecord, lease_until: datetime) -> None:
        """Hold the owner's lease until then."""
        with self._file.write("bypass") as cursor:
            commands.renew(cursor, owner, lease_until)

    def owners(self) -> list[OwnerRecord]:
        """All owners that ever held a lease here."""
        with self._file.read() as cursor:
            return commands.owners(cursor)

    def expire_lease(self, request: SaveRequest, read: LeaseView) -> TaskSnapshot | None:
        """Save the move to lost if all is still as read and the lease is over."""
        with self._file.write() as cursor:
            row = tasks.fetch(cursor, request.snapshot.task_id)
            lease = commands.lease_of(cursor, None if row is None else row.owner)
            return self._save(cursor, request) if store_rules.may_expire(row, read, lease, self._clock.now()) else None

    def adopt(self, request: SaveRequest, read: LeaseView, *, stalled_ok: bool = False) -> TaskSnapshot | None:
        """Save the adoption under the same condition; `stalled_ok` does without the lease being over."""
        with self._file.write() as cursor:
            row = tasks.fetch(cursor, request.snapshot.task_id)
            lease = commands.lease_of(cursor, None if row is None else row.owner)
            may = store_rules.may_adopt(row, read, lease, self._clock.now(), stalled_ok)
            return self._save(cursor, request) if may else None

    # Commands

    def submit_command(self, command: Command) -> Command:
        """Leave a command; returns it with its `seq`."""
        with self._file.write() as cursor:
            return commands.submit(cursor, command)

    def claim_commands(self, *, owner: str, lease_seconds: float, limit: int = 50) -> list[Command]:
        """Claim what is for this owner."""
        with self._file.write() as cursor:
            return commands.claim(cursor, owner, self._clock.now(), lease_seconds, limit)

    def complete_command(self, completion: Completion) -> bool:
        """Finish a claimed command."""
        with self._file.write() as cursor:
            return commands.complete(cursor, completion)

    def release_command(self, command_id: str, claim_token: str) -> bool:
        """Give a claimed command back."""
        with self._file.write() as cursor:
            return commands.release(cursor, command_id, claim_token)

    def settle_commands(self, *, owner: str) -> list[Command]:
        """End commands nobody can deliver any more."""
        with self._file.write() as cursor:
            return commands.settle(cursor, self._clock.now())

    def command(self, command_id: str) -> Command | None:
        """One command as it is now."""
        with self._file.read() as cursor:
            return commands.command(cursor, command_id)

    # Runs, lines, upkeep

    def save_run(self, run: RunRecord, *, expect_version: int) -> RunRecord:
        """Put a pipeline run down, or follow its version."""
        with self._file.write() as cursor:
            return commands.save_run(cursor, run, expect_version)

    def get_run(self, run_id: str) -> RunRecord | None:
        """One pipeline run."""
        with self._file.read() as cursor:
            return commands.get_run(cursor, run_id)

    def runs(self) -> list[RunRecord]:
        """All pipeline runs."""
        with self._file.read() as cursor:
            return commands.runs(cursor)

    def add_lines(self, task_id: str, lines: Sequence[tuple[datetime, int, str]]) -> None:
        """Keep log lines; lossy."""
        with self._file.write("bypass") as cursor:
            commands.add_lines(cursor, task_id, lines)

    def lines(self, task_id: str) -> list[tuple[datetime, int, str]]:
        """The kept log lines, oldest first."""
        with self._file.read() as cursor:
            rows = cursor.execute("SELECT at, level, text FROM lines WHERE task_id = ? ORDER BY number", (task_id,))
            try:
                return [(time_of(at), level, text) for at, level, text in rows]
            except ValueError as error:
                raise StoreCorruption(f"a line of task {task_id!r} cannot be read: {error}", task_id=task_id) from None

    def prune(self, *, keep_terminal: int) -> int:
        """Remove the oldest tasks that are over, all but the newest `keep_terminal`."""
        with self._file.write() as cursor:
            return commands.prune(cursor, keep_terminal, self._clock.now())

    def tombstone(self, task_id: str) -> Tombstone | None:
        """What is left of a pruned task."""
        with self._file.read() as cursor:
            return commands.tombstone(cursor, task_id)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
