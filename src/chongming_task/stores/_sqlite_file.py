"""One SQLite file: what may be opened, how it is opened, and how its errors are told (D29).

Whatever cannot be used is refused before anything is created or altered, with what was found and what to do. WAL with
`synchronous=FULL`: what was committed survives a power cut. Every write begins with BEGIN IMMEDIATE, so that nobody
reads first and fails to upgrade later. A connection is never carried into a forked child.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from chongming_spec.errors import ConfigurationError, StoreCorruption, StoreError
from chongming_task.stores import _migrations
from chongming_task.stores._generated_schema import FINGERPRINT, SCHEMA_VERSION, SPEC_VERSION, STATEMENTS

MEMORY = ":memory:"
MAGIC = b"SQLite format 3\x00"
NETWORK_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "lustre", "fuse.sshfs", "fuse.ceph", "9p"}
)
BUSY_MS = 5_000
_OURS = {"meta", "transitions"}


def file_system_of(path: Path, mounts: str = "/proc/mounts") -> str | None:
    """The type of the file system that holds `path`; None where the platform does not tell."""
    try:
        lines = Path(mounts).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    best, found = -1, None
    for line in lines:
        fields = line.split()
        if len(fields) >= 3:
            point = fields[1].replace("\\040", " ")
            if path.is_relative_to(point) and len(point) > best:
                best, found = len(point), fields[2]
    return found


def check_path(path: Path, mounts: str = "/proc/mounts") -> None:
    """StoreError unless a database can be, or is, at `path`; creates nothing."""
    if path.is_dir():
        raise StoreError(f"{path} is a directory; name a file, such as {path / 'tasks.db'}")
    folder = path.parent
    if not folder.is_dir():
        raise StoreError(f"the folder {folder} does not exist; create it first")
    kind = file_system_of(folder.resolve(), mounts)
    if kind in NETWORK_FILE_SYSTEMS:
        raise StoreError(f"{path} lies on a network file system ({kind}), where SQLite loses writes; use a local disk")
    if not path.exists():
        return
    if not path.is_file():
        raise StoreError(f"{path} is no regular file; name another one")
    try:
        with path.open("rb") as file:
            head = file.read(len(MAGIC))
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}; check its permissions") from error
    if head and head != MAGIC:
        raise StoreError(f"{path} is not an SQLite database (it begins with {head[:8]!r}); choose another file")


# A damaged file can make SQLite put bytes into its messages that are no text.
_UNUSABLE = (sqlite3.Error, UnicodeDecodeError)


def told(error: sqlite3.Error | UnicodeDecodeError, path: str) -> StoreError:
    """The error of a store for an error of SQLite: what happened, and what to do."""
    text = "malformed text" if isinstance(error, UnicodeDecodeError) else str(error)
    if text.startswith("chongming:"):
        return StoreCorruption(f"the database refused the write: {text.removeprefix('chongming:').strip()}")
    if text.startswith("Could not decode"):
        return StoreCorruption(f"{path} holds text that is not UTF-8 ({text!a}); run an audit to find the row")
    advice = {
        "locked": f"another process held {path} for {BUSY_MS / 1000:g} s; try again, or look who writes",
        "busy": f"another process held {path} for {BUSY_MS / 1000:g} s; try again, or look who writes",
        "full": f"no space is left for {path}; free some, nothing was half-written",
        "readonly": f"{path} cannot be written; check its permissions, or open it read-only",
        "unable to open": f"{path} cannot be opened; check the folder and its permissions",
        "disk i/o": f"the disk under {path} reports errors; check it, and restore a copy if they stay",
        "not a database": f"{path} is not an SQLite database; choose another file, or restore a copy",
        "malformed": f"{path} is damaged; keep a copy, then recover it with the sqlite3 shell or restore one",
    }
    for sign, sentence in advice.items():
        if sign in text.lower():
            return StoreError(f"{sentence} ({text})")
    return StoreError(f"{path}: {text}")


class SqliteFile:
    """The connections to one file: one for writes, one for reads, one for the bypass; `:memory:` has a single one."""

    def __init__(self, path: str, *, synchronous: str, read_only: bool) -> None:
        if synchronous not in ("full", "normal"):
            raise ConfigurationError(f"synchronous must be 'full' or 'normal', not {synchronous!r}")
        self.path = path
        self.read_only = read_only
        self._synchronous = synchronous
        self._opening = threading.Lock()
        self._pid = os.getpid()
        self._closed = False
        self._connections: dict[str, tuple[sqlite3.Connection, threading.RLock]] = {}
        if path != MEMORY:
            check_path(Path(path))
            if read_only and not Path(path).exists():
                raise StoreError(f"{path} does not exist; nothing was created, since it was to be only read")
            self._reading_mode = _reading_mode(Path(path))
            if Path(path).exists():
                self._look_and_recover()
        if read_only and path == MEMORY:
            raise StoreError(f"{path} holds no tasks; nothing was created, since it was to be only read")
        if read_only:
            return
        try:
            with self._using("write") as connection:
                self._prepare(connection)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close every connection; a second time does nothing."""
        with self._opening:
            connections, self._connections = list(self._connections.values()), {}
            self._closed = True
        for connection, lock in connections:
            with lock:
                connection.close()

    def claim_num_buckets(self, number: int) -> int:
        """Write the number of buckets down if nobody has; returns the one that stands (D29)."""
        with self.write() as cursor:
            stands = _meta(cursor.connection).get("num_buckets")
            if stands is None:
                cursor.execute("INSERT INTO meta VALUES ('num_buckets', ?)", (str(number),))
            return number if stands is None else int(stands)

    @contextmanager
    def write(self, kind: str = "write") -> Iterator[sqlite3.Cursor]:
        """One transaction, committed at the end and rolled back by any exception."""
        with self._using(kind) as connection, self._cursor(kind, connection) as cursor:
            cursor.execute("BEGIN IMMEDIATE")
            yield cursor
            connection.commit()

    @contextmanager
    def read(self) -> Iterator[sqlite3.Cursor]:
        """One consistent view."""
        with self._using("read") as connection, self._cursor("read", connection) as cursor:
            cursor.execute("BEGIN")
            yield cursor

    @contextmanager
    def _cursor(self, kind: str, connection: sqlite3.Connection) -> Iterator[sqlite3.Cursor]:
        """A cursor after which no transaction is left open, whatever interrupts it.

        A connection that cannot even roll back is given up, so that the next call begins with a fresh one.
        """
        cursor = connection.cursor()
        try:
            yield cursor
        finally:
            cursor.close()
            try:
                _roll_back(connection)
            except sqlite3.Error:
                self._give_up(kind, connection)

    def _give_up(self, kind: str, connection: sqlite3.Connection) -> None:
        if self.path == MEMORY:
            return
        with self._opening:
            known = self._connections.get(kind)
            if known is not None and known[0] is connection:
                del self._connections[kind]
        connection.close()

    @contextmanager
    def _using(self, kind: str) -> Iterator[sqlite3.Connection]:
        connection, lock = self._connection("write" if self.path == MEMORY else kind)
        try:
            with lock:
                yield connection
        except _UNUSABLE as error:
            raise told(error, self.path) from error

    def _connection(self, kind: str) -> tuple[sqlite3.Connection, threading.RLock]:
        with self._opening:
            if self._closed:
                raise StoreError(f"the store on {self.path} is closed; open a new one")
            if self._pid != os.getpid():
                raise StoreError(f"the store on {self.path} was opened in another process; open one after the fork")
            if kind not in self._connections:
                try:
                    self._connections[kind] = (self._connect(), threading.RLock())
                except _UNUSABLE as error:
                    raise told(error, self.path) from error
            return self._connections[kind]

    def _connect(self, *, reading: bool = False) -> sqlite3.Connection:
        reading = reading or self.read_only
        target = self.path
        if target != MEMORY:
            target = f"file:{quote(os.path.abspath(target))}?mode={self._reading_mode if reading else 'rwc'}"
        connection = sqlite3.connect(
            target, uri=target != MEMORY, isolation_level=None, check_same_thread=False, timeout=BUSY_MS / 1000
        )
        try:
            connection.execute("PRAGMA query_only=ON" if reading else "PRAGMA journal_mode=WAL").close()
            connection.execute(f"PRAGMA synchronous={self._synchronous.upper()}").close()
        except BaseException:
            connection.close()
            raise
        return connection

    # What is in the file

    def _look_and_recover(self) -> None:
        """Look; where whoever created the file was killed over it, only a connection that may write can read it."""
        try:
            self._look()
        except StoreError as error:
            if self.read_only or getattr(error.__cause__, "sqlite_errorname", "") != "SQLITE_READONLY_ROLLBACK":
                raise
            self._reading_mode = "rw"
            self._look()

    def _look(self) -> None:
        """Judge what is there before anything is opened for writing; StoreError if it cannot be used."""
        try:
            with closing(self._connect(reading=True)) as connection:
                tables = _tables(connection)
                if tables >= _OURS:
                    self._check_meta(_meta(connection))
                elif tables - {"sqlite_sequence"}:
                    raise StoreError(f"{self.path} is a database of something else; choose another file")
                elif self.read_only:
                    raise StoreError(f"{self.path} holds no tasks; nothing was created, since it was to be only read")
        except _UNUSABLE as error:
            raise told(error, self.path) from error

    def _prepare(self, connection: sqlite3.Connection) -> None:
        if not _tables(connection):
            self._create(connection)
        version = int(_meta(connection)["schema_version"])
        if version != SCHEMA_VERSION:
            _migrations.migrate(connection, self.path, version)

    def _create(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
                for statement in STATEMENTS:
                    connection.execute(statement)
                connection.executemany(
                    "INSERT INTO meta VALUES (?, ?)",
                    [
                        ("schema_version", str(SCHEMA_VERSION)),
                        ("spec_version", SPEC_VERSION),
                        ("fingerprint", FINGERPRINT),
                        ("epoch", "0"),
                    ],
                )
            connection.commit()
        except BaseException:
            _roll_back(connection)
            raise

    def _check_meta(self, meta: Mapping[str, str]) -> None:
        version = meta.get("schema_version", "")
        if version != str(SCHEMA_VERSION):
            if not version.isdecimal() or int(version) > SCHEMA_VERSION:
                raise StoreError(
                    f"{self.path} has schema version {version or 'none'}, this library knows {SCHEMA_VERSION}; "
                    "use the newer library that wrote it"
                )
            if self.read_only:
                raise StoreError(
                    f"{self.path} has schema version {version}, this library needs {SCHEMA_VERSION}; "
                    "open it once for writing, which migrates it and keeps a copy"
                )
            _migrations.check_way(self.path, int(version))
        theirs, ours = meta.get("spec_version", ""), SPEC_VERSION
        if theirs.split(".")[0] != ours.split(".")[0]:
            raise StoreError(
                f"{self.path} was written under spec {theirs}, this library has {ours}: another major version; "
                "use the library that wrote it"
            )
        if theirs == ours and meta.get("fingerprint") != FINGERPRINT:
            raise StoreError(
                f"{self.path} has spec {theirs} with fingerprint {meta.get('fingerprint')}, ours is {FINGERPRINT} "
                "under the same version: their rules differ; use the library that wrote it"
            )


def _reading_mode(path: Path) -> str:
    """A reader that may write takes its side files away again; what another process left behind stays as it is."""
    if any(Path(f"{path}{end}").exists() for end in ("-wal", "-journal")):
        return "ro"
    return "rw" if os.access(path.absolute().parent, os.W_OK) else "ro&immutable=1"


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _meta(connection: sqlite3.Connection) -> dict[str, str]:
    return {str(key): str(value) for key, value in connection.execute("SELECT key, value FROM meta")}


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.rollback()
