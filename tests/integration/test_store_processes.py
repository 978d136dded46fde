"""Several processes and many threads on one SQLite file: each version has one winner, and nobody meets a lock error."""

from __future__ import annotations

import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from chongming_spec.errors import ConcurrencyConflict
from chongming_spec.snapshot import Progress
from chongming_spec.stores import Command, OwnerRecord, TaskQuery
from chongming_task.clock import utcnow
from chongming_task.stores.sqlite import SqliteTaskStore
from chongming_task.testing._contract import OWNER, Life
from tests.faults.nursery import nursery
from tests.faults.scenes import BEGINS, all_records, count, findings


def test_of_two_writers_one_wins_each_version(tmp_path: Path) -> None:
    """D22: two processes write one task again and again; every version was won once, by whom the history names."""
    path, attempts = tmp_path / "tasks.db", count("CONTENDED", 500, 10_000)
    store = SqliteTaskStore(path)
    life = Life("t", utcnow)
    life.create(store)
    life.does("start").save(store)
    with nursery() as children:
        notes = [tmp_path / "one", tmp_path / "two"]
        pids = [
            children.start("contend", path=str(path), acks=str(note), owner=f"{note.name}#1", attempts=attempts // 2)
            for note in notes
        ]
        assert [children.wait(pid) for pid in pids] == [0, 0]
    said = [line.split() for note in notes for line in note.read_text(encoding="utf-8").splitlines()]
    won = sorted((int(word), by) for word, by in said if word != "lost")
    lost = sum(int(number) for word, number in said if word == "lost")
    assert [version for version, _ in won] == list(range(3, len(won) + 3))
    assert won == [(one.version, one.owner) for one in store.history("t", since_version=2)]
    assert len(won) + lost == attempts // 2 * 2
    assert len({by for _, by in won}) == 2
    store.close()
    assert findings(path) == []


def test_many_processes_share_a_file_without_lock_errors(tmp_path: Path) -> None:
    """P-106, D23, D29: writers and readers in their own processes; no lock error reaches anybody, all is written."""
    writers, tasks, readers = count("WRITERS", 4, 8), count("WRITER_TASKS", 16, 200), count("READERS", 2, 4)
    path = tmp_path / "tasks.db"
    SqliteTaskStore(path).close()
    with nursery() as children:
        orders = [
            children.start(
                "write_lives",
                path=str(path),
                acks=str(tmp_path / f"w{n}"),
                owner=f"w{n}#1",
                threads=2,
                lives=tasks // 2,
            )
            for n in range(writers)
        ]
        looks = [
            children.start("list_tasks", path=str(path), acks=str(tmp_path / f"r{n}"), rows=writers * tasks)
            for n in range(readers)
        ]
        assert [children.wait(pid) for pid in [*orders, *looks]] == [0] * (writers + readers)
    store = SqliteTaskStore(path)
    assert sum(store.counts().values()) == len(store.query()) == writers * tasks
    acked = [line for n in range(writers) for line in (tmp_path / f"w{n}").read_text(encoding="utf-8").splitlines()]
    assert sorted(acked) == sorted(f"{one.task_id} {one.version}" for one in all_records(store))
    store.close()
    assert findings(path) == []


class Mixed:
    """Threads that do different things to one store; what went wrong, and what was accepted."""

    def __init__(self, store: SqliteTaskStore, rounds: int) -> None:
        self.store, self.rounds = store, rounds
        self.wrong: list[BaseException] = []
        self.accepted: dict[str, int] = {}

    def run(self, threads: int) -> None:
        jobs = (self.save, self.query, self.touch, self.claim)
        all_threads = [threading.Thread(target=self.guarded, args=(jobs[n % 4], n)) for n in range(threads)]
        for one in all_threads:
            one.start()
        for one in all_threads:
            one.join()

    def guarded(self, job: Any, number: int) -> None:
        try:
            job(number)
        except BaseException as error:
            self.wrong.append(error)

    def save(self, number: int) -> None:
        for turn in range(self.rounds):
            life = Life(f"{number}/{turn}", utcnow)
            life.create(self.store)
            for verb, request in BEGINS:
                self.accepted[life.task_id] = life.does(verb, **request).save(self.store).status_version

    def query(self, number: int) -> None:
        """Pages are left half read."""
        for _ in range(self.rounds * 2):
            next(iter(self.store.query(TaskQuery(limit=5, newest=True))), None)
            next(iter(self.store.feed(0, 50)), None)
            self.store.counts()

    def touch(self, number: int) -> None:
        for turn in range(self.rounds * 2):
            row = self.store.get(f"{number - 2}/{turn // 2}")
            if row is not None:
                self.store.touch(row.task_id, owner=OWNER, epoch=row.epoch, progress=Progress(done=turn))

    def claim(self, number: int) -> None:
        for turn in range(self.rounds):
            now = utcnow()
            until = now + timedelta(hours=1)
            self.store.submit_command(Command(f"{number}/{turn}", "x", "stop", "ann", now, until, owner=OWNER))
            for one in self.store.claim_commands(owner=OWNER, lease_seconds=60):
                assert self.store.release_command(one.command_id, one.claim_token or "")


def test_threads_mix_everything_on_one_store(tmp_path: Path) -> None:
    """P-109, D29: no half-read cursor breaks a commit; whatever was accepted is readable afterwards."""
    path = tmp_path / "tasks.db"
    store = SqliteTaskStore(path)
    store.renew(OwnerRecord(OWNER), utcnow() + timedelta(minutes=5))
    mixed = Mixed(store, count("MIXED_ROUNDS", 6, 400))
    mixed.run(threads=16)
    assert mixed.wrong == []
    assert {one.task_id: one.status_version for one in store.query()} == mixed.accepted
    store.close()
    assert findings(path) == []


def test_who_loses_the_race_changes_nothing(tmp_path: Path) -> None:
    """D22: two stores on one file, both at the same version; the second hears it and leaves no trace."""
    path = tmp_path / "tasks.db"
    first, second = SqliteTaskStore(path), SqliteTaskStore(path)
    life = Life("t", utcnow)
    row = life.create(first)
    twin = life.copy_of(row)
    life.does("start").save(first)
    before = first.history("t")
    with pytest.raises(ConcurrencyConflict) as caught:
        twin.does("cancel", actor="ann").save(second)
    assert (caught.value.__dict__["expected"], caught.value.__dict__["actual"]) == (1, 2)
    assert second.history("t") == before
    first.close()
    second.close()
    assert findings(path) == []
