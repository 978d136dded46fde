"""The audit as a pure function: what it judges, what it leaves out, and values that no decoder lets through.

Corruptions of a database, one or more per invariant, are in `tests/integration/test_sqlite_audit.py`.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import attrs
import pytest

from chongming_spec.audit import INVARIANTS, AuditRows, Damage, audit, checked
from chongming_spec.audit_tables import LEASE_AT_MOST
from chongming_spec.buckets import bucket_for
from chongming_spec.facts import CarrierView
from chongming_spec.failures import FailureKind
from chongming_spec.records import CHAIN_LAWS, LEASE_EXPIRED, MOVE_LAWS
from chongming_spec.snapshot import AttemptRecord, Failure, TaskSnapshot, Transition
from chongming_spec.states import TaskStatus
from chongming_spec.stores import FeedRecord, OwnerRecord

S = TaskStatus
AT = datetime(2030, 1, 1, tzinfo=UTC)
# Those of the review's list that stored rows can tell, and the soundness of the file.
NUMBERS = [0, *range(2, 20), *range(21, 33), *range(34, 37), 38]


def history(*path: TaskStatus, task_id: str = "t", trigger: str = "runtime:lost", **last: Any) -> list[FeedRecord]:
    """A history through these states, right in every column; `last` are columns of the newest record."""
    records: list[Transition] = []
    source, attempt = None, 0
    for version, target in enumerate((S.PENDING, *path), start=1):
        attempt += target is S.STARTING
        name = "user:create" if source is None else trigger
        records.append(
            Transition(task_id, version, source, target, name, "w", "why", AT, attempt, 1, 1, 1,
                       carrier=CarrierView.LIVE, owner="w#1")
        )  # fmt: skip
        source = target
    records[-1] = attrs.evolve(records[-1], **last)
    return [FeedRecord(seq, record) for seq, record in enumerate(records, start=1)]


def row(records: list[FeedRecord], **columns: Any) -> TaskSnapshot:
    """The row at the end of a history."""
    last = records[-1].transition
    given = {"attempt": last.attempt, "owner": "w#1", **columns}
    return TaskSnapshot(last.task_id, "t", "t", last.to_status, last.version, AT, AT, **given)


def numbers(rows: AuditRows) -> list[int]:
    """The invariants that do not hold."""
    return [one.invariant for one in audit(rows)]


def test_the_rows_are_numbered_as_in_the_review() -> None:
    """Each invariant that stored rows can tell is there once, in order, with a sentence; laws bear such numbers."""
    assert [one.id for one in INVARIANTS] == NUMBERS
    assert all(one.sentence.endswith(".") for one in INVARIANTS)
    assert {law.invariant for law in (*CHAIN_LAWS, *MOVE_LAWS)} == {17, 18, 19, 22, 23, 26, 27}


def test_what_is_not_there_is_not_judged() -> None:
    """A history alone is judged by what needs no other table, and nothing is clean by being absent."""
    alone = AuditRows(history(S.QUEUED))
    ids = {one.id for one in checked(alone)}
    assert {17, 18, 19, 22, 23, 25, 26, 27, 28} <= ids
    assert ids.isdisjoint({2, 15, 24, 29, 30, 34, 38})
    assert audit(alone) == []
    half = attrs.evolve(alone, tasks=(), damage=(Damage("tasks", "", "cut off"),))
    assert 2 not in {one.id for one in checked(half)}
    assert numbers(half) == [16]


def test_times_must_be_in_utc() -> None:
    """3: the same instant under another offset is written by nobody."""
    records = history(S.QUEUED)
    east = AT.astimezone(timezone(timedelta(hours=8)))
    assert numbers(AuditRows(records, tasks=[row(records, queued_at=AT)])) == []
    assert numbers(AuditRows(records, tasks=[row(records, queued_at=east)])) == [3]


@pytest.mark.parametrize("outcome", [{1: "x"}, (1, 2), {1, 2}, float("inf")], ids=["key", "tuple", "set", "infinity"])
def test_an_outcome_is_json(outcome: Any) -> None:
    """11, D19: what does not come back from JSON as it went in is no outcome."""
    records = history(S.QUEUED, S.STARTING, S.RUNNING, S.SUCCEEDED)
    rows = AuditRows(records, tasks=[row(records, outcome=outcome, ended_at=AT, started_at=AT)])
    assert numbers(rows) == [11]
    assert audit(attrs.evolve(rows, tasks=[attrs.evolve(rows.tasks[0], outcome=[1, "x"])])) == []  # type: ignore[index]


RUNNING = (S.QUEUED, S.STARTING, S.RUNNING)


def test_a_lease_that_is_over_is_declared_by_another() -> None:
    """35, D25: the reconciler's record is good, the holder's own is not; nor does it lead anywhere else."""
    good = history(*RUNNING, S.LOST, owner="r#1")
    good[-1] = FeedRecord(5, attrs.evolve(good[-1].transition, trigger=LEASE_EXPIRED))
    assert numbers(AuditRows(good)) == []
    own = [*good[:-1], FeedRecord(5, attrs.evolve(good[-1].transition, owner="w#1"))]
    assert numbers(AuditRows(own)) == [35]
    waiting = history(S.QUEUED, S.CANCELLED)
    waiting[-1] = FeedRecord(3, attrs.evolve(waiting[-1].transition, trigger=LEASE_EXPIRED))
    assert numbers(AuditRows(waiting)) == []


def test_a_lease_is_bounded_by_the_time_of_reading() -> None:
    """38: judged only where that time is known."""
    owners = [OwnerRecord("w#1", lease_until=AT + LEASE_AT_MOST + timedelta(seconds=1)), OwnerRecord("x#1")]
    assert numbers(AuditRows(owners=owners, now=AT)) == [38]
    assert numbers(AuditRows(owners=owners, now=AT + timedelta(seconds=1))) == []
    assert numbers(AuditRows(owners=owners)) == []


def test_who_writes_within_an_epoch() -> None:
    """36, D24, D26: a person of another process may steer what holds no carrier, never what another carries."""
    waiting = history(S.QUEUED, S.STOPPED, trigger="user:stop", owner="other#1")
    assert numbers(AuditRows(waiting)) == []
    running = history(*RUNNING, S.STOPPING, trigger="user:stop", owner="other#1")
    assert numbers(AuditRows(running)) == [36]


def test_damage_hides_only_its_own_task() -> None:
    """D29: where a record cannot be read, its task's history is not judged; the others' are."""
    bad, good = history(S.QUEUED)[1:], history(S.RUNNING, task_id="u")
    rows = AuditRows([*bad, *good], damage=(Damage("records", "t", "no time"),), tasks=())
    assert [(one.invariant, one.task_id) for one in audit(rows)] == [(16, "t"), (19, "u")]


def test_an_attempt_is_closed_once_by_its_end() -> None:
    """24, D5: an open attempt of a task that ended is found, and the good one is not."""
    records = history(*RUNNING, S.FAILED)
    failure = Failure(FailureKind.EXCEPTION, retryable=True)
    task = row(records, ended_at=AT, started_at=AT, failure=failure)
    closed = AttemptRecord("t", 1, 1, 1, AT, AT, "failed", failure)
    assert numbers(AuditRows(records, tasks=[task], attempts=[closed])) == []
    open_one = attrs.evolve(closed, ended_at=None, disposition=None)
    assert numbers(AuditRows(records, tasks=[task], attempts=[open_one])) == [24]
    unread = AuditRows(records, tasks=[task], attempts=[], damage=(Damage("attempts", "t", "no time"),))
    assert numbers(unread) == [16]


def test_findings_read_as_sentences() -> None:
    """A finding of no task, of a task, and of a record."""
    stray = AuditRows(
        history(S.RUNNING), tasks=(), counters={"queued": 1}, damage=(Damage("file", "", "page 3 is torn"),)
    )  # fmt: skip
    assert [str(one) for one in audit(stray)] == [
        "invariant 0: page 3 is torn",
        "invariant 19, task 't', version 2: no edge leads from pending to running",
        "invariant 29: 1 tasks are counted as queued, there are 0",
    ]


def test_a_bucket_is_the_same_everywhere() -> None:
    """D29: fixed values, so that another hash, or another number of bytes of it, is noticed."""
    assert [bucket_for(key, 64) for key in ("tenant-A", "tenant-B", "")] == BUCKETS
    assert {bucket_for(str(n), 5) for n in range(100)} == set(range(5))


BUCKETS = [7, 28, 52]
