"""The audit of a database: clean after real lives, and for each invariant at least one corruption that it finds."""

from __future__ import annotations

import random
import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chongming_spec.audit import INVARIANTS, audit, checked
from chongming_spec.buckets import bucket_for
from chongming_spec.stores import OwnerRecord
from chongming_task.stores._audit_source import read
from chongming_task.stores.sqlite import SqliteTaskStore
from tests.integration.sqlite_lives import (
    LIVES,
    OWNER,
    START,
    Life,
    Time,
    command,
    damage,
    execute,
    fill,
    random_life,
)

NOW = START + timedelta(hours=1)
IDS = {name: f"{number}-{name}" for number, name in enumerate(LIVES)}


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with every kind of life in it, and one task pruned."""
    path = tmp_path_factory.mktemp("audit") / "tasks.db"
    time = Time()
    store = SqliteTaskStore(path, clock=None)
    Life(store, "gone", time).walk("stop")
    assert store.prune(keep_terminal=0) == 1
    fill(store, time)
    bucket = bucket_for("tenant", 8)
    Life(store, "bucketed", time, bucket=bucket, bucket_key="tenant").walk("mark_queued")
    store.close()
    execute(path, "INSERT INTO meta VALUES ('num_buckets', '8')")
    return path


@pytest.fixture
def database(clean: Path, tmp_path: Path) -> Path:
    """A copy of its own."""
    return Path(shutil.copy(clean, tmp_path / "tasks.db"))


def found_in(path: Path) -> set[int]:
    """The invariants that do not hold."""
    return {finding.invariant for finding in audit(read(str(path), NOW))}


def test_real_lives_leave_a_clean_database(clean: Path) -> None:
    """All verbs, retries, pauses, overrides, a reset, an adoption, commands and a prune: nothing is found."""
    rows = read(str(clean), NOW)
    assert audit(rows) == []
    assert [one.id for one in checked(rows)] == [one.id for one in INVARIANTS]
    assert len(rows.tasks or ()) == len(LIVES) + 3
    assert len(rows.tombstones or ()) == 1


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32), budget=st.integers(1, 3))
def test_random_lives_leave_a_clean_database(seed: int, budget: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Every legal move is accepted by the database, and what comes of any sequence of them audits clean."""
    path = tmp_path_factory.mktemp("life") / "tasks.db"
    store, time = SqliteTaskStore(path, synchronous="normal"), Time()
    for number in range(3):
        draw = random.Random(seed + number)
        random_life(Life(store, f"t{number}", time, max_attempts=budget), draw.randrange, 50)
    store.close()
    assert audit(read(str(path), NOW)) == []


def of(life: str) -> str:
    """The condition that picks one task."""
    return f"task_id = '{IDS.get(life, life)}'"


def row(life: str, change: str) -> str:
    """A change of one task's row."""
    return f"UPDATE tasks SET {change} WHERE {of(life)}"


def record(life: str, change: str, version: int) -> str:
    """A change of one record."""
    return f"UPDATE transitions SET {change} WHERE {of(life)} AND version = {version}"


EARLY = "'2001-01-01T00:00:00.000000Z'"
LATE = "'2099-01-01T00:00:00.000000Z'"
_EXPIRED = "trigger = 'reconciler:lease_expired', reason = 'lease over'"

