"""Figures about stores: durable lives per second, what the triggers cost, and reading among many rows.

    python -m benchmarks.stores [--lives N] [--rounds N] [--rows N] [--profile]

A life has five transitions: created, queued, started, running, succeeded; all are durable (`synchronous=FULL`). A
producer waits for its create, as a submitter does, and not for the rest. Beside the library stand the same statements
into the same tables without triggers by a plain group commit (`stores_raw`), and huey with its SQLite storage where it
is installed. Sides take turns within a round, since machines drift; what counts is the ratio within one run.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sqlite3
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.stores_raw import huey_lives, raw_batches, raw_lives
from chongming_spec.states import TaskStatus
from chongming_spec.stores import CreateRequest, SaveRequest, TaskQuery
from chongming_task.core.state_machine import StateMachine
from chongming_task.stores._codec import columns_of
from chongming_task.stores._generated_schema import STATEMENTS
from chongming_task.stores.sqlite import SqliteTaskStore
from chongming_task.stores.writer import StoreWriter

OWNER = "bench#1"
BATCH = 50
STEPS: tuple[Callable[[StateMachine], Any], ...] = (
    lambda machine: machine.mark_queued(),
    lambda machine: machine.mark_starting(executor="thread"),
    lambda machine: machine.mark_running(),
    lambda machine: machine.mark_succeeded(outcome={"rows": 42}),
)


def created(task_id: str) -> tuple[StateMachine, CreateRequest]:
    """A new task and the request to store it."""
    machine = StateMachine.create(task_id, "bench", owner=OWNER)
    return machine, CreateRequest(machine.snapshot, tuple(machine.transitions), task_id)


def moved(machine: StateMachine, step: Callable[[StateMachine], Any]) -> SaveRequest:
    """One step and the request to store it."""
    before = machine.version
    step(machine)
    return SaveRequest(machine.snapshot, before, tuple(machine.transitions_since(before)), machine.attempts)


def no_triggers(path: Path) -> None:
    """The same file without its triggers, to see what they cost."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")


