"""Leased commands, owners' leases, runs, lines and pruning in SQL; every judgement is the spec's (D24-D30)."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import attrs

from chongming_spec import store_rules
from chongming_spec.errors import ConcurrencyConflict, StoreCorruption
from chongming_spec.facts import CarrierState
from chongming_spec.snapshot import TaskSnapshot
from chongming_spec.states import TERMINAL
from chongming_spec.store_rules import RowHead
from chongming_spec.stores import (
    LOG_LINES_KEPT,
    Command,
    CommandState,
    Completion,
    OwnerRecord,
    RunRecord,
    Tombstone,
)
from chongming_task.stores import _sqlite_tasks as tasks
from chongming_task.stores._codec import columns_of, dumps, row_of, time_text, value_of

FENCED = "fenced"


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
    numbered = attrs.evolve(wanted, seq=last[0] + 1)
    cursor.execute(_INSERT_COMMAND, row_of(numbered))
    return numbered


def fence(cursor: sqlite3.Cursor, before: RowHead, after: TaskSnapshot, by: str, now: datetime) -> None:
    """D26: tell the owner of the old epoch that it was overtaken."""
    if before.epoch == after.epoch or before.owner is None or before.owner == by:
        return
    submit(
        cursor,
        Command(
            command_id=f"fenced/{before.task_id}/{before.epoch}",
            task_id=before.task_id,
            verb=FENCED,
            actor=by,
            created_at=now,
            expires_at=now + timedelta(days=1),
            target_epoch=before.epoch,
            owner=before.owner,
        ),
    )


def claim(cursor: sqlite3.Cursor, owner: str, now: datetime, lease_seconds: float, limit: int) -> list[Command]:
    """The lowest unfinished command of each task that is for this owner."""
    rows = cursor.execute(
        f"{_SELECT_COMMAND} AS c WHERE owner = ? AND state <> 'done' AND NOT EXISTS (SELECT 1 FROM commands AS e "
        "WHERE e.task_id = c.task_id AND e.owner = c.owner AND e.seq < c.seq AND e.state <> 'done' "
        "AND e.expires_at > ?) "
        "ORDER BY created_at, command_id",
        (owner, time_text(now)),
    ).fetchall()
    claimed: list[Command] = []
    for row in rows:
        one: Command = _value(Command, row)
        if len(claimed) < limit and store_rules.is_claimable(one, owner, now):
            until = now + timedelta(seconds=lease_seconds)
            one = attrs.evolve(
                one, state=CommandState.CLAIMED, claim_token=uuid.uuid4().hex, claim_until=until, claims=one.claims + 1
            )
            _put(cursor, one)
            claimed.append(one)
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
    _put(cursor, attrs.evolve(one, state=CommandState.DONE, outcome=done.outcome, answer=done.answer))
    return True


def release(cursor: sqlite3.Cursor, command_id: str, claim_token: str) -> bool:
    """Give a command back whose claim is still held."""
    one = command(cursor, command_id)
    if one is None or not store_rules.holds_claim(one, claim_token):
        return False
    _put(cursor, attrs.evolve(one, state=CommandState.NEW, claim_token=None, claim_until=None))
    return True


def settle(cursor: sqlite3.Cursor, now: datetime) -> list[Command]:
    """End what nobody can deliver any more; the outcome says why."""
    rows = cursor.execute(f"{_SELECT_COMMAND} WHERE state <> 'done' ORDER BY created_at, command_id").fetchall()
    settled = []
    for row in rows:
        one: Command = _value(Command, row)
        epoch = cursor.execute("SELECT epoch FROM tasks WHERE task_id = ?", (one.task_id,)).fetchone()
        outcome = store_rules.undeliverable(one, None if epoch is None else epoch[0], now)
        if outcome is not None:
            one = attrs.evolve(one, state=CommandState.DONE, outcome=outcome)
            _put(cursor, one)
            settled.append(one)
    return settled


# Owners and runs


def renew(cursor: sqlite3.Cursor, owner: OwnerRecord, lease_until: datetime) -> None:
    """Hold the lease until then."""
    cursor.execute(_UPSERT_OWNER, row_of(attrs.evolve(owner, lease_until=lease_until)))


def owners(cursor: sqlite3.Cursor) -> list[OwnerRecord]:
    """All owners."""
    rows = cursor.execute(f"SELECT {_columns(OwnerRecord)} FROM owners ORDER BY owner").fetchall()
    return [_value(OwnerRecord, row) for row in rows]


def lease_of(cursor: sqlite3.Cursor, owner: str | None) -> datetime | None:
    """Until when the lease of an owner holds."""
    return next((one.lease_until for one in owners(cursor) if one.owner == owner), None)


def save_run(cursor: sqlite3.Cursor, run: RunRecord, expect_version: int) -> RunRecord:
    """Put a run down, or follow its version."""
    known = get_run(cursor, run.run_id)
    actual = 0 if known is None else known.version
    if actual != expect_version:
        raise ConcurrencyConflict(
            f"run {run.run_id!r} is at version {actual}, not {expect_version}: somebody else wrote first",
            expected=expect_version,
            actual=actual,
        )
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
    over = ", ".join(f"'{status}'" for status in sorted(TERMINAL))
    ids = cursor.execute(
        f"SELECT task_id FROM tasks WHERE status IN ({over}) ORDER BY ended_at DESC, task_id DESC LIMIT -1 OFFSET ?",
        (keep_terminal,),
    ).fetchall()
    removed = 0
    for (task_id,) in ids:
        row = tasks.fetch(cursor, task_id)
        if row is not None and _may_prune(cursor, row, now):
            _remove(cursor, row, now)
            removed += 1
    return removed


def _may_prune(cursor: sqlite3.Cursor, row: TaskSnapshot, now: datetime) -> bool:
    live = cursor.execute(
        "SELECT 1 FROM commands WHERE task_id = ? AND state <> 'done' AND verb <> ? LIMIT 1", (row.task_id, FENCED)
    ).fetchone()
    run = None if row.pipeline_run_id is None else get_run(cursor, row.pipeline_run_id)
    alive = row.carrier_state is not CarrierState.NONE and not store_rules.lease_is_over(row.lease_until, now)
    return store_rules.may_prune(row, live is not None, store_rules.run_is_settled(run), alive)


def _remove(cursor: sqlite3.Cursor, row: TaskSnapshot, now: datetime) -> None:
    cursor.execute(_INSERT_TOMBSTONE, row_of(Tombstone(row.task_id, row.status, row.epoch, row.status_version, now)))
    for table in ("lines", "commands", "attempts", "transitions", "tasks"):
        cursor.execute(f"DELETE FROM {table} WHERE task_id = ?", (row.task_id,))


def tombstone(cursor: sqlite3.Cursor, task_id: str) -> Tombstone | None:
    """What is left of a pruned task."""
    row = cursor.execute(f"SELECT {_columns(Tombstone)} FROM tombstones WHERE task_id = ?", (task_id,)).fetchone()
    found: Tombstone | None = None if row is None else _value(Tombstone, row)
    return found
