"""Real errors of real files: the lock held by another process, no space, a file destroyed while it is open (D29)."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chongming_spec.errors import StoreError
from chongming_spec.snapshot import TaskSnapshot
from chongming_task.clock import utcnow
from chongming_task.stores import _sqlite_file
from chongming_task.stores.sqlite import SqliteTaskStore
from chongming_task.stores.writer import StoreWriter
from chongming_task.testing._contract import Life
from tests.faults.nursery import nursery
from tests.faults.scenes import all_records, bones, count, dice, findings, is_prefix, run_lives


def first_word(path: Path) -> str:
    """What the child has said, once it has."""
    limit = time.monotonic() + 20
    while not path.exists() or not path.read_text(encoding="utf-8"):
        assert time.monotonic() < limit, "the child says nothing"
        os.sched_yield()
    return path.read_text(encoding="utf-8").split()[0]


def test_a_lock_that_another_process_holds_is_told_and_outlived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLITE_BUSY, D23, D29, P-106: the caller hears who blocks, readers go on, and the writer lands after the kill."""
    monkeypatch.setattr(_sqlite_file, "BUSY_MS", 50)
    path, said = tmp_path / "tasks.db", tmp_path / "said"
    store = SqliteTaskStore(path)
    early, late = Life("early", utcnow), Life("late", utcnow)
    early.create(store)
    with nursery() as children:
        holder = children.start("hold_the_lock", path=str(path), acks=str(said))
        assert first_word(said) == "locked"
        with pytest.raises(StoreError, match="another process held"):
            early.does("start").save(store)
        assert [one.task_id for one in store.query()] == ["early"]
        answers: list[Any] = []
        writer = StoreWriter(store)
        writer.submit(early.request(), answers.append)
        while writer.last_error is None:
            os.sched_yield()
        assert "another process held" in str(writer.last_error)
        os.kill(holder, signal.SIGKILL)
        children.wait(holder)
    assert writer.close() == ()
    assert [one.status_version for one in answers] == [2]
    late.create(store)
    store.close()
    assert findings(path) == []


def fill(store: SqliteTaskStore, prefix: str) -> list[tuple[str, int]]:
    """Lives until there is no space; what was acknowledged."""
    acked: list[tuple[str, int]] = []

    class Named(Life):
        def __init__(self, task_id: str, *given: Any, **columns: Any) -> None:
            super().__init__(f"{prefix}{task_id}", *given, **columns)

    def heard(stored: TaskSnapshot) -> None:
        acked.append((stored.task_id, stored.status_version))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.faults.scenes.Life", Named)
        with pytest.raises(StoreError, match="no space"):
            run_lives(store, 10_000, acked=heard)
    return acked


def test_a_full_disk_half_writes_nothing(tmp_path: Path) -> None:
    """SQLITE_FULL, D22, D29, P-110: what was acknowledged stays, reading goes on, and so does writing, given room."""
    choices = dice("full")
    for number in range(count("FULL", 4, 500)):
        path = tmp_path / f"{number}.db"
        store = SqliteTaskStore(path, synchronous="normal")
        connection, _ = store._file._connection("write")
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        room = choices.randint(1, 40)
        connection.execute(f"PRAGMA max_page_count={pages + room}").fetchone()
        acked = fill(store, "a")
        rows = {one.task_id: one.status_version for one in store.query()}
        assert rows == dict(acked)
        assert sum(store.counts().values()) == len(rows)
        connection.execute("PRAGMA max_page_count=1000000").fetchone()
        run_lives(store, 4)
        store.close()
        assert findings(path) == []


def tells(call: Callable[[], Any]) -> bool:
    """Whether it raised StoreError; nothing else may come."""
    try:
        call()
    except StoreError:
        return True
    return False


@pytest.mark.parametrize("how", ["overwritten", "truncated", "noise"])
def test_a_file_destroyed_while_open_is_told(tmp_path: Path, how: str) -> None:
    """NOTADB, CORRUPT, IOERR, D29: StoreError and nothing else, from reads and writes, and from who opens it next."""
    path = tmp_path / "tasks.db"
    store = SqliteTaskStore(path)
    run_lives(store, 8)
    whole = bones(all_records(store))
    store.close()
    store = SqliteTaskStore(path)
    with path.open("r+b") as file:
        if how == "overwritten":
            file.write(b"no database any more" * 500)
        elif how == "truncated":
            file.truncate(5_000)
        else:
            file.seek(4096)
            file.write(dice("noise").randbytes(path.stat().st_size - 4096))
    calls: tuple[Callable[[], Any], ...] = (
        lambda: is_prefix(bones(all_records(store)), whole) or pytest.fail("an invented history"),
        store.query,
        store.counts,
        lambda: Life("fresh", utcnow).create(store),
        store.close,
        lambda: SqliteTaskStore(path).close(),
    )
    assert sum(tells(call) for call in calls) > 0
    assert tells(lambda: findings(path)) or findings(path) != []
