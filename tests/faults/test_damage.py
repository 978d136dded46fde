"""Copies of a good file, damaged at random: bytes flipped, pages zeroed, ends cut off, companions gone, rows spoiled.

Nothing may crash or hang, a store raises StoreError and nothing else, and no state is invented: what can be read is a
prefix of what was written, or the audit says that it is not.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from chongming_spec.errors import StoreCorruption, StoreError, TaskError
from chongming_spec.snapshot import AttemptRecord, TaskSnapshot, Transition
from chongming_spec.stores import Command, OwnerRecord, RunRecord, TaskQuery, Tombstone
from chongming_task.clock import utcnow
from chongming_task.stores._codec import columns_of
from chongming_task.stores.sqlite import SqliteTaskStore
from chongming_task.testing._contract import OTHER, OWNER, ContractBase, Life
from tests.faults.scenes import Bones, all_records, bones, count, dice, findings, is_prefix, run_lives

PAGE = 4096
TASKS = 24


class Tools(ContractBase):
    """The command, lease and lives of the store contract."""


def furnish(path: Path) -> None:
    """A file with something in each table."""
    store = SqliteTaskStore(path)
    run_lives(store, TASKS)
    tools = Tools()
    store.renew(OwnerRecord(OWNER, host="h", pid=1), utcnow())
    for name in ("k1", "k2"):
        store.submit_command(tools.ask(name, "t1"))
    store.claim_commands(owner=OWNER, lease_seconds=1)
    store.save_run(RunRecord("r", "run", OWNER, utcnow(), utcnow(), structure={"a": []}), expect_version=0)
    store.add_lines("t0", [(utcnow(), 20, "a line")])
    store.prune(keep_terminal=TASKS - 10)
    store.close()


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A furnished file, closed and checkpointed."""
    path = tmp_path_factory.mktemp("good") / "tasks.db"
    furnish(path)
    assert findings(path) == []
    return path


@pytest.fixture(scope="module")
def written(good: Path) -> Bones:
    """What was written into it."""
    store = SqliteTaskStore(good, read_only=True)
    whole = bones(all_records(store))
    store.close()
    return whole


def attempt(call: Callable[[], Any]) -> Any:
    """The result, or None for the one error that is allowed."""
    try:
        return call()
    except StoreError:
        return None


def read_everything(store: SqliteTaskStore) -> tuple[list[Transition], list[TaskSnapshot], dict[Any, int] | None]:
    """All that a store can read, each method on its own; only StoreError may come out."""
    records: list[Transition] = []
    rows = list(attempt(store.query) or [])
    rows += attempt(lambda: store.query(TaskQuery(newest=True, limit=5, owner=OWNER))) or []
    for number in range(TASKS + 1):
        task_id = f"t{number}"
        row = attempt(partial(store.get, task_id))
        rows += [] if row is None else [row]
        records += attempt(partial(store.history, task_id)) or []
        for read in (store.attempts, store.arguments, store.lines, store.tombstone):
            attempt(partial(read, task_id))
    for call in (store.owners, store.runs, partial(store.command, "k1"), partial(store.get_run, "r")):
        attempt(call)
    attempt(lambda: store.feed(0, 1_000))
    return records, rows, attempt(store.counts)


def write_something(store: SqliteTaskStore) -> None:
    """Writes into what may be damaged: they succeed, or a TaskError says why not."""
    tools, life = Tools(), Life("new", utcnow)
    fresh = tools.ask("k3", "t3")
    calls: tuple[Callable[[], Any], ...] = (
        lambda: life.create(store),
        lambda: life.does("start").save(store),
        lambda: store.touch("t3", owner=OWNER, epoch=1),
        lambda: store.submit_command(fresh),
        lambda: store.claim_commands(owner=OWNER, lease_seconds=1),
        lambda: store.settle_commands(owner=OTHER),
        lambda: store.renew(OwnerRecord(OWNER), utcnow()),
        lambda: store.prune(keep_terminal=2),
    )
    for call in calls:
        try:
            call()
        except TaskError:
            continue


