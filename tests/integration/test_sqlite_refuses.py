"""What the database itself refuses: every illegal write through the plain sqlite3 module that leaves the schema alone.

The verdict of the triggers is compared with that of the spec, record by record; statements that are no single record
are listed. Counters and the place of AUTOINCREMENT are the two things a plain write can still falsify: the audit finds
the first (29), and the second only names places that nobody has.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any

import attrs
import pytest

from chongming_spec.audit import audit
from chongming_spec.facts import CarrierView, Requested
from chongming_spec.failures import FailureKind
from chongming_spec.records import chain_problem, is_out_of_band, move_problem
from chongming_spec.snapshot import Transition
from chongming_spec.states import TaskStatus
from chongming_spec.transitions import EDGES, TRANSITIONS
from chongming_spec.triggers import TRIGGER_NAMES
from chongming_task.stores._audit_source import read
from chongming_task.stores._codec import columns_of, row_of, value_of
from chongming_task.stores.sqlite import SqliteTaskStore
from tests.integration.sqlite_lives import BY, LIVES, RUN, START, Life, Time, fill

S = TaskStatus
COLUMNS = [column.name for column in columns_of(Transition)]
INSERT = f"INSERT INTO transitions ({', '.join(COLUMNS)}) VALUES ({', '.join('?' for _ in COLUMNS)})"
REACHED: dict[TaskStatus, Sequence[Any]] = {
    S.PENDING: (),
    S.BLOCKED: ("mark_blocked",),
    S.QUEUED: RUN[:1],
    S.STARTING: RUN[:2],
    S.RUNNING: RUN,
    S.PAUSING: (*RUN, "request_pause"),
    S.STOPPING: (*RUN, "stop"),
    S.PAUSED: LIVES["parked for good"],
    S.RETRY_WAIT: LIVES["paused backoff"][:4],
    S.SUCCEEDED: LIVES["succeeds"],
    S.FAILED: LIVES["fails"],
    S.STOPPED: ("stop",),
    S.CANCELLED: LIVES["cancelled"],
    S.SKIPPED: LIVES["blocked, skipped"],
    S.LOST: LIVES["lost"],
}
IDS = {name: f"{number}-{name}" for number, name in enumerate(LIVES)}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with a task in every state and one of every kind of life. No test may change it."""
    path = tmp_path_factory.mktemp("refuses") / "tasks.db"
    store, time = SqliteTaskStore(path), Time()
    for status, steps in REACHED.items():
        assert Life(store, f"in {status}", time, max_attempts=2).walk(*steps).machine.status is status
    fill(store, time)
    store.close()
    return path


