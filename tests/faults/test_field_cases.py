"""What people reported of other task libraries about history (area G) and stores (area H), asked of this store."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from chongming_spec.errors import InvalidTransition, StoreError, UnknownTask
from chongming_spec.replay import replay
from chongming_spec.snapshot import Transition
from chongming_spec.states import is_terminal
from chongming_spec.stores import Completion, OwnerRecord, SaveRequest
from chongming_task.clock import utcnow
from chongming_task.stores._codec import columns_of
from chongming_task.stores.sqlite import SqliteTaskStore
from chongming_task.stores.writer import StoreWriter
from chongming_task.testing import FakeClock
from chongming_task.testing._contract import OTHER, OWNER, ContractBase, Life
from tests.faults.failpoints import Plan, install
from tests.faults.scenes import BEGINS, BY, LIVES, dice, findings, follow, run_lives, store_one, writes


@pytest.fixture
def clock() -> FakeClock:
    """Moves when told."""
    return FakeClock()


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> Iterator[SqliteTaskStore]:
    """One file."""
    one = SqliteTaskStore(tmp_path / "tasks.db", clock=clock)
    yield one
    one.close()


def saved(store: Any, life: Life, *verbs: str, **request: Any) -> Life:
    """Take verbs and store each."""
    for verb in verbs:
        follow(life, store_one(store, life.does(verb, **request).request()))
    return life


def test_attempts_that_fail_outside_running_are_recorded(store: SqliteTaskStore, clock: FakeClock) -> None:
    """P-097, D5: one record each, begun, ended and with its failure: a launch, a backoff cut short, an owner gone."""
    launch, backoff, gone = (Life(name, clock.now, max_attempts=2) for name in ("launch", "backoff", "gone"))
    for life in (launch, backoff, gone):
        life.create(store)
        saved(store, life, "start", "mark_starting")
    saved(store, launch, "mark_failed")
    saved(store, backoff, "mark_running", "mark_retry_wait")
    saved(store, backoff, "cancel", **BY)
    saved(store, gone, "mark_running", "mark_lost", reason="no sign of life")
    for name in ("launch", "backoff", "gone"):
        (record,) = store.attempts(name)
        assert record.attempt == 1
        assert record.ended_at is not None
        assert record.failure is not None
        assert record.disposition


def test_nobody_moves_a_task_by_hand_without_a_name(store: SqliteTaskStore, clock: FakeClock, tmp_path: Path) -> None:
    """P-098, D26: blank actors and reasons are refused by the machine, by the store, and by the database itself."""
    life = Life("t", clock.now)
    life.create(store)
    saved(store, life, *(verb for verb, _ in BEGINS))
    for blank in ("", "   ", "\u200b", " \t\u2060"):
        for given in ({"actor": blank, "reason": "seen"}, {"actor": "ann", "reason": blank}):
            with pytest.raises(InvalidTransition, match=r"(actor|reason)_missing"):
                life.does("force_transition", to="failed", **given)
    saved(store, life, "force_transition", to="failed", actor="ann", reason="seen on the machine")
    row, record = store.get("t"), store.history("t")[-1]
    assert row is not None
    assert row.overridden
    assert (record.actor, record.reason) == ("ann", "seen on the machine")
    changed = {"version": "version + 1", "from_status": "to_status", "to_status": "'lost'", "epoch": "epoch + 1"}
    forged = {**changed, "actor": "' '"}
    names = [f'"{one.name}"' for one in columns_of(Transition)]
    cells = [forged.get(one.name, f'"{one.name}"') for one in columns_of(Transition)]
    forgery = f"SELECT {', '.join(cells)} FROM transitions ORDER BY version DESC LIMIT 1"
    with closing(sqlite3.connect(tmp_path / "tasks.db")) as plain, pytest.raises(sqlite3.IntegrityError, match="actor"):
        plain.execute(f"INSERT INTO transitions ({', '.join(names)}) {forgery}")


def test_no_record_vanishes(store: SqliteTaskStore, clock: FakeClock, tmp_path: Path) -> None:
    """P-099, D22: after any lives versions are 1 to n, every move is an edge or a signed override, the row its end."""
    choices = dice("P-099")
    for number in range(12):
        life = Life(f"t{number}", clock.now)
        for request in writes(life, choices.choice(LIVES)[: choices.randint(1, 9)]):
            clock.advance(choices.random())
            follow(life, store_one(store, request))
    for row in store.query():
        history = store.history(row.task_id)
        assert [one.version for one in history] == list(range(1, row.status_version + 1))
        assert list(replay(history).findings) == []
        assert (history[-1].to_status, history[-1].attempt) == (row.status, row.attempt)
    assert findings(tmp_path / "tasks.db") == []


def test_an_unknown_id_looks_like_nothing_else(store: SqliteTaskStore, clock: FakeClock) -> None:
    """P-101, D22: None where one may look, an error at once where one would act; nothing is created by asking."""
    assert (store.get("nope"), store.arguments("nope"), store.tombstone("nope"), store.command("nope")) == (None,) * 4
    assert (store.history("nope"), store.attempts("nope"), store.lines("nope")) == ([], [], [])
    assert not store.touch("nope", owner=OWNER, epoch=1)
    life = Life("nope", clock.now)
    life.stored = 1
    with pytest.raises(UnknownTask, match="'nope'"):
        saved(store, life, "start")
    assert (list(store.query()), store.counts()) == ([], {})


def test_it_is_known_which_attempt_did_what(store: SqliteTaskStore, clock: FakeClock) -> None:
    """P-103, D5: attempts are numbered within a generation; a reset begins the next and leaves the last as it was."""
    life = Life("t", clock.now, max_attempts=2)
    life.create(store)
    saved(store, life, *(verb for verb, _ in BEGINS))
    saved(store, life, "mark_retry_wait", "mark_starting", "mark_running")
    saved(store, life, "mark_succeeded", outcome={"attempt": 2})
    saved(store, life, "reset", **BY)
    saved(store, life, "start", "mark_starting")
    assert [(one.generation, one.attempt) for one in store.attempts("t")] == [(1, 1), (1, 2), (2, 1)]
    assert [one.attempt for one in store.attempts("t", generation=1) if one.failure is None] == [2]
    assert len({one.epoch for one in store.attempts("t")}) == 2


def test_the_history_alone_says_how_long_it_was_what(store: SqliteTaskStore, clock: FakeClock) -> None:
    """P-105, D15: times in each state add up to the whole, and the parts are those that passed."""
    life = Life("t", clock.now)
    life.create(store)
    script = (("start", 2), ("mark_starting", 3), ("mark_running", 5), ("request_pause", 7), ("mark_paused", 11))
    for verb, seconds in (*script, ("resume", 13), ("mark_succeeded", 17)):
        clock.advance(seconds)
        saved(store, life, verb, **({"actor": "ann"} if verb in ("request_pause", "resume") else {}))
    history = store.history("t")
    spent: dict[str, float] = {}
    for one, after in pairwise(history):
        state = one.to_status.value
        spent[state] = spent.get(state, 0) + (after.at - one.at).total_seconds()
    row = store.get("t")
    assert row is not None
    assert row.ended_at is not None
    assert spent == {"pending": 2, "queued": 3, "starting": 5, "running": 7 + 17, "pausing": 11, "paused": 13}
    assert sum(spent.values()) == (row.ended_at - row.created_at).total_seconds()


def test_the_final_write_lands_although_any_call_fails(tmp_path: Path) -> None:
    """P-110, D23: for each k the k-th call to the disk fails; the writer tries again, and the end is on disk."""
    plan = Plan()
    with pytest.MonkeyPatch.context() as patch:
        install(patch, plan)
        store = SqliteTaskStore(tmp_path / "tasks.db")
        for number in range(14):
            clock = FakeClock()
            writer, life = StoreWriter(store, clock=clock), Life(f"t{number}", utcnow)
            for request in writes(life, BEGINS):
                follow(life, writer.write(request))
            plan.at = plan.calls + number + 1
            answers: list[Any] = []
            writer.submit(life.does("mark_succeeded", outcome=number).request(), answers.append)
            while writer.flush(timeout_ms=0):
                clock.advance(0.02)
            plan.heal()
            assert writer.close() == ()
            row = store.get(f"t{number}")
            assert row is not None
            assert is_terminal(row.status)
            assert [row] == answers
        store.close()
    assert plan.failed > 5
    assert findings(tmp_path / "tasks.db") == []


def test_a_command_whose_claimant_died_is_done_once(store: SqliteTaskStore, clock: FakeClock) -> None:
    """P-112, D27: after its lease another claims it; the effect is on record once, and the row says how often tried."""
    tools = ContractBase()
    tools.__dict__["_clock"] = clock
    life = tools.stored(store, "t", *(verb for verb, _ in BEGINS))
    store.submit_command(tools.ask("k", "t", seconds=3600))
    (dead,) = tools.claim(store)
    assert tools.claim(store) == []
    clock.advance(31)
    (alive,) = tools.claim(store)
    assert alive.claims == 2
    request = life.does("request_stop", **BY).request(Completion("k", alive.claim_token or "", "accepted"), "k")
    store_one(store, request)
    late = Completion("k", dead.claim_token or "", "accepted")
    assert not store.complete_command(late)
    repeated = SaveRequest(request.snapshot, request.expect_version, request.transitions, request.attempts, late)
    assert store_one(store, repeated).status_version == request.snapshot.status_version
    assert [one.command_id for one in store.history("t") if one.command_id] == ["k"]
    done = store.command("k")
    assert done is not None
    assert (done.claims, done.outcome) == (2, "accepted")


@pytest.mark.parametrize("version", ["2", "99", "x", ""])
def test_a_file_of_another_version_is_never_made_anew(tmp_path: Path, version: str) -> None:
    """P-113, D29: both versions are named, and not one byte changes; the history is still there for who knows it."""
    path = tmp_path / "tasks.db"
    store = SqliteTaskStore(path)
    run_lives(store, 2)
    store.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as plain:
        plain.execute("UPDATE meta SET value = ? WHERE key = 'schema_version'", (version,))
        plain.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(StoreError, match=rf"schema version {version or 'none'}, this library knows \d"):
            SqliteTaskStore(path, read_only=read_only)
    assert path.read_bytes() == before


def test_owners_come_and_go_without_a_trace_in_history(store: SqliteTaskStore, clock: FakeClock) -> None:
    """P-099, D24: leases and heartbeats are no transitions; however many, no record."""
    life = Life("t", clock.now)
    life.create(store)
    saved(store, life, *(verb for verb, _ in BEGINS))
    row = store.get("t")
    assert row is not None
    for _ in range(50):
        store.renew(OwnerRecord(OWNER), clock.now() + timedelta(seconds=30))
        assert store.touch("t", owner=OWNER, epoch=row.epoch, heartbeat_at=clock.now())
        assert not store.touch("t", owner=OTHER, epoch=row.epoch)
    assert len(store.history("t")) == len(store.feed()) == 4