CORRUPTIONS: list[tuple[int, str, tuple[str, ...]]] = [
    (0, "a trigger is gone", ("DROP TRIGGER IF EXISTS tasks_update", "PRAGMA user_version = 1")),
    (0, "an index is gone", ("DROP INDEX tasks_by_run",)),
    (2, "running and ended", (row("running", f"ended_at = {LATE}, updated_at = {LATE}"),)),
    (2, "over and not ended", (row("succeeds", "ended_at = NULL"),)),
    (3, "queued before it was created", (row("running", f"queued_at = {EARLY}"),)),
    (3, "ended after the last change", (row("succeeds", f"ended_at = {LATE}"),)),
    (4, "running without a start", (row("running", "started_at = NULL"),)),
    (5, "queued and started", (row("adopted", f"started_at = {LATE}"),)),
    (6, "more attempts than the budget", (row("running", "max_attempts = 0"),)),
    (6, "a budget nobody gave", (row("running", "max_attempts = 9"),)),
    (7, "a request in running", (row("running", "requested_action = 'stop'"),)),
    (7, "paused, and a pause asked for", (row("parked for good", "requested_action = 'pause'"),)),
    (8, "running in place", (row("running", "paused_in_place = 1"),)),
    (9, "failed without a failure", (row("fails", "failure = NULL"),)),
    (9, "succeeded and failed", (row("succeeds", "failure = '{\"cause\":null,\"exception_type\":null,"
        "\"exit_code\":null,\"kind\":\"exception\",\"message\":\"\",\"retryable\":true,\"traceback\":null}'"),)),
    (10, "a stop that may be retried", (row("stopped", "failure = replace(failure, 'false', 'true')"),)),
    (10, "an attempt that lies", ("UPDATE attempts SET failure = replace(failure, 'true', 'false') WHERE "
        f"{of('fails')}",)),
    (11, "an outcome of a failure", (row("fails", "outcome = '1'"),)),
    (12, "a running task of nobody", (row("running", "owner = ' '"),)),
    (12, "a lease after the end", (row("succeeds", f"lease_owner = 'x', lease_until = {LATE}"),)),
    (13, "another bucket", (row("bucketed", "bucket = (bucket + 1) % 8"),)),
    (13, "a bucket without its key", (row("running", "bucket = 1"),)),
    (13, "another number of buckets", ("UPDATE meta SET value = '5' WHERE key = 'num_buckets'",
        row("bucketed", "bucket = 7"))),
    (14, "a heartbeat of an earlier attempt", (row("running", f"last_heartbeat_at = {EARLY}"),)),
    (15, "forced by nobody", (row("succeeds", "overridden = 1"),)),
    (15, "forced and forgotten", (row("forced while running", "overridden = 0"),)),
    (16, "an unknown status", (row("running", "status = 'flying'"),)),
    (16, "a time that is none", (record("succeeds", "at = 'noon'", 2),)),
    (16, "text that is not UTF-8", (row("running", "name = CAST(X'80FF' AS TEXT)"),)),
    (16, "an outcome that is no number", (row("succeeds", "outcome = 'NaN'"),)),
    (16, "JSON that nobody wrote", (row("succeeds", "tags = '[ ]'"),)),
    (16, "an epoch that is no number", ("UPDATE meta SET value = 'many' WHERE key = 'epoch'",)),
    (16, "a command that cannot be read", ("UPDATE commands SET ask = '[' WHERE command_id = 'c0'",)),
    (17, "a record is gone", (f"DELETE FROM transitions WHERE {of('succeeds')} AND version = 3",)),
    (17, "the newest record is gone", (f"DELETE FROM transitions WHERE {of('running')} AND version = 4",)),
    (17, "a history is gone", (f"DELETE FROM transitions WHERE {of('running')}",)),
    (17, "the row is gone", (f"DELETE FROM tasks WHERE {of('running')}",)),
    (18, "a record comes from elsewhere", (record("succeeds", "from_status = 'blocked'", 3),)),
    (18, "the row is elsewhere", (row("running", "status = 'stopping', requested_action = 'stop'"),)),
    (19, "no such edge",
        (record("running", "from_status = 'pending'", 3), record("running", "to_status = 'pending'", 2))),
    (19, "a guard that did not hold", (record("stopped", "requested_action = 'cancel'", 6),)),
    (19, "an unknown trigger", (record("running", "trigger = 'moon:full'", 2),)),
    (19, "forced along an edge", (record("running", "trigger = 'admin:force', reason = 'x'", 2),)),
    (21, "a record put in afterwards", (record("succeeds", "seq = 1000000", 2),)),
    (22, "time runs back", (record("succeeds", f"at = {EARLY}", 3),)),
    (23, "an attempt too many", (record("running", "attempt = 2", 4), row("running", "attempt = 2"))),
    (23, "a generation without a reset", (record("succeeds", "generation = 2", 5), row("succeeds", "generation = 2"))),
    (23, "the row has another attempt", (row("running", "attempt = 2"),)),
    (24, "an attempt is not on record", (f"DELETE FROM attempts WHERE {of('retries')} AND attempt = 1",)),
    (24, "an attempt nobody started", ("INSERT INTO attempts SELECT task_id, 7, generation, epoch, started_at, "
        f"ended_at, disposition, failure, NULL FROM attempts WHERE {of('succeeds')}",)),
    (24, "an attempt that stays open", (f"UPDATE attempts SET ended_at = NULL WHERE {of('succeeds')}",)),
    (24, "an attempt closed too early", (f"UPDATE attempts SET ended_at = {LATE} WHERE {of('running')}",)),
    (24, "an attempt closed otherwise", (f"UPDATE attempts SET disposition = 'lost' WHERE {of('succeeds')}",)),
    (24, "an attempt begun otherwise", (f"UPDATE attempts SET started_at = {EARLY} WHERE {of('succeeds')}",)),
    (24, "failed without a failure", (f"UPDATE attempts SET failure = NULL WHERE {of('fails')}",)),
    (24, "attempts of nothing", ("INSERT INTO attempts SELECT 'nobody', 1, 1, 1, started_at, NULL, NULL, NULL, NULL "
        f"FROM attempts WHERE {of('running')}",)),
    (25, "it went on after its end", (record("revived", "trigger = 'user:start'", 6),)),
    (26, "the epoch moved by itself", (record("running", "epoch = 500", 4), row("running", "epoch = 500"))),
    (26, "revived in the old epoch", (record("revived", "epoch = (SELECT epoch FROM transitions WHERE "
        f"{of('revived')} AND version = 5)", 6),)),
    (26, "the row is of another epoch", (row("running", "epoch = 1"),)),
    (26, "the store forgot its epochs", ("UPDATE meta SET value = '1' WHERE key = 'epoch'",)),
    (27, "written by nobody", (record("running", "actor = char(8203)", 2),)),
    (27, "forced without a reason", (record("forced while running", "reason = NULL", 5),)),
    (28, "one command, two effects", ("DROP INDEX transitions_by_command", record("running", "command_id = 'c0'", 4))),
    (29, "a counter that lies", ("UPDATE counters SET tasks = tasks + 1 WHERE status = 'running'",)),
    (29, "a counter of nothing", ("INSERT INTO counters VALUES ('landed', 3)",)),
    (30, "done without an outcome", ("UPDATE commands SET outcome = NULL WHERE command_id = 'c0'",)),
    (30, "claimed by nobody", ("UPDATE commands SET state = 'claimed', claim_token = NULL, outcome = NULL",)),
    (30, "new with an outcome", ("UPDATE commands SET state = 'new' WHERE command_id = 'c0'",)),
    (30, "new with a claim", ("UPDATE commands SET state = 'new', outcome = NULL, answer = NULL",)),
    (31, "an effect in another epoch", ("UPDATE commands SET target_epoch = 1 WHERE command_id = 'c0'",)),
    (31, "an effect on another task", (f"UPDATE commands SET {of('running')} WHERE command_id = 'c0'",)),
    (32, "a command overtook another", ("UPDATE commands SET seq = 9 WHERE command_id = 'c0'",)),
    (34, "a pruned history is back", ("INSERT INTO transitions SELECT 'gone', 1, NULL, 'pending', trigger, actor, "
        "reason, at, 0, 1, 1, 1, 0, 'none', NULL, 'none', owner, NULL, NULL FROM transitions WHERE seq = "
        "(SELECT MIN(seq) FROM transitions)",)),
    (34, "a command outlived its task", (f"UPDATE tombstones SET pruned_at = {LATE}",
        "INSERT INTO commands SELECT 'late', 'gone', verb, actor, created_at, expires_at, NULL, owner, NULL, ask, 1, "
        "state, claim_token, claim_until, claims, outcome, answer FROM commands WHERE command_id = 'c0'")),
    (35, "a lease over, and it went on", (record("succeeds", _EXPIRED, 5),)),
    (35, "its own lease over", (record("lost with its owner", _EXPIRED, 5),)),
    (36, "another owner wrote", (record("succeeds", "owner = 'stranger#1'", 4),)),
    (36, "the row is another's", (row("running", "owner = 'stranger#1'"),)),
    (38, "a lease for ever", (f"UPDATE owners SET lease_until = {LATE}",)),
]  # fmt: skip