@pytest.fixture
def plain(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection of the plain module, in a transaction that is rolled back."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        yield connection
        if connection.in_transaction:
            connection.rollback()


def newest(connection: sqlite3.Connection, task_id: str) -> Transition:
    """The last record of a task."""
    row = connection.execute(
        f"SELECT {', '.join(COLUMNS)} FROM transitions WHERE task_id = ? ORDER BY version DESC LIMIT 1", (task_id,)
    ).fetchone()
    record: Transition = value_of(Transition, row)
    return record


def following(last: Transition, to_status: TaskStatus, trigger: str, **evidence: Any) -> Transition:
    """The record of a move from where `last` led, right in everything but perhaps the move itself."""
    record = attrs.evolve(
        last, version=last.version + 1, from_status=last.to_status, to_status=to_status, trigger=trigger,
        reason="why", at=last.at + timedelta(seconds=1), attempt=last.attempt + (to_status is S.STARTING),
        command_id=None, **evidence,
    )  # fmt: skip
    if is_out_of_band(record):
        record = attrs.evolve(record, epoch=last.epoch + 1000)
    if trigger == "admin:reset":
        record = attrs.evolve(record, attempt=0, generation=last.generation + 1)
    return record


def is_accepted(connection: sqlite3.Connection, record: Transition) -> bool:
    """Whether the database takes the record; it is taken out again."""
    refusal = None
    connection.execute("SAVEPOINT try")
    try:
        connection.execute(INSERT, row_of(record))
    except sqlite3.IntegrityError as error:
        refusal = str(error)
    connection.execute("ROLLBACK TO try")
    connection.execute("RELEASE try")
    assert refusal is None or refusal.startswith("chongming:")
    return refusal is None


def is_legal(last: Transition, record: Transition) -> bool:
    """The spec's verdict."""
    return chain_problem(last, record) is None and move_problem(record) is None


@pytest.mark.parametrize("source", list(S))
def test_all_pairs_and_triggers_as_the_spec_says(source: TaskStatus, plain: sqlite3.Connection) -> None:
    """D1, D2: each of the 15 targets under each trigger is accepted or refused exactly as the tables say."""
    last = newest(plain, f"in {source}")
    refused = set()
    for target, trigger in product(S, sorted(TRIGGER_NAMES)):
        for evidence in (
            {"carrier": CarrierView.LIVE, "paused_in_place": True, "requested_action": Requested.STOP},
            {"carrier": CarrierView.NONE, "paused_in_place": False, "requested_action": Requested.CANCEL},
        ):
            record = following(last, target, trigger, failure_kind=FailureKind.ATTEMPTS_EXHAUSTED, **evidence)
            if record.carrier is CarrierView.NONE and trigger.startswith("executor:"):
                continue
            assert is_accepted(plain, record) is is_legal(last, record), (target, trigger)
            if not is_legal(last, record) and trigger == "runtime:failed":
                refused.add(target)
    assert refused >= set(S) - TRANSITIONS[source]


GUARDED = [edge for edge in EDGES if edge.guard is not None]


@pytest.mark.parametrize("edge", GUARDED, ids=[f"{edge.source}-{edge.target}" for edge in GUARDED])
def test_a_guarded_edge_needs_its_evidence(edge: Any, plain: sqlite3.Connection) -> None:
    """D1: over all that a record can say of it, the database accepts what the guard accepts, and nothing else."""
    last = newest(plain, f"in {edge.source}")
    seen = set()
    for in_place, requested, carrier, kind, budget in product(
        (False, True), Requested, CarrierView, (None, *FailureKind), (0, 1, 2)
    ):
        record = following(
            last, edge.target, "runtime:failed", paused_in_place=in_place, requested_action=requested, carrier=carrier,
            failure_kind=kind, max_attempts=budget,
        )  # fmt: skip
        accepted = is_accepted(plain, record)
        assert accepted is is_legal(last, record)
        seen.add(accepted)
    assert seen == {True, False}


SPOILT: dict[str, dict[str, Any]] = {
    "a version left out": {"version": 9},
    "a version again": {"version": 4},
    "from elsewhere": {"from_status": S.STARTING},
    "from nowhere": {"from_status": None},
    "before its time": {"at": START - timedelta(days=1)},
    "an attempt too many": {"attempt": 2},
    "an attempt too few": {"attempt": 0},
    "another epoch": {"epoch": 10_000},
    "an earlier epoch": {"epoch": 0},
    "another generation": {"generation": 2},
    "by nobody": {"actor": ""},
    "by blanks": {"actor": " \t\n"},
    "by something invisible": {"actor": "\u200b\u3164\u2800"},
    "by an unknown trigger": {"trigger": "moon:full"},
    "a lease over without a reason": {"trigger": "reconciler:lease_expired", "reason": "\u200b"},
    "forced without a reason": {"trigger": "admin:force", "reason": None, "epoch": 10_000},
    "an effect again": {"command_id": "c0"},
    "of nobody's task": {"task_id": "nobody"},
}


@pytest.mark.parametrize("spoilt", SPOILT.values(), ids=SPOILT.keys())
def test_a_record_spoilt_in_one_column_is_refused(spoilt: dict[str, Any], plain: sqlite3.Connection) -> None:
    """History is a chain, signed and timed: a record that is wrong in one column does not get in."""
    last = newest(plain, f"in {S.RUNNING}")
    good = following(last, S.FAILED, "runtime:failed")
    assert is_accepted(plain, good)
    assert not is_accepted(plain, attrs.evolve(good, **spoilt))


@pytest.mark.parametrize("spoilt", [{"attempt": 1}, {"version": 2}, {"to_status": S.QUEUED}, {"trigger": "user:start"}])
def test_a_creation_is_a_creation(spoilt: dict[str, Any], plain: sqlite3.Connection) -> None:
    """A history begins with version 1, in pending, by `user:create`, before any attempt."""
    good = attrs.evolve(newest(plain, f"in {S.PENDING}"), task_id="new")
    assert is_accepted(plain, good)
    assert not is_accepted(plain, attrs.evolve(good, **spoilt))


RUNS, ENDS, REVIVED = f"in {S.RUNNING}", IDS["succeeds"], IDS["revived"]
_COPY = ", ".join(COLUMNS)
_OTHER = ("(SELECT {0} FROM {1} WHERE task_id = '" + ENDS + "' LIMIT 1)").format
_STONE = (
    "INSERT INTO tombstones SELECT task_id, status, epoch, status_version, updated_at FROM tasks WHERE task_id = '{}'"
)

ILLEGAL: tuple[str, ...] = (
    # records
    "UPDATE transitions SET actor = 'me'",
    "UPDATE OR REPLACE transitions SET seq = seq + 1",
    "UPDATE OR IGNORE transitions SET reason = NULL",
    "UPDATE transitions SET version = version",
    "DELETE FROM transitions",
    f"DELETE FROM transitions WHERE task_id = '{ENDS}' AND version = 5",
    "INSERT OR REPLACE INTO transitions SELECT * FROM transitions",
    "REPLACE INTO transitions SELECT * FROM transitions LIMIT 1",
    "INSERT OR IGNORE INTO transitions SELECT * FROM transitions LIMIT 1",
    f"INSERT INTO transitions SELECT * FROM transitions WHERE task_id = '{RUNS}' "
    "ON CONFLICT DO UPDATE SET actor = 'me'",
    *(
        f"INSERT OR REPLACE INTO transitions ({_COPY}, seq) SELECT task_id, version + 1, to_status, 'failed', "
        "'runtime:failed', actor, reason, at, attempt, max_attempts, epoch, generation, 0, 'none', NULL, 'live', "
        f"owner, NULL, {seq} FROM transitions WHERE task_id = '{RUNS}' AND version = 4"
        for seq in (1, 0, -1, -7, _OTHER("seq", "transitions"))
    ),
    # rows
    *(f"UPDATE tasks SET {change} WHERE task_id = '{RUNS}'" for change in (
        "status = 'succeeded'", "status_version = 5", "status_version = 3", "epoch = epoch + 1", "attempt = 2",
        "generation = 2", "status = 'failed', status_version = 5", "max_attempts = 9", "outcome = '1'",
        "owner = 'me'", "started_at = NULL", "paused_in_place = 1", "requested_action = 'stop'", "name = 'x'",
        "created_at = updated_at", "task_id = 'other'", "arguments = '[]'", "submission_id = 's'",
        "rowid = rowid + 1000", "bucket = 1",
    )),
    *(f"UPDATE OR REPLACE tasks SET {column} = {_OTHER(column, 'tasks')} WHERE task_id = '{RUNS}'"
      for column in ("task_id", "rowid", "status")),
    f"UPDATE tasks SET progress = 'null' WHERE task_id = '{ENDS}'",
    f"UPDATE tasks SET last_heartbeat_at = updated_at WHERE task_id = '{ENDS}'",
    "DELETE FROM tasks",
    "INSERT OR REPLACE INTO tasks SELECT * FROM tasks",
    "REPLACE INTO tasks SELECT * FROM tasks LIMIT 1",
    f"INSERT INTO tasks SELECT * FROM tasks WHERE task_id = '{RUNS}' ON CONFLICT DO UPDATE SET status = 'failed'",
    f"INSERT OR IGNORE INTO tasks SELECT * FROM tasks WHERE task_id = '{RUNS}'",
    # pruning
    _STONE.format(RUNS),
    _STONE.format("nobody"),
    f"INSERT INTO tombstones VALUES ('{RUNS}', 'failed', 1, 4, '2030-01-01T00:00:00.000000Z')",
    f"INSERT INTO tombstones VALUES ('{ENDS}', 'succeeded', 99999, 5, '2030-01-01T00:00:00.000000Z')",
    # attempts
    *(f"UPDATE attempts SET {change} WHERE task_id = '{ENDS}'" for change in (
        "ended_at = NULL", "disposition = 'lost'", "failure = '{}'", "started_at = ended_at", "epoch = 0",
        "attempt = 2", "generation = 2", "task_id = 'other'")),
    f"UPDATE attempts SET started_at = '2001-01-01T00:00:00.000000Z' WHERE task_id = '{RUNS}'",
    f"UPDATE OR REPLACE attempts SET task_id = '{ENDS}' WHERE task_id = '{RUNS}'",
    "DELETE FROM attempts",
    f"INSERT OR REPLACE INTO attempts SELECT task_id, attempt, generation, epoch, started_at, NULL, NULL, NULL, NULL "
    f"FROM attempts WHERE task_id = '{ENDS}'",
    # commands and promises of the file
    "DELETE FROM commands",
    "UPDATE commands SET state = 'new' WHERE command_id = 'c0'",
    "UPDATE commands SET outcome = 'other' WHERE command_id = 'c0'",
    "INSERT OR REPLACE INTO commands SELECT * FROM commands",
    *(f"INSERT OR REPLACE INTO commands (rowid, command_id, task_id, verb, actor, created_at, expires_at, owner, ask, "
      f"seq, state, claims) VALUES ({n}, 'new', 't', 'stop', 'me', '', '', 'me', '', 1, 'new', 0)" for n in (1, -1)),
    "DELETE FROM meta",
    "UPDATE meta SET value = '0' WHERE key = 'epoch'",
    "UPDATE OR REPLACE meta SET key = 'epoch' WHERE key = 'fingerprint'",
    "INSERT OR REPLACE INTO meta VALUES ('epoch', '0')",
)  # fmt: skip


def contents(connection: sqlite3.Connection) -> list[str]:
    """Everything in the file, as statements."""
    return list(connection.iterdump())


@pytest.mark.parametrize("statement", ILLEGAL, ids=range(len(ILLEGAL)))
def test_an_illegal_statement_changes_nothing(statement: str, plain: sqlite3.Connection) -> None:
    """D22, D30: refused by the database whoever asks; where OR IGNORE silences the refusal, still nothing changes."""
    before, refusal = contents(plain), ""
    try:
        plain.execute(statement)
    except sqlite3.IntegrityError as error:
        refusal = str(error)
    silent = " OR IGNORE " in statement or statement.endswith("'nobody'")
    assert silent or "chongming:" in refusal or "constraint failed" in refusal
    assert contents(plain) == before


def test_the_statements_are_not_refused_by_chance(path: Path) -> None:
    """Without the triggers nearly all of them would change the file: what refuses is what is tested."""
    raw, changed = bytearray(path.read_bytes()), 0
    raw[18:20] = b"\x01\x01"  # a copy in memory has no log beside it
    for statement in ILLEGAL:
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            connection.deserialize(bytes(raw))
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                connection.execute(f"DROP TRIGGER {name}")
            connection.execute("PRAGMA ignore_check_constraints = ON")
            before = contents(connection)
            try:
                connection.execute(statement)
            except sqlite3.Error:
                continue
            changed += contents(connection) != before
    assert changed > 0.8 * len(ILLEGAL)


@pytest.mark.parametrize("number", [f"(SELECT rowid FROM tasks WHERE task_id = '{ENDS}')", "0", "-1"])
def test_a_new_row_takes_no_other_rows_place(number: str, plain: sqlite3.Connection) -> None:
    """A row number that is taken would delete another task under OR REPLACE, and one below 1 block all that follow."""
    record = attrs.evolve(newest(plain, f"in {S.PENDING}"), task_id="new")
    plain.execute(INSERT, row_of(record))
    columns = [name for (_, name, *_) in plain.execute("PRAGMA table_info(tasks)").fetchall()]
    given = ", ".join("'new'" if name == "task_id" else name for name in columns)
    copied = f"SELECT {{}}, {given} FROM tasks WHERE task_id = 'in {S.PENDING}'"
    insert = f"INSERT OR REPLACE INTO tasks (rowid, {', '.join(columns)}) "
    with pytest.raises(sqlite3.IntegrityError, match=r"chongming: a (task cannot be replaced|row number)"):
        plain.execute(insert + copied.format(number))
    plain.execute(insert + copied.format("NULL"))


def test_an_old_tombstone_covers_no_later_life(plain: sqlite3.Connection) -> None:
    """A tombstone of a task that was revived afterwards, or made anew under its id, lets nothing be deleted (D30)."""
    plain.execute(_STONE.format(f"in {S.FAILED}"))
    last = newest(plain, f"in {S.FAILED}")
    revived = attrs.evolve(following(last, S.QUEUED, "user:retry"), epoch=last.epoch + 1000)
    plain.execute(INSERT, row_of(revived))
    plain.execute(
        "UPDATE tasks SET status = 'queued', status_version = ?, epoch = ?, ended_at = NULL, started_at = NULL "
        "WHERE task_id = ?",
        (revived.version, revived.epoch, revived.task_id),
    )
    plain.execute(
        "INSERT INTO commands (command_id, task_id, verb, actor, created_at, expires_at, owner, ask, seq, state, "
        "claims) VALUES ('new', ?, 'stop', 'me', '', '', 'me', '', 1, 'new', 0)",
        (revived.task_id,),
    )
    for table in ("transitions", "attempts", "commands", "tasks"):
        with pytest.raises(sqlite3.IntegrityError, match="only pruned"):
            plain.execute(f"DELETE FROM {table} WHERE task_id = ?", (revived.task_id,))


def test_a_tombstone_stays_and_stays_as_it_is(plain: sqlite3.Connection) -> None:
    """What is left of a pruned task is evidence."""
    plain.execute(_STONE.format(ENDS))
    for statement in ("DELETE FROM tombstones", "UPDATE tombstones SET epoch = 9"):
        with pytest.raises(sqlite3.IntegrityError, match="tombstone"):
            plain.execute(statement)


def test_a_late_note_is_kept(tmp_path: Path) -> None:
    """D5: a closed attempt takes one late note, and then nothing more."""
    path, time = tmp_path / "tasks.db", Time()
    store = SqliteTaskStore(path)
    Life(store, "t", time).walk(*RUN, ("force_transition", {"to": "failed", **BY}))
    assert store.note_late_result("t", generation=1, attempt=1, note="returned 3")
    store.close()
    with closing(sqlite3.connect(path)) as connection, pytest.raises(sqlite3.IntegrityError, match="closed"):
        connection.execute("UPDATE attempts SET late_result = NULL")


def test_counters_can_lie_and_the_audit_says_so(tmp_path: Path) -> None:
    """The one table that plain statements can falsify: it is derived, so it is compared, not believed."""
    path, time = tmp_path / "tasks.db", Time()
    store = SqliteTaskStore(path)
    Life(store, "t", time)
    store.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE counters SET tasks = 7")
    assert [one.invariant for one in audit(read(str(path), time()))] == [29]
