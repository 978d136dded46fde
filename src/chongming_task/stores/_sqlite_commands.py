"""Leased commands, owners' leases, runs, lines and pruning in SQL; every judgement is the spec's (D24-D30)."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import attrs

from chongming_spec import store_rules
from chongming_spec.errors import StoreCorruption
from chongming_spec.snapshot import TaskSnapshot
from chongming_spec.states import TERMINAL
from chongming_spec.stores import (
    LOG_LINES_KEPT,
    Command,
    Completion,
    OwnerRecord,
    RunRecord,
    Tombstone,
)
from chongming_task.stores import _sqlite_tasks as tasks
from chongming_task.stores._codec import columns_of, dumps, row_of, time_text, value_of


def _columns(kind: type[Any]) -> str:
    return ", ".join(column.name for column in columns_of(kind))


def _insert(table: str, kind: type[Any], verb: str = "INSERT") -> str:
    return f"{verb} INTO {table} ({_columns(kind)}) VALUES ({', '.join('?' for _ in columns_of(kind))})"


_INSERT_COMMAND = _insert("commands", Command)
_SELECT_COMMAND = f"SELECT {_columns(Command)} FROM commands"
_UPSERT_OWNER = _insert("owners", OwnerRecord, "INSERT OR REPLACE")
_UPSERT_RUN = _insert("runs", RunRecord, "INSERT OR REPLACE")
_INSERT_TOMBSTONE = _insert("tombstones", Tombstone, "INSERT OR REPLACE")


def _value(kind: Any, row: Sequence[Any]) -> Any:
    try:
        return value_of(kind, row)
    except ValueError as error:
        raise StoreCorruption(f"a {kind.__name__} ({row[0]!r}) cannot be read: {error}") from None


# Commands


def command(cursor: sqlite3.Cursor, command_id: str) -> Command | None:
    """One command."""
    row = cursor.execute(f"{_SELECT_COMMAND} WHERE command_id = ?", (command_id,)).fetchone()
    found: Command | None = None if row is None else _value(Command, row)
    return found


def submit(cursor: sqlite3.Cursor, wanted: Command) -> Command:
    """Leave a command under the next `seq` of its task."""
    known = command(cursor, wanted.command_id)
    if known is not None:
        return known
    last = cursor.execute("SELECT COALESCE(MAX(seq), 0) FROM commands WHERE task_id = ?", (wanted.task_id,)).fetchone()
    numbered = store_rules.submitted(wanted, last[0] + 1)
    cursor.execute(_INSERT_COMMAND, row_of(numbered))
    return numbered


def _unfinished(cursor: sqlite3.Cursor, owner: str | None) -> list[Command]:
    mine = "" if owner is None else " AND owner = ?"
    rows = cursor.execute(
        f"{_SELECT_COMMAND} WHERE state <> 'done'{mine} ORDER BY created_at, command_id",
        () if owner is None else (owner,),
    ).fetchall()
    return [_value(Command, row) for row in rows]


def claim(cursor: sqlite3.Cursor, owner: str, now: datetime, lease_seconds: float, limit: int) -> list[Command]:
    """The lowest unfinished command of each task that is for this owner."""
    unfinished = _unfinished(cursor, owner)
    by_task: dict[str, list[Command]] = {}
    for one in unfinished:
        by_task.setdefault(one.task_id, []).append(one)
    claimed: list[Command] = []
    for one in unfinished:
        is_next = not any(store_rules.is_behind(one, other, now) for other in by_task[one.task_id])
        if len(claimed) < limit and is_next and store_rules.is_claimable(one, owner, now):
            taken = store_rules.claimed(one, uuid.uuid4().hex, now + timedelta(seconds=lease_seconds))
            _put(cursor, taken)
            claimed.append(taken)
    return claimed


def _put(cursor: sqlite3.Cursor, one: Command) -> None:
    cursor.execute(
        "UPDATE commands SET state = ?, claim_token = ?, claim_until = ?, claims = ?, outcome = ?, answer = ? "
        "WHERE command_id = ?",
        (
            one.state,
            one.claim_token,
            None if one.claim_until is None else time_text(one.claim_until),
            one.claims,
            one.outcome,
            None if one.answer is None else dumps(one.answer),
            one.command_id,
        ),
    )


def complete(cursor: sqlite3.Cursor, done: Completion) -> bool:
    """Finish a command whose claim is still held."""
    one = command(cursor, done.command_id)
    if one is None or not store_rules.holds_claim(one, done.claim_token):
        return False
    _put(cursor, store_rules.completed(one, done))
    return True


def release(cursor: sqlite3.Cursor, command_id: str, claim_token: str) -> bool:
    """Give a command back whose claim is still held."""
    one = command(cursor, command_id)
    if one is None or not store_rules.holds_claim(one, claim_token):
        return False
    _put(cursor, store_rules.released(one))
    return True


def settle(cursor: sqlite3.Cursor, now: datetime) -> list[Command]:
    """End what nobody can deliver any more; the outcome says why."""
    settled = []
    for one in _unfinished(cursor, None):
        epoch = cursor.execute("SELECT epoch FROM tasks WHERE task_id = ?", (one.task_id,)).fetchone()
        outcome = store_rules.undeliverable(one, None if epoch is None else epoch[0], now)
        if outcome is not None:
            ended = store_rules.completed(one, Completion(one.command_id, one.claim_token or "", outcome))
            _put(cursor, ended)
            settled.append(ended)
    return settled


# Owners and runs


def renew(cursor: sqlite3.Cursor, owner: OwnerRecord, lease_until: datetime) -> None:
    """Hold the lease until then."""
    cursor.execute(_UPSERT_OWNER, row_of(attrs.evolve(owner, lease_until=lease_until)))


def owners(cursor: sqlite3.Cursor) -> list[OwnerRecord]:
    """All owners."""
    rows = cursor.execute(f"SELECT {_columns(OwnerRecord)} FROM owners ORDER BY owner").fetchall()
    return [_value(OwnerRecord, row) for row in rows]


def owner(cursor: sqlite3.Cursor, name: str | None) -> OwnerRecord | None:
    """One owner."""
    row = cursor.execute(f"SELECT {_columns(OwnerRecord)} FROM owners WHERE owner = ?", (name,)).fetchone()
    found: OwnerRecord | None = None if row is None else _value(OwnerRecord, row)
    return found


def lease_of(cursor: sqlite3.Cursor, name: str | None) -> datetime | None:
    """Until when the lease of an owner holds."""
    found = owner(cursor, name)
    return None if found is None else found.lease_until


def save_run(cursor: sqlite3.Cursor, run: RunRecord, expect_version: int) -> RunRecord:
    """Put a run down, or follow its version."""
    known = get_run(cursor, run.run_id)
    tasks.raise_if(store_rules.run_error(known, run.run_id, expect_version))
    stored = attrs.evolve(run, version=expect_version + 1)
    cursor.execute(_UPSERT_RUN, row_of(stored))
    return stored


def get_run(cursor: sqlite3.Cursor, run_id: str) -> RunRecord | None:
    """One run."""
    row = cursor.execute(f"SELECT {_columns(RunRecord)} FROM runs WHERE run_id = ?", (run_id,)).fetchone()
    found: RunRecord | None = None if row is None else _value(RunRecord, row)
    return found


def runs(cursor: sqlite3.Cursor) -> list[RunRecord]:
    """All runs."""
    rows = cursor.execute(f"SELECT {_columns(RunRecord)} FROM runs ORDER BY created_at, run_id").fetchall()
    return [_value(RunRecord, row) for row in rows]


# Lines and pruning


def add_lines(cursor: sqlite3.Cursor, task_id: str, lines: Sequence[tuple[datetime, int, str]]) -> None:
    """Keep the newest lines of a task."""
    last = cursor.execute("SELECT COALESCE(MAX(number), 0) FROM lines WHERE task_id = ?", (task_id,)).fetchone()[0]
    kept = list(lines)[-LOG_LINES_KEPT:]
    cursor.executemany(
        "INSERT INTO lines VALUES (?, ?, ?, ?, ?)",
        [(task_id, last + n, time_text(at), level, text) for n, (at, level, text) in enumerate(kept, start=1)],
    )
    cursor.execute("DELETE FROM lines WHERE task_id = ? AND number <= ?", (task_id, last + len(kept) - LOG_LINES_KEPT))


def prune(cursor: sqlite3.Cursor, keep_terminal: int, now: datetime) -> int:
    """Remove whole tasks, oldest end first, leaving tombstones."""
    tasks.raise_if(store_rules.prune_error(keep_terminal))
    over = ", ".join(f"'{status}'" for status in sorted(TERMINAL))
    ids = cursor.execute(
        f"SELECT task_id FROM tasks WHERE status IN ({over}) ORDER BY ended_at DESC, task_id DESC LIMIT -1 OFFSET ?",
        (keep_terminal,),
    ).fetchall()
    removed = 0
    for (task_id,) in ids:
        row = tasks.fetch(cursor, task_id)
        if row is not None and _may_prune(cursor, row):
            _remove(cursor, row, now)
            removed += 1
    return removed


def _may_prune(cursor: sqlite3.Cursor, row: TaskSnapshot) -> bool:
    rows = cursor.execute(f"{_SELECT_COMMAND} WHERE task_id = ? AND state <> 'done'", (row.task_id,)).fetchall()
    live = any(store_rules.is_live(_value(Command, one)) for one in rows)
    run = None if row.pipeline_run_id is None else get_run(cursor, row.pipeline_run_id)
    return store_rules.may_prune(row, live, store_rules.run_is_settled(run), store_rules.possibly_alive(row))


def _remove(cursor: sqlite3.Cursor, row: TaskSnapshot, now: datetime) -> None:
    cursor.execute(_INSERT_TOMBSTONE, row_of(Tombstone(row.task_id, row.status, row.epoch, row.status_version, now)))
    for table in ("lines", "commands", "attempts", "transitions", "tasks"):
        cursor.execute(f"DELETE FROM {table} WHERE task_id = ?", (row.task_id,))


def tombstone(cursor: sqlite3.Cursor, task_id: str) -> Tombstone | None:
    """What is left of a pruned task."""
    row = cursor.execute(f"SELECT {_columns(Tombstone)} FROM tombstones WHERE task_id = ?", (task_id,)).fetchone()
    found: Tombstone | None = None if row is None else _value(Tombstone, row)
    return found