@pytest.mark.parametrize(("invariant", "statements"), [(n, sql) for n, _, sql in CORRUPTIONS],
                         ids=[f"{n}-{name}" for n, name, _ in CORRUPTIONS])  # fmt: skip
def test_a_corruption_is_found(invariant: int, statements: tuple[str, ...], database: Path) -> None:
    """Written behind the triggers' back, each is found under its invariant, and the place is named."""
    damage(database, *statements)
    if "DROP TRIGGER" in statements[0]:
        execute(database, "DROP TRIGGER tasks_update")
    assert invariant in found_in(database)


def test_each_invariant_has_a_corruption() -> None:
    """Nothing is checked that was never seen to fail."""
    assert {number for number, _, _ in CORRUPTIONS} == {one.id for one in INVARIANTS}


def test_the_first_bad_row_is_named(database: Path) -> None:
    """Task and version of the record stand in the finding; one hole is one finding."""
    damage(database, record("succeeds", "requested_action = 'stop', actor = ''", 4))
    (finding,) = audit(read(str(database), NOW))
    assert str(finding) == f"invariant 27, task '{IDS['succeeds']}', version 4: it names no actor"
    damage(database, record("succeeds", "actor = 'anna'", 4))
    damage(database, f"DELETE FROM transitions WHERE {of('succeeds')} AND version = 3")
    assert [one.invariant for one in audit(read(str(database), NOW))] == [17, 24]


