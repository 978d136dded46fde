"""What an audit reads: a database, or a file with one record per line (JSON Lines), as `AuditRows`.

A database is opened read-only and read in one consistent view. Nothing here trusts what it reads: a row that does not
decode, or that would not be written again as it stands, is listed as damage; so is a page that cannot be read, a
missing or altered trigger, and text that is not UTF-8. A file that is neither is refused with a StoreError.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from chongming_spec.audit_view import FILE, AuditRows, Damage
from chongming_spec.errors import StoreError
from chongming_spec.snapshot import AttemptRecord, TaskSnapshot, Transition
from chongming_spec.stores import Command, FeedRecord, OwnerRecord, Tombstone
from chongming_task.stores._codec import columns_of, decode, dumps, loads, plain, row_of, value_of
from chongming_task.stores._generated_schema import STATEMENTS
from chongming_task.stores._sqlite_file import MAGIC, SqliteFile, check_path
from chongming_task.stores._sqlite_tasks import escaped_text

_UNREADABLE = (KeyError, ValueError, TypeError, OverflowError, RecursionError)


def read(path: str, now: datetime) -> AuditRows:
    """The rows of the file `path`, read at `now` (aware UTC). StoreError if it is neither a database nor a history."""
    file = Path(path)
    if not file.exists():
        raise StoreError(f"{path} does not exist; name a database or a history in JSON Lines")
    if file.is_file() and _is_history(file):
        return read_history(file, now)
    check_path(file)
    return read_database(path, now)


def _is_history(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            head = opened.read(len(MAGIC))
    except OSError as error:
        raise StoreError(f"{file} cannot be read: {error.strerror}; check its permissions") from error
    return head.lstrip().startswith(b"{") or (not head and file.suffix == ".jsonl")


def read_history(file: Path, now: datetime) -> AuditRows:
    """One record per line, in the order in which they were written."""
    records, damage = [], []
    for number, line in enumerate(file.read_bytes().splitlines(), start=1):
        try:
            record: Transition = decode(Transition, loads(line.decode()))
            _check_again(plain(record), loads(line.decode()))
        except _UNREADABLE as error:
            damage.append(Damage("records", "", f"line {number}: {error}"))
        else:
            records.append(FeedRecord(number, record))
    return AuditRows(records, now=now, damage=damage)


def read_database(path: str, now: datetime) -> AuditRows:
    """All tables in one view, each as far as it can be read."""
    file = SqliteFile(path, synchronous="full", read_only=True)
    try:
        with file.read() as cursor:
            cursor.connection.text_factory = escaped_text
            return _Reader(cursor).rows(now)
    finally:
        file.close()


def _check_again(again: Any, stored: Any) -> None:
    """ValueError unless what was decoded is written as it was read, type by type, and as text that can be kept."""
    dumps([*stored] if isinstance(stored, (tuple, list)) else stored).encode()
    if again != stored:
        raise ValueError("it would be written otherwise than it stands")


class _Reader:
    """Reads table by table and collects the damage."""

    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self._cursor = cursor
        self._damage: list[Damage] = []

    def rows(self, now: datetime) -> AuditRows:
        """Everything."""
        self._file()
        meta = dict(self._pairs("meta", "SELECT key, value FROM meta"))
        return AuditRows(
            records=[FeedRecord(row[0], one) for row, one in self._values("records", Transition, "transitions", "seq")],
            tasks=self._all("tasks", TaskSnapshot),
            attempts=self._all("attempts", AttemptRecord),
            commands=self._all("commands", Command),
            owners=self._all("owners", OwnerRecord),
            tombstones=self._all("tombstones", Tombstone),
            counters=dict(self._pairs("counters", "SELECT status, tasks FROM counters")),
            epoch=self._number(meta, "epoch"),
            num_buckets=self._number(meta, "num_buckets"),
            now=now,
            damage=tuple(self._damage),
        )

    def _file(self) -> None:
        """Pages, indexes and constraints by SQLite's own check; tables and triggers against the generated schema."""
        # What a row must keep by itself is told by its own laws, with the task's name.
        list(self._fetch(FILE, "PRAGMA ignore_check_constraints = ON"))
        for (line,) in self._fetch(FILE, "PRAGMA integrity_check(20)"):
            if line != "ok":
                self._damage.append(Damage(FILE, "", f"SQLite says: {line}"))
        found = dict(self._pairs(FILE, "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
        ours = {_name_in(statement): statement for statement in STATEMENTS}
        for name, statement in ours.items():
            if found.get(name) != statement:
                self._damage.append(Damage(FILE, "", f"{name} is {'altered' if name in found else 'missing'}"))
        for name, sql in found.items():
            if name not in ours and str(sql).upper().startswith("CREATE TRIGGER"):
                self._damage.append(Damage(FILE, "", f"the trigger {name} is none of ours"))

    def _fetch(self, table: str, sql: str) -> Iterator[Sequence[Any]]:
        """The rows of a statement until its end, or until the file cannot be read further."""
        try:
            yield from self._cursor.execute(sql)
        except (sqlite3.Error, OverflowError) as error:
            self._damage.append(Damage(table, "", f"it can be read only in part: {error}"))

    def _pairs(self, table: str, sql: str) -> Iterator[tuple[str, Any]]:
        for key, value in self._fetch(table, sql):
            yield str(key), value

    def _number(self, meta: dict[str, Any], key: str) -> int | None:
        text = meta.get(key)
        if text is not None and not str(text).isdecimal():
            self._damage.append(Damage("meta", "", f"{key} is {text!r}"))
            return None
        return None if text is None else int(text)

    def _values(self, name: str, kind: type[Any], table: str, *more: str) -> Iterator[tuple[Sequence[Any], Any]]:
        columns = ", ".join(f'"{column.name}"' for column in columns_of(kind))
        named = [column.name for column in columns_of(kind)].index("owner" if name == "owners" else "task_id")
        for row in self._fetch(name, f"SELECT {', '.join((*more, columns))} FROM {table}"):
            cells = row[len(more) :]
            try:
                value = value_of(kind, cells)
                _check_again(row_of(value), tuple(cells))
            except _UNREADABLE as error:
                self._damage.append(Damage(name, str(cells[named]), str(error)))
            else:
                yield row, value

    def _all(self, table: str, kind: type[Any]) -> list[Any]:
        return [value for _, value in self._values(table, kind, table)]


def _name_in(statement: str) -> str:
    words = statement.split()
    return words[words.index("INDEX" if "INDEX" in words[:3] else words[1]) + 1]
