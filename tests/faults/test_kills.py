"""Processes that write are killed at random instants; what was acknowledged is there, and nothing that was not written.

The scenario files live long: many processes come and go on each, as on a machine that crashes every day.
"""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from chongming_spec.errors import StoreError
from chongming_task.stores.sqlite import SqliteTaskStore
from tests.faults.nursery import nursery
from tests.faults.scenes import all_records, bones, count, dice, findings, run_lives

SCENARIOS = {"one writer, one thread": (1, 1), "one writer, four threads": (1, 4), "two writers": (2, 2)}


def acknowledged(path: Path) -> list[tuple[str, int]]:
    """What the children said before they died."""
    if not path.exists():
        return []
    words = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    return [(task_id, int(version)) for task_id, version in words]


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_was_acknowledged_survives_a_kill(tmp_path: Path, name: str) -> None:
    """D22, D23, D29: after kill -9 at any instant every acknowledged version is there and an audit finds nothing."""
    writers, threads = SCENARIOS[name]
    choices = dice(f"kills/{name}")
    cycles = count("KILLS", 102, 5_001) // len(SCENARIOS)
    path, acked = tmp_path / "tasks.db", 0
    with nursery() as children:
        for cycle in range(cycles):
            if cycle % 50 == 49:
                path = tmp_path / f"tasks-{cycle}.db"
            notes = tmp_path / f"acks-{cycle}"
            pids = [
                children.start("write_lives", path=str(path), acks=str(notes), owner=f"w{n}#{cycle}", threads=threads)
                for n in range(writers)
            ]
            time.sleep(choices.uniform(0, 0.1))  # the random instant
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            for pid in pids:
                assert os.WTERMSIG(children.wait(pid)) == signal.SIGKILL
            acked += check(path, notes)
    assert acked > 0


def check(path: Path, notes: Path) -> int:
    """Everything that was acknowledged is there; nothing is left half done."""
    told = acknowledged(notes)
    if not path.exists():
        assert told == []
        return 0
    store = SqliteTaskStore(path)
    found = bones(all_records(store))
    rows = {one.task_id: one.status_version for one in store.query()}
    store.close()
    assert rows == {task_id: history[-1][0] for task_id, history in found.items()}
    missing = [(task_id, version) for task_id, version in told if rows.get(task_id, 0) < version]
    assert missing == []
    assert findings(path) == []
    return len(told)


def killed_in_a_transaction(folder: Path) -> Path:
    """A database as a process leaves it that was killed while it wrote with a rollback journal."""
    path, copy = folder / "alive.db", folder / "killed.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA cache_size=1")
        connection.execute("CREATE TABLE first (cell)")
        connection.execute("DROP TABLE first")
        connection.execute("BEGIN")
        connection.execute("CREATE TABLE half (cell)")
        connection.executemany("INSERT INTO half VALUES (?)", [("x" * 2_000,)] * 50)
        for suffix in ("", "-journal"):
            shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
    return copy


def test_a_file_whose_creator_was_killed_opens(tmp_path: Path) -> None:
    """D29: what it left half done is undone by whoever may write; nobody is shut out of the file for ever."""
    path = killed_in_a_transaction(tmp_path)
    with pytest.raises(StoreError):
        SqliteTaskStore(path, read_only=True)
    store = SqliteTaskStore(path)
    run_lives(store, 4)
    store.close()
    assert findings(path) == []
