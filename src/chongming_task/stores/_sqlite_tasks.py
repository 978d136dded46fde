"""Rows, history and attempts in SQL. Functions of a cursor inside a transaction; every judgement is the spec's."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import attrs

from chongming_spec import store_rules
from chongming_spec.errors import ConfigurationError, StoreCorruption, TaskError
from chongming_spec.snapshot import AttemptRecord, TaskSnapshot, Transition
from chongming_spec.states import TaskStatus
from chongming_spec.stores import CorruptRow, QueryResult, SaveRequest, TaskQuery
from chongming_task.stores._codec import columns_of, dumps, loads, row_of, time_of, time_text, value_of

_TASK = [column.name for column in columns_of(TaskSnapshot)]
_RECORD = ", ".join(f'"{column.name}"' for column in columns_of(Transition))
_ATTEMPT = ", ".join(column.name for column in columns_of(AttemptRecord))
# A lease is read through its owner, and a task that is over needs none (`store_rules.leased`).
_LEASED = {
    name: f"CASE WHEN tasks.ended_at IS NULL THEN owners.{column} END"
    for name, column in (("lease_owner", "owner"), ("lease_until", "lease_until"))
}
_SELECT_TASK = (
    "SELECT "
    + ", ".join(_LEASED.get(name, f"tasks.{name}") for name in _TASK)
    + " FROM tasks LEFT JOIN owners ON owners.owner = tasks.owner"
)
_SELECT_HEAD = (
    "SELECT t.task_id, t.status_version, t.epoch, t.owner, "
    + ", ".join(f'r."{column.name}"' for column in columns_of(Transition))
    + " FROM tasks AS t JOIN transitions AS r ON r.task_id = t.task_id AND r.version = t.status_version"
    + " WHERE t.task_id = ?"
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
    row = cursor.execute("SELECT value FROM meta WHERE key = 'epoch'").fetchone()
    if row is None or not str(row[0]).isdecimal():
        raise StoreCorruption(
            f"the sequence of epochs is {'missing' if row is None else repr(row[0])}; nothing is written"
        )
    return int(row[0])


def create(
    cursor: sqlite3.Cursor,
    snapshot: TaskSnapshot,
    transitions: Sequence[Transition],
    submission_id: str | None,
    arguments: Mapping[str, Any] | None,
) -> TaskSnapshot:
    """The row, its records and its arguments, or the error of `store_rules`."""
    same = _submitted(cursor, submission_id)
    if same is not None:
        return same
    existing = fetch(cursor, snapshot.task_id)
    raise_if(store_rules.create_error(existing))
    request = store_rules.with_epoch(SaveRequest(snapshot, 0, tuple(transitions)), next_epoch(cursor))
    raise_if(store_rules.records_error(request.snapshot, None, request.transitions))
    insert_records(cursor, request.transitions)
    cells = row_of(without_lease(request.snapshot))
    cursor.execute(_INSERT_TASK, (*cells, submission_id, None if arguments is None else dumps(arguments)))
    return request.snapshot


def _submitted(cursor: sqlite3.Cursor, submission_id: str | None) -> TaskSnapshot | None:
    """The task of a submission that was made before (D22)."""
    if submission_id is None:
        return None
    row = cursor.execute(f"{_SELECT_TASK} WHERE tasks.submission_id = ?", (submission_id,)).fetchone()
    return None if row is None else _decoded(row[0], row)


class Saved(NamedTuple):
    """A save that is in the transaction: the head before, the request as written, and whether it was stored already."""

    head: store_rules.RowHead
    request: SaveRequest
    known: bool


def save(cursor: sqlite3.Cursor, request: SaveRequest) -> Saved:
    """Write the records, the row and the attempts; or raise the error of `store_rules`."""
    task_id = request.snapshot.task_id
    found = cursor.execute(_SELECT_HEAD, (task_id,)).fetchone()
    head = None if found is None else _head(found)
    if head is not None and head.version >= request.snapshot.status_version:
        stored = record_of(cursor, task_id, request.snapshot.status_version)
        if stored is not None and store_rules.was_saved(stored, request):
            return Saved(head, attrs.evolve(request, snapshot=attrs.evolve(request.snapshot, epoch=stored.epoch)), True)
    raise_if(store_rules.save_error(head, request))
    assert head is not None
    if store_rules.draws_epoch(request.transitions):
        request = store_rules.with_epoch(request, next_epoch(cursor))
    raise_if(store_rules.records_error(request.snapshot, head.newest, request.transitions))
    for record in request.transitions:
        raise_if(store_rules.effect_error(record, _has_effect(cursor, record.command_id)))
    insert_records(cursor, request.transitions)
    cells = row_of(without_lease(request.snapshot))
    cursor.execute(_UPDATE_TASK, (*cells[1:], task_id, request.expect_version))
    for attempt in request.attempts:
        _keep_attempt(cursor, attempt, task_id)
    return Saved(head, request, False)


def _has_effect(cursor: sqlite3.Cursor, command_id: str | None) -> bool:
    if command_id is None:
        return False
    return cursor.execute("SELECT 1 FROM transitions WHERE command_id = ?", (command_id,)).fetchone() is not None


def _keep_attempt(cursor: sqlite3.Cursor, attempt: AttemptRecord, task_id: str) -> None:
    known = attempt_of(cursor, attempt.task_id, attempt.generation, attempt.attempt)
    if known == attempt and attempt.task_id == task_id:
        return
    merged = store_rules.merged_attempt(known, attempt, task_id)
    if not isinstance(merged, AttemptRecord):
        raise merged
    if merged != known:
        cursor.execute(_INSERT_ATTEMPT, row_of(merged))


def attempt_of(cursor: sqlite3.Cursor, task_id: str, generation: int, attempt: int) -> AttemptRecord | None:
    """One attempt."""
    row = cursor.execute(
        f"SELECT {_ATTEMPT} FROM attempts WHERE task_id = ? AND generation = ? AND attempt = ?",
        (task_id, generation, attempt),
    ).fetchone()
    return None if row is None else _attempt(row)


def _attempt(row: Sequence[Any]) -> AttemptRecord:
    try:
        attempt: AttemptRecord = value_of(AttemptRecord, row)
    except ValueError as error:
        raise StoreCorruption(f"an attempt of task {row[0]!r} cannot be read: {error}", task_id=row[0]) from None
    return attempt


def note(cursor: sqlite3.Cursor, task_id: str, generation: int, attempt: int, text: str) -> bool:
    """Put a late note on a closed attempt."""
    noted = store_rules.noted(attempt_of(cursor, task_id, generation, attempt), text)
    if noted is None:
        return False
    cursor.execute(_INSERT_ATTEMPT, row_of(noted))
    return True


def raise_if(error: TaskError | None) -> None:
    """Raise a judgement that is an error."""
    if error is not None:
        raise error


def without_lease(snapshot: TaskSnapshot) -> TaskSnapshot:
    """The lease stands with the owner, not in the row (D24)."""
    if snapshot.lease_owner is None and snapshot.lease_until is None:
        return snapshot
    return attrs.evolve(snapshot, lease_owner=None, lease_until=None)


def _head(row: Sequence[Any]) -> store_rules.RowHead:
    return store_rules.RowHead(row[0], row[1], row[2], row[3], _record(row[4:]))


def insert_records(cursor: sqlite3.Cursor, records: Sequence[Transition]) -> None:
    """History is written first; the database itself refuses what the tables do not allow."""
    for record in records:
        cursor.execute(_INSERT_RECORD, row_of(record))


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
    return [_attempt(row) for row in rows]


def append(cursor: sqlite3.Cursor, record: Transition) -> None:
    """Import one record of a task that has no row yet."""
    known = record_of(cursor, record.task_id, record.version)
    raise_if(store_rules.append_error(fetch(cursor, record.task_id), known, newest(cursor, record.task_id), record))
    if known is None:
        raise_if(store_rules.effect_error(record, _has_effect(cursor, record.command_id)))
        insert_records(cursor, [record])


def escaped_text(raw: bytes) -> str:
    """Text of a column, whatever its bytes: what is not UTF-8 becomes lone surrogates, see `check_text_cells`."""
    return raw.decode("utf-8", "surrogateescape")


def check_text_cells(row: Sequence[Any]) -> None:
    """ValueError if a text of the row is not UTF-8."""
    for cell in row:
        if isinstance(cell, str):
            cell.encode()


def _fetched(cursor: sqlite3.Cursor, statement: str, values: Sequence[Any]) -> tuple[list[Any], bool]:
    """The rows, and whether some text in them may not be UTF-8: SQLite hands out no row at all then."""
    try:
        return cursor.execute(statement, values).fetchall(), False
    except sqlite3.OperationalError as error:
        if not str(error).startswith("Could not decode"):
            raise
    connection = cursor.connection
    before, connection.text_factory = connection.text_factory, escaped_text
    try:
        return cursor.execute(statement, values).fetchall(), True
    finally:
        connection.text_factory = before


def query(cursor: sqlite3.Cursor, wanted: TaskQuery) -> QueryResult:
    """One page; rows that do not decode are named beside the others."""
    raise_if(store_rules.query_error(wanted))
    where, values = _conditions(wanted)
    order = "DESC" if wanted.newest else "ASC"
    limit = "" if wanted.limit is None else f" LIMIT {int(wanted.limit)}"
    condition = f" WHERE {' AND '.join(where)}" if where else ""
    rows, doubtful = _fetched(
        cursor, f"{_SELECT_TASK}{condition} ORDER BY tasks.created_at {order}, tasks.task_id {order}{limit}", values
    )
    found, corrupt = [], []
    for row in rows:
        try:
            if doubtful:
                check_text_cells(row)
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
        created_at, task_id = _place(wanted.after)
        need(f"(tasks.created_at, tasks.task_id) {'<' if wanted.newest else '>'} (?, ?)", created_at, task_id)
    return where, values


def _place(after: str) -> tuple[str, str]:
    try:
        created_at, task_id = loads(after)
        return time_text(time_of(created_at)), str(task_id)
    except (AttributeError, TypeError, ValueError):
        raise ConfigurationError(f"after must be the cursor of an earlier page, not {after!r}") from None


def counts(cursor: sqlite3.Cursor) -> dict[TaskStatus, int]:
    """Maintained by the database itself, so nothing is scanned."""
    rows = cursor.execute("SELECT status, tasks FROM counters WHERE tasks > 0").fetchall()
    try:
        return {TaskStatus(status): count for status, count in rows}
    except ValueError as error:
        raise StoreCorruption(f"the counters cannot be read: {error}") from None
