"""Rows, history and attempts in SQL. Functions of a cursor inside a transaction; every judgement is the spec's."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from chongming_spec import store_rules
from chongming_spec.errors import StoreCorruption
from chongming_spec.records import chain_problem, is_out_of_band, move_problem
from chongming_spec.snapshot import AttemptRecord, TaskSnapshot, Transition
from chongming_spec.states import TaskStatus
from chongming_spec.stores import CorruptRow, QueryResult, SaveRequest, TaskQuery
from chongming_task.stores._codec import columns_of, dumps, loads, row_of, value_of

_TASK = [column.name for column in columns_of(TaskSnapshot)]
_RECORD = ", ".join(f'"{column.name}"' for column in columns_of(Transition))
_ATTEMPT = ", ".join(column.name for column in columns_of(AttemptRecord))
_LEASED = {"lease_owner": "owners.owner", "lease_until": "owners.lease_until"}
_SELECT_TASK = (
    "SELECT "
    + ", ".join(_LEASED.get(name, f"tasks.{name}") for name in _TASK)
    + " FROM tasks LEFT JOIN owners ON owners.owner = tasks.owner"
)
_SELECT_HEAD = (
    "SELECT t.task_id, t.status_version, t.epoch, t.owner, "
    + ", ".join(f'r."{column.name}"' for column in columns_of(Transition))
    + " FROM tasks AS t JOIN transitions AS r ON r.task_id = t.task_id AND r.version = t.status_version WHERE t.task_id = ?"
)
_PLACES = ", ".join("?" for _ in _TASK)
_INSERT_TASK = f"INSERT INTO tasks ({', '.join(_TASK)}, submission_id, arguments) VALUES ({_PLACES}, ?, ?)"
_UPDATE_TASK = (
    f"UPDATE tasks SET {', '.join(f'{name} = ?' for name in _TASK[1:])} WHERE task_id = ? AND status_version = ?"
)
_INSERT_RECORD = f"INSERT INTO transitions ({_RECORD}) VALUES ({', '.join('?' for _ in columns_of(Transition))})"
_INSERT_ATTEMPT = (
    f"INSERT INTO attempts ({_ATTEMPT}) VALUES ({', '.join('?' for _ in columns_of(AttemptRecord))}) "
    "ON CONFLICT (task_id, generation, attempt) DO UPDATE SET ended_at = excluded.ended_at, "
    "disposition = excluded.disposition, failure = excluded.failure, late_result = excluded.late_result"
)


def fetch(cursor: sqlite3.Cursor, task_id: str) -> TaskSnapshot | None:
    """One task; StoreCorruption if its row does not decode."""
    row = cursor.execute(f"{_SELECT_TASK} WHERE tasks.task_id = ?", (task_id,)).fetchone()
    return None if row is None else _decoded(task_id, row)


def _decoded(task_id: str, row: Sequence[Any]) -> TaskSnapshot:
    try:
        snapshot: TaskSnapshot = value_of(TaskSnapshot, row)
    except ValueError as error:
        raise StoreCorruption(f"the row of task {task_id!r} cannot be read: {error}", task_id=task_id) from None
    return snapshot


def newest(cursor: sqlite3.Cursor, task_id: str) -> Transition | None:
    """The last record of a task."""
    row = cursor.execute(
        f"SELECT {_RECORD} FROM transitions WHERE task_id = ? ORDER BY version DESC LIMIT 1", (task_id,)
    ).fetchone()
    return None if row is None else _record(row)


def record_of(cursor: sqlite3.Cursor, task_id: str, version: int) -> Transition | None:
    """The record of one version of a task."""
    row = cursor.execute(
        f"SELECT {_RECORD} FROM transitions WHERE task_id = ? AND version = ?", (task_id, version)
    ).fetchone()
    return None if row is None else _record(row)


def _record(row: Sequence[Any]) -> Transition:
    try:
        record: Transition = value_of(Transition, row)
    except ValueError as error:
        raise StoreCorruption(f"a record of task {row[0]!r} cannot be read: {error}", task_id=row[0]) from None
    return record


def next_epoch(cursor: sqlite3.Cursor) -> int:
    """D24: drawn from a store-wide sequence, so that a pair of id and epoch never comes again."""
    cursor.execute("UPDATE meta SET value = value + 1 WHERE key = 'epoch'")
    return int(cursor.execute("SELECT value FROM meta WHERE key = 'epoch'").fetchone()[0])


def with_epoch(request: SaveRequest, epoch: int) -> SaveRequest:
    """The request under the epoch the store drew, from its first record out of band on."""
    records, drawn = [], False
    for record in request.transitions:
        drawn = drawn or record.from_status is None or is_out_of_band(record)
        records.append(attrs.evolve(record, epoch=epoch) if drawn else record)
    attempts = tuple(attrs.evolve(one, epoch=epoch) if one.ended_at is None else one for one in request.attempts)
    return attrs.evolve(
        request, snapshot=attrs.evolve(request.snapshot, epoch=epoch), transitions=tuple(records), attempts=attempts
    )


def create(
    cursor: sqlite3.Cursor,
    snapshot: TaskSnapshot,
    transitions: Sequence[Transition],
    submission_id: str | None,
    arguments: Mapping[str, Any] | None,
) -> TaskSnapshot:
    """The row, its records and its arguments, or the error of `store_rules`."""
    existing = fetch(cursor, snapshot.task_id)
    if existing is not None and submission_id is not None:
        row = cursor.execute("SELECT submission_id FROM tasks WHERE task_id = ?", (snapshot.task_id,)).fetchone()
        if row[0] == submission_id:
            return existing
    error = store_rules.create_error(existing)
    if error is not None:
        raise error
    request = with_epoch(SaveRequest(snapshot, 0, tuple(transitions)), next_epoch(cursor))
    problem = store_rules.records_error(request.snapshot, None, request.transitions)
    if problem is not None:
        raise problem
    insert_records(cursor, request.transitions)
    cells = row_of(without_lease(request.snapshot))
    cursor.execute(_INSERT_TASK, (*cells, submission_id, None if arguments is None else dumps(arguments)))
    return request.snapshot


def save(cursor: sqlite3.Cursor, request: SaveRequest) -> tuple[store_rules.RowHead, TaskSnapshot, bool]:
    """The head before, the row after, and whether it was stored already. Or the error of `store_rules`."""
    task_id = request.snapshot.task_id
    found = cursor.execute(_SELECT_HEAD, (task_id,)).fetchone()
    head = None if found is None else _head(found)
    if head is not None and head.version >= request.snapshot.status_version:
        stored = record_of(cursor, task_id, request.snapshot.status_version)
        if stored is not None and store_rules.was_saved(stored, request):
            kept = attrs.evolve(request.snapshot, epoch=stored.epoch)
            return head, kept, True
    error = store_rules.save_error(head, request)
    if error is not None:
        raise error
    assert head is not None
    if store_rules.draws_epoch(request.transitions):
        request = with_epoch(request, next_epoch(cursor))
    problem = store_rules.records_error(request.snapshot, head.newest, request.transitions)
    if problem is not None:
        raise problem
    insert_records(cursor, request.transitions)
    cells = row_of(without_lease(request.snapshot))
    cursor.execute(_UPDATE_TASK, (*cells[1:], task_id, request.expect_version))
    if request.attempts:
        cursor.executemany(_INSERT_ATTEMPT, [row_of(attempt) for attempt in request.attempts])
    return head, request.snapshot, False


def without_lease(snapshot: TaskSnapshot) -> TaskSnapshot:
    """The lease stands with the owner, not in the row (D24)."""
    if snapshot.lease_owner is None and snapshot.lease_until is None:
        return snapshot
    return attrs.evolve(snapshot, lease_owner=None, lease_until=None)


def _head(row: Sequence[Any]) -> store_rules.RowHead:
    return store_rules.RowHead(row[0], row[1], row[2], row[3], _record(row[4:]))


def insert_records(cursor: sqlite3.Cursor, records: Sequence[Transition]) -> None:
    """History is written first; the database itself refuses what the tables do not allow."""
    cursor.executemany(_INSERT_RECORD, [row_of(record) for record in records])


def history(cursor: sqlite3.Cursor, task_id: str, since_version: int, generation: int | None) -> list[Transition]:
    """Records of one task, oldest first."""
    wanted = "" if generation is None else " AND generation = ?"
    values = (task_id, since_version) if generation is None else (task_id, since_version, generation)
    rows = cursor.execute(
        f"SELECT {_RECORD} FROM transitions WHERE task_id = ? AND version > ?{wanted} ORDER BY version", values
    )
    return [_record(row) for row in rows]


def feed(cursor: sqlite3.Cursor, after: int, limit: int) -> list[tuple[int, Transition]]:
    """Records of all tasks with their places."""
    rows = cursor.execute(f"SELECT seq, {_RECORD} FROM transitions WHERE seq > ? ORDER BY seq LIMIT ?", (after, limit))
    return [(row[0], _record(row[1:])) for row in rows]


def attempts(cursor: sqlite3.Cursor, task_id: str, generation: int | None) -> list[AttemptRecord]:
    """Attempts of one task, oldest first."""
    wanted = "" if generation is None else " AND generation = ?"
    values = (task_id,) if generation is None else (task_id, generation)
    rows = cursor.execute(
        f"SELECT {_ATTEMPT} FROM attempts WHERE task_id = ?{wanted} ORDER BY generation, attempt", values
    ).fetchall()
    try:
        return [value_of(AttemptRecord, row) for row in rows]
    except ValueError as error:
        raise StoreCorruption(f"an attempt of task {task_id!r} cannot be read: {error}", task_id=task_id) from None


def append(cursor: sqlite3.Cursor, record: Transition) -> None:
    """Import one record, and let the row follow it."""
    known = record_of(cursor, record.task_id, record.version)
    if known is not None:
        if known != record:
            raise StoreCorruption(
                f"task {record.task_id!r} has another record of version {record.version}", version=record.version
            )
        return
    last = newest(cursor, record.task_id)
    problem = chain_problem(last, record) or move_problem(record)
    if problem is not None:
        raise StoreCorruption(f"task {record.task_id!r}, version {record.version}: {problem}", version=record.version)
    insert_records(cursor, [record])


def query(cursor: sqlite3.Cursor, wanted: TaskQuery) -> QueryResult:
    """One page; rows that do not decode are named beside the others."""
    where, values = _conditions(wanted)
    order = "DESC" if wanted.newest else "ASC"
    limit = "" if wanted.limit is None else f" LIMIT {int(wanted.limit)}"
    condition = f" WHERE {' AND '.join(where)}" if where else ""
    rows = cursor.execute(
        f"{_SELECT_TASK}{condition} ORDER BY tasks.created_at {order}, tasks.task_id {order}{limit}", values
    ).fetchall()
    found, corrupt = [], []
    for row in rows:
        try:
            found.append(value_of(TaskSnapshot, row))
        except ValueError as error:
            corrupt.append(CorruptRow(str(row[0]), str(error)))
    full = wanted.limit is not None and len(rows) == wanted.limit
    cursor_text = json.dumps([rows[-1][_TASK.index("created_at")], rows[-1][0]]) if full and rows else None
    return QueryResult(found, corrupt, cursor_text)


def _conditions(wanted: TaskQuery) -> tuple[list[str], list[Any]]:
    where: list[str] = []
    values: list[Any] = []

    def need(condition: str, *given: Any) -> None:
        where.append(condition)
        values.extend(given)

    if wanted.statuses is not None:
        need(f"tasks.status IN ({', '.join('?' for _ in wanted.statuses)})", *sorted(wanted.statuses))
    if wanted.tag is not None:
        need("EXISTS (SELECT 1 FROM json_each(tasks.tags) WHERE value = ?)", wanted.tag)
    if wanted.name_prefix is not None:
        need("substr(tasks.name, 1, ?) = ?", len(wanted.name_prefix), wanted.name_prefix)
    if wanted.buckets is not None:
        need(f"tasks.bucket IN ({', '.join('?' for _ in wanted.buckets)})", *sorted(wanted.buckets))
    if wanted.pipeline_run_id is not None:
        need("tasks.pipeline_run_id = ?", wanted.pipeline_run_id)
    if wanted.owner is not None:
        need("tasks.owner = ?", wanted.owner)
    if wanted.after is not None:
        created_at, task_id = loads(wanted.after)
        need(f"(tasks.created_at, tasks.task_id) {'<' if wanted.newest else '>'} (?, ?)", created_at, task_id)
    return where, values


def counts(cursor: sqlite3.Cursor) -> dict[TaskStatus, int]:
    """Maintained by the database itself, so nothing is scanned."""
    rows = cursor.execute("SELECT status, tasks FROM counters WHERE tasks > 0").fetchall()
    return {TaskStatus(status): count for status, count in rows}
