"""The other sides of `stores`: plain SQLite with a group commit of the same shape, and huey.

The raw side writes the same cells into the same tables and indexes, without triggers, without judging anything, from
rows that are made once; it is the floor below which no store with these tables can be.
"""

from __future__ import annotations

import importlib
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs

from chongming_spec.snapshot import AttemptRecord, TaskSnapshot, Transition
from chongming_task.core.state_machine import StateMachine
from chongming_task.stores._codec import columns_of, row_of
from chongming_task.stores._generated_schema import STATEMENTS

Statements = Sequence[tuple[str, tuple[Any, ...]]]


def _names(kind: Any) -> list[str]:
    return [f'"{column.name}"' for column in columns_of(kind)]


def _insert(table: str, names: Sequence[str]) -> str:
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' for _ in names)})"


_TASK = _names(TaskSnapshot)
INSERT_TASK = _insert("tasks", [*_TASK, "submission_id"])
UPDATE_TASK = f"UPDATE tasks SET {', '.join(f'{name} = ?' for name in _TASK[1:])} WHERE task_id = ?"
INSERT_RECORD = _insert("transitions", _names(Transition))
PUT_ATTEMPT = _insert("attempts", _names(AttemptRecord)).replace("INSERT", "INSERT OR REPLACE", 1)


def _rows() -> list[tuple[tuple[Any, ...], tuple[Any, ...], list[tuple[Any, ...]]]]:
    """Row, record and attempts after each of the five transitions of one life."""
    machine = StateMachine.create("template", "bench", owner="bench#1")
    rows = []
    verbs: tuple[Callable[[], Any], ...] = (
        lambda: None,
        machine.mark_queued,
        lambda: machine.mark_starting(executor="thread"),
        machine.mark_running,
        lambda: machine.mark_succeeded(outcome={"rows": 42}),
    )
    for verb in verbs:
        verb()
        attempts = [row_of(one) for one in machine.attempts]
        record = attrs.evolve(machine.transitions[-1], owner="bench#1")
        rows.append((row_of(machine.snapshot), row_of(record), attempts))
    return rows


def life(task_id: str, rows: Any) -> list[Statements]:
    """The statements of each step of one life."""
    steps: list[Statements] = []
    for number, (row, record, attempts) in enumerate(rows):
        put = (INSERT_TASK, (task_id, *row[1:], task_id)) if number == 0 else (UPDATE_TASK, (*row[1:], task_id))
        tries = [(PUT_ATTEMPT, (task_id, *one[1:])) for one in attempts]
        steps.append([(INSERT_RECORD, (task_id, *record[1:])), put, *tries])
    return steps


def opened(path: Path) -> sqlite3.Connection:
    """The same tables and indexes, in the same mode."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL").fetchall()
    connection.execute("PRAGMA synchronous=FULL")
    for statement in STATEMENTS:
        if not statement.startswith("CREATE TRIGGER"):
            connection.execute(statement)
    return connection


class RawWriter:
    """One thread that commits whatever waits in one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._changed = threading.Condition()
        self._waiting: deque[tuple[Statements, Callable[[], None] | None]] = deque()
        self._closing = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def submit(self, statements: Statements, done: Callable[[], None] | None = None) -> None:
        with self._changed:
            self._waiting.append((statements, done))
            self._changed.notify_all()

    def write(self, statements: Statements) -> None:
        durable = threading.Event()
        self.submit(statements, durable.set)
        durable.wait()

    def close(self) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closing:
                    self._changed.wait()
                batch = [self._waiting.popleft() for _ in range(min(256, len(self._waiting)))]
            if not batch:
                return
            commit(self._connection, [statements for statements, _ in batch])
            for _, done in batch:
                if done is not None:
                    done()


def commit(connection: sqlite3.Connection, writes: Sequence[Statements]) -> None:
    """All of them in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    for statements in writes:
        for statement, values in statements:
            connection.execute(statement, values)
    connection.execute("COMMIT")


def raw_lives(path: Path, lives: int, producers: int) -> None:
    """Lives through the plain group commit; each producer waits for its create."""
    rows = _rows()
    with closing(opened(path)) as connection:
        writer = RawWriter(connection)

        def produce(producer: int) -> None:
            for number in range(lives // producers):
                first, *rest = life(f"{producer}/{number}", rows)
                writer.write(first)
                for statements in rest:
                    writer.submit(statements)

        threads = [threading.Thread(target=produce, args=(number,)) for number in range(producers)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        writer.close()


def raw_batches(path: Path, lives: int, batch: int) -> None:
    """A batch of tasks takes each step together, one transaction per step."""
    rows = _rows()
    with closing(opened(path)) as connection:
        for first in range(0, lives, batch):
            for step in zip(*(life(str(number), rows) for number in range(first, first + batch)), strict=True):
                commit(connection, step)


def huey_lives(path: Path, lives: int, producers: int) -> Any:
    """No-op tasks enqueued by producers and run by one worker thread; NotImplemented without huey."""
    try:
        huey = importlib.import_module("huey")
    except ImportError:
        return NotImplemented
    app = huey.SqliteHuey("bench", filename=str(path), fsync=True, results=True, store_none=True)

    @app.task()
    def nothing() -> None:
        return None

    def work() -> None:
        done = 0
        while done < lives // producers * producers:
            task = app.dequeue()
            if task is not None:
                app.execute(task)
                done += 1

    worker = threading.Thread(target=work)
    worker.start()
    threads = [
        threading.Thread(target=lambda: [nothing() for _ in range(lives // producers)]) for _ in range(producers)
    ]
    for one in threads:
        one.start()
    for one in [*threads, worker]:
        one.join()
    return None