def test_a_task_made_anew_is_no_leftover(tmp_path: Path) -> None:
    """An id may be used again after it was pruned: a later epoch is another life (D30)."""
    path, time = tmp_path / "tasks.db", Time()
    store = SqliteTaskStore(path)
    Life(store, "again", time).walk("stop")
    assert store.prune(keep_terminal=0) == 1
    life = Life(store, "again", time).walk("mark_queued")
    store.submit_command(command("new", "again", "stop", life.machine.snapshot.epoch, START))
    store.close()
    assert audit(read(str(path), NOW)) == []


def test_an_imported_history_needs_no_row(tmp_path: Path) -> None:
    """`append` imports records alone (D22); that is no finding."""
    path, time = tmp_path / "tasks.db", Time()
    source = SqliteTaskStore(":memory:")
    records = Life(source, "import", time).walk("mark_queued", "stop").machine.transitions
    store = SqliteTaskStore(path)
    for one in records:
        store.append(one)
    store.close()
    assert audit(read(str(path), NOW)) == []


def test_good_rows_are_audited_beside_bad_ones(database: Path) -> None:
    """D29: a row that cannot be read hides no finding about another, and is judged by no gap it leaves itself."""
    bad = row("running", "status = 'flying'"), record("fails", "at = 'noon'", 2)
    damage(database, *bad, row("succeeds", "ended_at = NULL"))
    findings = audit(read(str(database), NOW))
    assert [(one.invariant, one.task_id) for one in findings] == [
        (2, IDS["succeeds"]),
        (16, IDS["fails"]),
        (16, IDS["running"]),
    ]


def test_a_page_that_cannot_be_read_is_a_finding(database: Path) -> None:
    """Bytes turned over in the middle of the file: a report, never an exception that is not the store's."""
    raw = bytearray(database.read_bytes())
    for at in range(len(raw) // 2, len(raw) // 2 + 9000):
        raw[at] ^= 0xA5
    database.write_bytes(raw)
    assert found_in(database) & {0, 16}


def test_the_audit_changes_nothing(database: Path) -> None:
    """Not a byte of the file, and nothing beside it."""
    before = database.read_bytes(), sorted(database.parent.iterdir())
    found_in(database)
    assert (database.read_bytes(), sorted(database.parent.iterdir())) == before


def test_it_reads_what_another_process_has_not_checkpointed(tmp_path: Path) -> None:
    """A store that is open keeps its newest commits in the log beside the file; they are audited too."""
    path, time = tmp_path / "tasks.db", Time()
    store = SqliteTaskStore(path)
    store.renew(OwnerRecord(OWNER), time())
    Life(store, "open", time).walk("mark_queued")
    assert Path(f"{path}-wal").stat().st_size > 0
    rows = read(str(path), NOW)
    assert ([one.task_id for one in rows.tasks or ()], audit(rows)) == (["open"], [])
    store.close()
