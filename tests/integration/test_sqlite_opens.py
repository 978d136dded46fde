"""What may be opened: a file that cannot be used is refused with what was found and what to do (D29)."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from chongming_spec.audit import audit
from chongming_spec.errors import ConfigurationError, StoreError
from chongming_task.stores import _migrations, _sqlite_file
from chongming_task.stores._audit_source import read
from chongming_task.stores._generated_schema import FINGERPRINT, SCHEMA_VERSION, SPEC_VERSION
from chongming_task.stores.sqlite import SqliteTaskStore
from tests.integration.sqlite_lives import START, Life, Time, damage, execute

MAJOR = int(SPEC_VERSION.split(".")[0])


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A closed database with one task."""
    path = tmp_path / "tasks.db"
    store = SqliteTaskStore(path)
    Life(store, "t", Time()).walk("mark_queued")
    store.close()
    return path


def everything(folder: Path) -> dict[Path, bytes]:
    """Each file below a folder with its bytes."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(path: Path, *, read_only: bool = False) -> str:
    """The message of the refusal; nothing may have been created or altered by it."""
    before, listed = everything(path.parent), sorted(path.parent.rglob("*")) if path.parent.exists() else []
    with pytest.raises(StoreError) as caught:
        SqliteTaskStore(path, read_only=read_only)
    assert everything(path.parent) == before
    assert (sorted(path.parent.rglob("*")) if path.parent.exists() else []) == listed
    return str(caught.value)


def meta(**values: str) -> Callable[[Path], None]:
    """A spoiler: other promises in the file."""

    def spoil(path: Path) -> None:
        damage(path, *(f"UPDATE meta SET value = '{value}' WHERE key = '{key}'" for key, value in values.items()))

    return spoil


def _foreign(path: Path) -> None:
    path.unlink()
    execute(path, "CREATE TABLE photos (name)")


def _text(path: Path) -> None:
    path.write_bytes(b"these are my notes, not a database")


def _directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def _header_only(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:50])


UNUSABLE: dict[str, tuple[Callable[[Path], None], tuple[str, ...]]] = {
    "a newer schema": (meta(schema_version="99"), ("99", f"knows {SCHEMA_VERSION}", "use the newer library")),
    "an older schema": (meta(schema_version="0"), ("schema version 0", "from 0 to 1", "use the library")),
    "no schema version": (meta(schema_version="new"), ("schema version new", "use the newer library")),
    "another major": (meta(spec_version=f"{MAJOR + 1}.0"), (f"spec {MAJOR + 1}.0", SPEC_VERSION, "use the library")),
    "another fingerprint": (meta(fingerprint="0123"), ("0123", FINGERPRINT, "use the library that wrote it")),
    "another database": (_foreign, ("something else", "choose another file")),
    "text": (_text, ("not an SQLite database", "these ar", "choose another file")),
    "a directory": (_directory, ("is a directory", "tasks.db/tasks.db")),
    "a header and no more": (_header_only, ("tasks.db",)),
    "half a file": (_cut, ("tasks.db", "damaged", "recover")),
}
if sys.platform != "win32":
    UNUSABLE["a named pipe"] = (_pipe, ("no regular file",))


@pytest.mark.parametrize("read_only", [False, True], ids=["to write", "to read"])
@pytest.mark.parametrize(("spoil", "said"), UNUSABLE.values(), ids=UNUSABLE.keys())
def test_an_unusable_file_is_refused(
    spoil: Callable[[Path], None], said: tuple[str, ...], read_only: bool, database: Path
) -> None:
    """Found and wanted stand in the message, and not a byte changes, whether it was to be written or only read."""
    spoil(database)
    message = refused(database, read_only=read_only)
    if read_only and "from 0 to 1" in said:
        said = ("schema version 0", "open it once for writing")
    assert [part for part in said if part not in message] == []


def test_a_foreign_database_keeps_its_journal(tmp_path: Path) -> None:
    """A database of something else is not even switched to write-ahead logging."""
    path = tmp_path / "photos.db"
    execute(path, "CREATE TABLE photos (name)")
    refused(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_missing_folder_is_not_made(tmp_path: Path) -> None:
    """Where to put the file is the caller's decision."""
    assert "create it first" in refused(tmp_path / "no" / "tasks.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [None, b""], ids=["missing", "empty"])
def test_nothing_is_created_to_be_read(content: bytes | None, tmp_path: Path) -> None:
    """D29: read-only faces create nothing, not even tables in an empty file."""
    path = tmp_path / "tasks.db"
    if content is not None:
        path.write_bytes(content)
    assert "nothing was created" in refused(path, read_only=True)


def test_memory_cannot_be_only_read() -> None:
    """`:memory:` begins empty, so reading alone makes no sense; a wrong `synchronous` is named too."""
    with pytest.raises(StoreError, match="nothing was created"):
        SqliteTaskStore(":memory:", read_only=True)
    with pytest.raises(ConfigurationError, match="'full' or 'normal', not 'off'"):
        SqliteTaskStore(":memory:", synchronous="off")


@pytest.mark.parametrize("kind", sorted(_sqlite_file.NETWORK_FILE_SYSTEMS))
def test_a_network_file_system_is_refused(kind: str, tmp_path: Path) -> None:
    """SQLite loses writes there; the mount that holds the folder decides, also with a blank in its name."""
    folder = tmp_path / "team share"
    folder.mkdir()
    mounts = tmp_path / "mounts"
    point = str(folder).replace(" ", "\\040")
    mounts.write_text(f"broken\nroot / ext4 rw 0 0\nhost:/x {point} {kind} rw 0 0\n")
    with pytest.raises(StoreError, match=f"network file system \\({kind}\\).*local disk"):
        _sqlite_file.check_path(folder / "tasks.db", mounts=str(mounts))
    _sqlite_file.check_path(tmp_path / "tasks.db", mounts=str(mounts))
    _sqlite_file.check_path(folder / "tasks.db", mounts=str(tmp_path / "none"))
    assert list(folder.iterdir()) == []


def test_a_file_without_permission_is_refused(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the system says stands in the message."""

    opened = Path.open

    def denied(self: Path, mode: str = "r", **more: Any) -> Any:
        if mode == "rb":
            raise PermissionError(13, "Permission denied")
        return opened(self, mode, **more)

    monkeypatch.setattr(Path, "open", denied)
    with pytest.raises(StoreError, match="cannot be read: Permission denied; check its permissions"):
        SqliteTaskStore(database)


def test_a_folder_that_cannot_be_written_is_read_all_the_same(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy on a read-only disk can be read and audited, with nothing beside it."""
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    store = SqliteTaskStore(database, read_only=True)
    assert store.get("t") is not None
    with pytest.raises(StoreError, match="cannot be written; check its permissions, or open it read-only"):
        Life(store, "u", Time())
    store.close()
    assert sorted(database.parent.iterdir()) == [database]


# Older schemas


def know(monkeypatch: pytest.MonkeyPatch, steps: Mapping[int, tuple[str, ...]]) -> None:
    """Let the library know these steps."""
    for function in (_migrations.migrate, _migrations.check_way):
        monkeypatch.setitem(function.__kwdefaults__ or {}, "migrations", steps)


@pytest.fixture
def older(database: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database of the schema before this one, and the way from there."""
    damage(database, f"UPDATE meta SET value = '{SCHEMA_VERSION - 1}' WHERE key = 'schema_version'")
    steps = {SCHEMA_VERSION - 1: ("CREATE TABLE added (x)", "INSERT INTO added VALUES (1)")}
    know(monkeypatch, steps)
    return database


def test_an_older_schema_is_migrated_after_a_copy_is_kept(older: Path) -> None:
    """One transaction, and the file as it was stays beside it (D29)."""
    store = SqliteTaskStore(older)
    assert store.get("t") is not None
    store.close()
    with closing(sqlite3.connect(older)) as connection:
        assert connection.execute("SELECT x FROM added").fetchall() == [(1,)]
        (version,) = connection.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
        assert version == str(SCHEMA_VERSION)
    with closing(sqlite3.connect(f"{older}.schema-{SCHEMA_VERSION - 1}")) as kept:
        assert kept.execute("SELECT count(*) FROM sqlite_master WHERE name = 'added'").fetchone() == (0,)
        assert kept.execute("SELECT task_id FROM tasks").fetchall() == [("t",)]
    SqliteTaskStore(older).close()


def test_a_migration_that_fails_leaves_the_old_file(older: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All steps or none: the error is told, the old schema stands."""
    steps = {SCHEMA_VERSION - 1: ("CREATE TABLE added (x)", "INSERT INTO nowhere VALUES (1)")}
    know(monkeypatch, steps)
    with pytest.raises(StoreError, match="nowhere"):
        SqliteTaskStore(older)
    with closing(sqlite3.connect(older)) as connection:
        assert connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'added'").fetchone() == (0,)


def test_two_processes_migrate_once(older: Path) -> None:
    """Whoever comes second finds it done: the steps are not taken twice."""
    with closing(sqlite3.connect(older, isolation_level=None)) as first:
        _migrations.migrate(first, str(older), SCHEMA_VERSION - 1)
        _migrations.migrate(first, str(older), SCHEMA_VERSION - 1)
        assert first.execute("SELECT x FROM added").fetchall() == [(1,)]


def test_a_minor_version_of_the_spec_is_no_hindrance(database: Path) -> None:
    """Another minor version may have another fingerprint."""
    meta(spec_version=f"{MAJOR}.99", fingerprint="0123")(database)
    SqliteTaskStore(database).close()


# In use


def test_a_closed_store_says_so(database: Path) -> None:
    """Every later call, and closing again does nothing."""
    store = SqliteTaskStore(database)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="is closed; open a new one"):
        store.get("t")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_must_open_its_own(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection carried over a fork corrupts databases; the child is told."""
    store = SqliteTaskStore(database)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(StoreError, match="opened in another process; open one after the fork"):
        store.get("t")
    monkeypatch.undo()
    store.close()


def test_a_locked_database_says_so(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits too long for another writer learns that, and nothing was written."""
    monkeypatch.setattr(_sqlite_file, "BUSY_MS", 20)
    store = SqliteTaskStore(database)
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"held .*tasks\.db for 0\.02 s; try again"):
            Life(store, "u", Time())
        other.rollback()
    assert store.get("u") is None
    store.close()


def test_what_is_refused_by_a_trigger_is_told_as_corruption(database: Path) -> None:
    """The database's own refusal reaches the caller in words."""
    error = _sqlite_file.told(sqlite3.IntegrityError("chongming: no such move"), "tasks.db")
    assert str(error) == "the database refused the write: no such move"
    assert str(_sqlite_file.told(sqlite3.OperationalError("odd"), "tasks.db")) == "tasks.db: odd"


@pytest.mark.parametrize("text", ["database is busy", "database or disk is full",
                                  "attempt to write a readonly database", "unable to open database file",
                                  "disk I/O error", "file is not a database",
                                  "database disk image is malformed"])  # fmt: skip
def test_each_error_of_sqlite_comes_with_advice(text: str) -> None:
    """What happened and what to do."""
    message = str(_sqlite_file.told(sqlite3.OperationalError(text), "tasks.db"))
    assert message.endswith(f"({text})")
    assert ";" in message


def test_a_bad_row_hides_no_good_one(database: Path) -> None:
    """D29: also text that is not UTF-8, which SQLite itself would refuse to hand out."""
    store = SqliteTaskStore(database)
    Life(store, "good", Time())
    store.close()
    damage(database, "UPDATE tasks SET name = CAST(X'80FF' AS TEXT) WHERE task_id = 't'")
    store = SqliteTaskStore(database)
    found = store.query()
    assert [one.task_id for one in found] == ["good"]
    assert [one.task_id for one in found.corrupt] == ["t"]
    store.close()


def test_what_a_reader_opens_audits_clean(database: Path) -> None:
    """The file these tests spoil is a good one."""
    assert audit(read(str(database), START)) == []


def test_another_number_of_buckets_is_refused(tmp_path: Path) -> None:
    """D29, F61: the first number told stands; another one would move every key, so nothing is opened under it."""
    path = tmp_path / "tasks.db"
    SqliteTaskStore(path, num_buckets=64).close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="64 buckets and 32 were told"):
        SqliteTaskStore(path, num_buckets=32)
    assert path.read_bytes() == before
    SqliteTaskStore(path, num_buckets=64).close()
    SqliteTaskStore(path).close()


@pytest.mark.parametrize("number", [0, -1, True, "64", 1.5])
def test_a_number_of_buckets_is_a_count(tmp_path: Path, number: object) -> None:
    """The argument is named, and nothing stays open."""
    with pytest.raises(ConfigurationError, match="num_buckets"):
        SqliteTaskStore(tmp_path / "tasks.db", num_buckets=number)  # type: ignore[arg-type]