def our_lives(path: Path, lives: int, producers: int) -> None:
    """Lives through a StoreWriter, durable when this returns."""
    store = SqliteTaskStore(path)
    writer = StoreWriter(store)
    failed: list[object] = []

    def check(written: object) -> None:
        if isinstance(written, Exception):
            failed.append(written)

    def produce(producer: int) -> None:
        for number in range(lives // producers):
            machine, request = created(f"{producer}/{number}")
            machine.touch(epoch=writer.write(request).epoch)
            for step in STEPS:
                writer.submit(moved(machine, step), check)

    in_threads(produce, producers)
    left = writer.close(None)
    store.close()
    assert not failed, failed[0]
    assert not left


def in_threads(produce: Callable[[int], None], producers: int) -> None:
    """Run that many producers to their end."""
    threads = [threading.Thread(target=produce, args=(number,)) for number in range(producers)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()


def our_batches(path: Path, lives: int) -> None:
    """Fifty tasks take each step together, one transaction per step."""
    store = SqliteTaskStore(path)
    for first in range(0, lives, BATCH):
        machines, requests = zip(*(created(str(n)) for n in range(first, first + BATCH)), strict=True)
        for machine, stored in zip(machines, store.save_many(requests), strict=True):
            assert not isinstance(stored, Exception), stored
            machine.touch(epoch=stored.epoch)
        for step in STEPS:
            results = store.save_many([moved(machine, step) for machine in machines])
            assert not any(isinstance(one, Exception) for one in results)
    store.close()


Side = tuple[str, Callable[[Path], None]]


def sides(lives: int) -> dict[str, list[Side]]:
    """The sides of each comparison; the first is the library."""

    def bare(run: Callable[[Path], None]) -> Callable[[Path], None]:
        def prepared(path: Path) -> None:
            SqliteTaskStore(path).close()
            no_triggers(path)
            run(path)

        return prepared

    table: dict[str, list[Side]] = {}
    for producers in (1, 8):
        ours = _lives(our_lives, lives, producers)
        table[f"{producers} waiting producer(s)"] = [
            ("chongming", ours),
            ("chongming, no triggers", bare(ours)),
            ("raw group commit", _lives(raw_lives, lives, producers)),
            ("huey", _lives(huey_lives, lives, producers)),
        ]
    batches = lives * 4 // BATCH * BATCH
    table[f"batches of {BATCH}"] = [
        ("chongming", lambda path: our_batches(path, batches)),
        ("chongming, no triggers", bare(lambda path: our_batches(path, batches))),
        ("raw group commit", lambda path: raw_batches(path, batches, BATCH)),
    ]
    return table


def _lives(run: Callable[[Path, int, int], Any], lives: int, producers: int) -> Callable[[Path], None]:
    def one(path: Path) -> None:
        if run(path, lives, producers) is NotImplemented:
            raise NotImplementedError

    return one


def compare(name: str, contenders: list[Side], lives: int, rounds: int) -> None:
    """Alternate the sides and print lives per second with the ratio to the first."""
    rates: dict[str, list[float]] = {}
    for number in range(rounds + 1):
        for side, run in contenders:
            with tempfile.TemporaryDirectory() as folder:
                begun = time.perf_counter()
                try:
                    run(Path(folder) / "bench.db")
                except NotImplementedError:
                    continue
                if number:
                    rates.setdefault(side, []).append(lives / (time.perf_counter() - begun))
    first = statistics.median(rates[contenders[0][0]])
    for side, found in rates.items():
        rate = statistics.median(found)
        print(f"{name:24} {side:24} {rate:9.0f} lives/s   chongming/this {first / rate:5.2f}")


def load(path: Path, rows: int) -> None:
    """Bulk-load that many rows; one in a hundred is running."""
    store = SqliteTaskStore(path)
    writer = StoreWriter(store)
    machine, request = created("seed")
    machine.touch(epoch=writer.write(request).epoch)
    for step in STEPS[:-1]:
        writer.write(moved(machine, step))
    writer.close()
    store.close()
    names = [f'"{column.name}"' for column in columns_of(type(machine.snapshot))]
    changed = {
        '"task_id"': "printf('t%07d', n)",
        '"status"': "CASE WHEN n % 100 = 0 THEN 'running' ELSE 'succeeded' END",
        '"ended_at"': "CASE WHEN n % 100 = 0 THEN NULL ELSE updated_at END",
        '"owner"': "'bench#1'",
        '"created_at"': "printf('2026-05-01T%02d:%02d:%02d.%06dZ', n / 3600000, n / 60000 % 60, n / 1000 % 60, n)",
    }
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        no_triggers(path)
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("BEGIN")
        connection.execute(
            f"WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {rows}) "
            f"INSERT INTO tasks ({', '.join(names)}) SELECT {', '.join(changed.get(name, name) for name in names)} "
            "FROM numbers CROSS JOIN (SELECT * FROM tasks WHERE task_id = 'seed')"
        )
        connection.execute("DELETE FROM counters")
        connection.execute("INSERT INTO counters SELECT status, COUNT(*) FROM tasks GROUP BY status")
        connection.execute("COMMIT")
        for statement in STATEMENTS:
            if statement.startswith("CREATE TRIGGER"):
                connection.execute(statement)


def reading(rows: int, repeats: int) -> None:
    """Lists and counts among many rows, beside the raw fetch of the same columns."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.db"
        load(path, rows)
        with closing(SqliteTaskStore(path)) as store, closing(sqlite3.connect(path)) as plain:
            running = next(status for status in TaskStatus if status.value == "running")
            wanted = TaskQuery(statuses=frozenset({running}), newest=True, limit=100)
            order = "FROM tasks WHERE status = 'running' ORDER BY created_at DESC, task_id DESC LIMIT 100"
            columns = ", ".join(f'"{column.name}"' for column in columns_of(type(store.query(wanted)[0])))
            narrow = f"SELECT task_id, status, created_at, started_at, updated_at {order}"
            calls: dict[str, Callable[[], Any]] = {
                "id, status, times of the 100 newest running": lambda: plain.execute(narrow).fetchall(),
                "counts()": store.counts,
                "100 full snapshots": lambda: store.query(wanted),
                "raw fetch of the same columns": lambda: plain.execute(f"SELECT {columns} {order}").fetchall(),
            }
            times = alternate(calls, repeats)
        for name, spent in times.items():
            print(f"{rows:9} rows  {name:44} {statistics.median(spent) * 1000:8.3f} ms")
        ratio = statistics.median(times["100 full snapshots"]) / statistics.median(
            times["raw fetch of the same columns"]
        )
        print(f"{rows:9} rows  full snapshots / raw fetch {ratio:.2f}")


def alternate(calls: dict[str, Callable[[], Any]], repeats: int) -> dict[str, list[float]]:
    """Seconds of each call, the calls taking turns."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            begun = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - begun)
    return times


def profile(lives: int) -> None:
    """Where the time of batches goes."""
    profiler = cProfile.Profile()
    with tempfile.TemporaryDirectory() as folder:
        profiler.runcall(our_batches, Path(folder) / "bench.db", lives // BATCH * BATCH)
    pstats.Stats(profiler).sort_stats("tottime").print_stats(25)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stores", description=__doc__.splitlines()[0])
    parser.add_argument("--lives", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--profile", action="store_true", help="where the time of batches goes, and nothing else")
    given = parser.parse_args()
    if given.profile:
        profile(given.lives)
        return
    for name, contenders in sides(given.lives).items():
        lives = given.lives * 4 // BATCH * BATCH if name.startswith("batches") else given.lives
        compare(name, contenders, lives, given.rounds)
    reading(given.rows, 50)


if __name__ == "__main__":
    main()