def examine(path: Path, written: Bones, what: str) -> str:
    """Read a damaged file, judge what was read, then write into it; what became of it."""
    try:
        store = SqliteTaskStore(path, read_only=True)
    except StoreError:
        return "refused"
    try:
        records, rows, _ = read_everything(store)
    finally:
        store.close()
    shown = [
        (one.task_id, (one.status_version, one.status.value, one.epoch, one.generation, one.attempt)) for one in rows
    ]
    true = is_prefix(bones(records), written) and all(bone in written.get(task_id, ()) for task_id, bone in shown)
    if not true:
        assert attempt(lambda: findings(path)) != [], f"{what}: an invented state that the audit does not see"
    try:
        store = SqliteTaskStore(path)
    except StoreError:
        return "read only" if true else "reported"
    try:
        write_something(store)
    finally:
        store.close()
    return "read" if true else "reported"


def flip(data: bytearray, choices: random.Random) -> str:
    """A few bits, often near the beginning of a page, where its structure stands."""
    places = []
    for _ in range(choices.randint(1, 8)):
        place = choices.randrange(len(data))
        if choices.random() < 0.5:
            place = place // PAGE * PAGE + choices.randrange(64)
        data[place] ^= 1 << choices.randrange(8)
        places.append(place)
    return f"flipped {places}"


def zero(data: bytearray, choices: random.Random) -> str:
    """One page of zeros."""
    page = choices.randrange(len(data) // PAGE)
    data[page * PAGE : (page + 1) * PAGE] = bytes(PAGE)
    return f"zeroed page {page}"


def scribble(data: bytearray, choices: random.Random) -> str:
    """Some bytes replaced by others."""
    place = choices.randrange(len(data))
    data[place : place + 32] = choices.randbytes(min(32, len(data) - place))
    return f"scribbled at {place}"


def cut(data: bytearray, choices: random.Random) -> str:
    """The end is missing."""
    size = choices.randrange(len(data))
    del data[size:]
    return f"cut at {size}"


@pytest.mark.parametrize("mutation", [flip, zero, scribble, cut])
def test_no_damage_crashes_hangs_or_invents(
    tmp_path: Path, good: Path, written: Bones, mutation: Callable[[bytearray, random.Random], str]
) -> None:
    """D29: StoreError and nothing else; what can be read was written, or is reported."""
    choices, seen = dice(mutation.__name__), set()
    for number in range(count("MUTATIONS", 120, 50_000) // 4):
        data = bytearray(good.read_bytes())
        what = mutation(data, choices)
        path = tmp_path / f"{number}.db"
        path.write_bytes(data)
        seen.add(examine(path, written, what))
        for left in tmp_path.glob(f"{number}.db*"):
            left.unlink()
    assert seen


@pytest.mark.parametrize("missing", ["-wal", "-shm", "both"])
def test_deleted_companions_leave_a_prefix(tmp_path: Path, missing: str) -> None:
    """D29: without its log a file is what it was at the last checkpoint; without its index it is whole."""
    path = tmp_path / "tasks.db"
    store = SqliteTaskStore(path)
    run_lives(store, 4)
    copy = tmp_path / "copy.db"
    for suffix in ("", "-wal", "-shm"):
        shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
    whole = bones(all_records(store))
    store.close()
    for suffix in ("-wal", "-shm"):
        if missing in (suffix, "both"):
            Path(f"{copy}{suffix}").unlink()
    opened = SqliteTaskStore(copy)
    found = bones(all_records(opened))
    opened.close()
    assert is_prefix(found, whole)
    assert (found == whole) is (missing == "-shm")
    assert findings(copy) == []


TABLES: dict[str, Any] = {
    "tasks": TaskSnapshot,
    "transitions": Transition,
    "attempts": AttemptRecord,
    "commands": Command,
    "owners": OwnerRecord,
    "runs": RunRecord,
    "tombstones": Tombstone,
}
NONSENSE = ("NULL", "CAST(x'fffe' AS TEXT)", "x'00ff'", "-1", "9e999", "''", "'nonsense'", "'{'", "'[NaN]'", "2.5")


def spoil(path: Path, statement: str) -> bool:
    """Change a row behind the back of all triggers; False where not even that can be done."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("BEGIN")
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        try:
            connection.execute(statement)
        except sqlite3.IntegrityError:
            return False
        for _, sql in triggers:
            connection.execute(sql)
        connection.execute("COMMIT")
    return True


def cases() -> list[tuple[str, str]]:
    """Each column of each table with each nonsense; a sample of them in a test run."""
    whole = [
        (table, f'UPDATE {table} SET "{column.name}" = {value} WHERE rowid = (SELECT MIN(rowid) FROM {table})')
        if table != "attempts"
        else (table, f"UPDATE attempts SET \"{column.name}\" = {value} WHERE task_id = 't1' AND attempt = 1")
        for table, kind in TABLES.items()
        for column in columns_of(kind)
        for value in NONSENSE
    ]
    some = count("ROWS", 40, 10_000)
    return whole if some >= len(whole) else dice("rows").sample(whole, some)


def test_a_malformed_row_is_reported_and_hides_no_other(tmp_path: Path, good: Path, written: Bones) -> None:
    """D29: the good rows are all there beside it, and whatever is done with the bad one is answered by a TaskError."""
    with closing(SqliteTaskStore(good, read_only=True)) as store:
        rows = {one.task_id: one for one in store.query()}
    spoilt = 0
    for number, (table, statement) in enumerate(cases()):
        path = tmp_path / f"{number}.db"
        shutil.copy(good, path)
        if spoil(path, statement):
            spoilt += 1
            with closing(SqliteTaskStore(path, read_only=True)) as store:
                result = store.query()
            untouched = [one for one in result if rows.get(one.task_id) == one]
            missing = len(rows) - len(untouched)
            assert missing <= (table in ("tasks", "owners")) * (1 if table == "tasks" else len(rows)), statement
            assert len(result) + len(result.corrupt) == len(rows), statement
            examine(path, written, statement)
        path.unlink()
    assert spoilt > 5


@pytest.mark.parametrize(
    ("statement", "call"),
    [
        ("UPDATE counters SET status = 'nonsense' WHERE status = 'succeeded'", lambda store: store.counts()),
        ("INSERT INTO lines VALUES ('t1', 1, 'nonsense', 20, 'a line')", lambda store: store.lines("t1")),
        ("INSERT INTO lines VALUES ('t1', 1, x'ff', 20, 'a line')", lambda store: store.lines("t1")),
        ("UPDATE tasks SET arguments = '{'", lambda store: store.arguments("t1")),
        ("UPDATE tasks SET arguments = x'ff'", lambda store: store.arguments("t1")),
        ("DELETE FROM meta WHERE key = 'epoch'", lambda store: Life("new", utcnow).create(store)),
        ("UPDATE meta SET value = -7 WHERE key = 'epoch'", lambda store: Life("new", utcnow).create(store)),
    ],
)
def test_damage_beside_the_rows_is_told_as_well(
    tmp_path: Path, good: Path, statement: str, call: Callable[[SqliteTaskStore], Any]
) -> None:
    """D24, D29: counters, lines, arguments and the sequence of epochs: StoreCorruption, and the file stays usable."""
    path = tmp_path / "tasks.db"
    shutil.copy(good, path)
    assert spoil(path, statement)
    with closing(SqliteTaskStore(path)) as store:
        with pytest.raises(StoreCorruption, match=r"cannot be read|epochs"):
            call(store)
        assert store.query()
