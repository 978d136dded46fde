"""The judgements a store makes before it writes; pure, and the same for every store (D22, D24, D25).

Each returns None where the write may go on, or says why not: as an error to raise, or as a plain no.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import attrs

from chongming_spec.audit_rows import row_problem
from chongming_spec.errors import (
    ConcurrencyConflict,
    ConfigurationError,
    Fenced,
    StoreCorruption,
    StoreError,
    TaskExists,
    UnknownTask,
)
from chongming_spec.facts import CarrierState
from chongming_spec.records import chain_problem, is_out_of_band, move_problem
from chongming_spec.snapshot import AttemptRecord, TaskSnapshot, Transition
from chongming_spec.states import is_terminal, occupies
from chongming_spec.stores import (
    SETTLED_RUNS,
    Command,
    CommandState,
    Completion,
    LeaseView,
    OwnerRecord,
    RunRecord,
    SaveRequest,
    TaskQuery,
)

FENCED = "fenced"
FENCED_KEPT = timedelta(days=1)


def records_error(
    snapshot: TaskSnapshot, newest: Transition | None, records: Sequence[Transition]
) -> StoreError | ConfigurationError | None:
    """The records must lead from the newest stored one to exactly this snapshot, each by a move of the tables."""
    if not records:
        return ConfigurationError(
            "transitions must hold the records that lead to the snapshot; pass machine.transitions"
        )
    previous = newest
    for record in records:
        if record.task_id != snapshot.task_id:
            return StoreCorruption(f"a record of {record.task_id!r} cannot be saved with task {snapshot.task_id!r}")
        problem = chain_problem(previous, record) or move_problem(record)
        if problem is not None:
            return StoreCorruption(
                f"task {record.task_id!r}, version {record.version}: {problem}", version=record.version
            )
        previous = record
    last = records[-1]
    shown = (snapshot.status_version, snapshot.status, snapshot.epoch, snapshot.generation, snapshot.attempt)
    if (last.version, last.to_status, last.epoch, last.generation, last.attempt) != shown:
        return StoreCorruption(f"task {snapshot.task_id!r}: the snapshot is not what its last record leads to")
    problem = row_problem(snapshot)
    return None if problem is None else StoreCorruption(f"task {snapshot.task_id!r}: {problem}")


def create_error(existing: TaskSnapshot | None) -> TaskExists | None:
    """An id can be created once."""
    if existing is None:
        return None
    return TaskExists(
        f"task {existing.task_id!r} exists and is {existing.status}; choose another id, or retry that task",
        task_id=existing.task_id, status=existing.status,
    )  # fmt: skip


def was_saved(stored: Transition | None, request: SaveRequest) -> bool:
    """D22: whether this very save was stored before, its answer lost on the way; `stored` is the record of its version.

    Out of band the store drew the epoch; everything else of the record must be equal.
    """
    if stored is None or not request.transitions:
        return False
    asked = request.transitions[-1]
    drawn = draws_epoch(request.transitions)
    return stored == (attrs.evolve(asked, epoch=stored.epoch) if drawn else asked)


class RowHead(NamedTuple):
    """As much of a stored row as a save is judged by, with its newest record."""

    task_id: str
    version: int
    epoch: int
    owner: str | None
    newest: Transition | None


def head_of(row: TaskSnapshot, newest: Transition | None) -> RowHead:
    """The head of a whole row."""
    return RowHead(row.task_id, row.status_version, row.epoch, row.owner, newest)


def save_error(row: RowHead | None, request: SaveRequest) -> UnknownTask | ConcurrencyConflict | None:
    """The row must be at the expected version and, unless the move begins a new one, of the same epoch."""
    task_id = request.snapshot.task_id
    if row is None:
        return UnknownTask(f"task {task_id!r} is not stored; create it first", task_id=task_id)
    if row.version != request.expect_version:
        return ConcurrencyConflict(
            f"task {task_id!r} is at version {row.version}, not {request.expect_version}: somebody wrote first",
            expected=request.expect_version, actual=row.version,
        )  # fmt: skip
    moves = bool(request.transitions) and any(is_out_of_band(record) for record in request.transitions)
    if not moves and row.epoch != request.snapshot.epoch:
        return Fenced(
            f"task {task_id!r} is of epoch {row.epoch}, not {request.snapshot.epoch}: another owner answers for it",
            expected=request.snapshot.epoch, actual=row.epoch,
        )  # fmt: skip
    return None


def draws_epoch(request_records: Sequence[Transition]) -> bool:
    """D24: whether the store must draw a new epoch for this write."""
    return any(record.from_status is None or is_out_of_band(record) for record in request_records)


def with_epoch(request: SaveRequest, epoch: int) -> SaveRequest:
    """D24: the request under the epoch the store drew, from its first record out of band (or its creation) on.

    An attempt that the request shows under its own epoch began after that record, so it moves along.
    """
    records, drawn = [], False
    for record in request.transitions:
        drawn = drawn or record.from_status is None or is_out_of_band(record)
        records.append(attrs.evolve(record, epoch=epoch) if drawn else record)
    attempts = tuple(
        attrs.evolve(one, epoch=epoch) if one.epoch == request.snapshot.epoch else one for one in request.attempts
    )
    return attrs.evolve(
        request, snapshot=attrs.evolve(request.snapshot, epoch=epoch), transitions=tuple(records), attempts=attempts
    )


def fenced_command(before: TaskSnapshot | RowHead, after: SaveRequest, now: datetime) -> Command | None:
    """D26: what tells the owner of the old epoch that another one overtook it; None where nobody needs telling."""
    by = after.transitions[-1].owner or after.snapshot.owner or ""
    if before.epoch == after.snapshot.epoch or before.owner is None or before.owner == by:
        return None
    return Command(
        command_id=f"{FENCED}/{before.task_id}/{before.epoch}",
        task_id=before.task_id,
        verb=FENCED,
        actor=by,
        created_at=now,
        expires_at=now + FENCED_KEPT,
        target_epoch=before.epoch,
        owner=before.owner,
    )


def append_error(
    row: TaskSnapshot | None, known: Transition | None, newest: Transition | None, record: Transition
) -> StoreError | None:
    """D22: an import continues a history that has no row yet; a known version must be equal (then nothing changes)."""
    where = f"task {record.task_id!r}, version {record.version}"
    if known is not None:
        return None if known == record else StoreCorruption(f"{where}: another record stands there")
    if row is not None:
        return StoreError(f"{where}: the task is stored, so its history grows by save only")
    problem = chain_problem(newest, record) or move_problem(record)
    return None if problem is None else StoreCorruption(f"{where}: {problem}", version=record.version)


def merged_attempt(known: AttemptRecord | None, given: AttemptRecord, task_id: str) -> AttemptRecord | StoreError:
    """The attempt to keep: what began stays as it began, what is closed stays closed, a late note stays (D5)."""
    if given.task_id != task_id:
        return StoreCorruption(f"an attempt of {given.task_id!r} cannot be saved with task {task_id!r}")
    if known is None:
        return given
    merged = attrs.evolve(given, late_result=known.late_result or given.late_result)
    began = (known.started_at, known.epoch) == (given.started_at, given.epoch)
    closed = attrs.evolve(known, late_result=merged.late_result)
    if began and (known.ended_at is None or merged == closed):
        return merged
    return StoreCorruption(f"attempt {given.attempt} of task {task_id!r} is closed or began otherwise")


def noted(attempt: AttemptRecord | None, note: str) -> AttemptRecord | None:
    """The closed attempt with the late note; None where it is not closed or bears another note already."""
    if attempt is None or attempt.ended_at is None or attempt.late_result not in (None, note):
        return None
    return attrs.evolve(attempt, late_result=note)


def completion_error(command: Command | None, completion: Completion) -> StoreError | None:
    """D27: a save that carries the end of a command is refused whole when the claim is no longer held."""
    if holds_claim(command, completion.claim_token):
        return None
    return StoreError(f"command {completion.command_id!r} is no longer claimed by its caller; nothing was written")


def effect_error(record: Transition, is_used: bool) -> StoreCorruption | None:
    """D27: the effect of a command is recorded at most once."""
    if not is_used:
        return None
    return StoreCorruption(f"command {record.command_id!r} has its effect on record already", version=record.version)


def leased(row: TaskSnapshot, owner: OwnerRecord | None) -> TaskSnapshot:
    """D24: the row with its lease read through its owner; a task that is over needs none."""
    held = owner is not None and not is_terminal(row.status)
    lease = (owner.owner, owner.lease_until) if owner is not None and held else (None, None)
    if lease == (row.lease_owner, row.lease_until):
        return row
    return attrs.evolve(row, lease_owner=lease[0], lease_until=lease[1])


def query_error(query: TaskQuery) -> ConfigurationError | None:
    """A page has at least one row."""
    if query.limit is None or query.limit >= 1:
        return None
    return ConfigurationError(f"limit must be at least 1, not {query.limit!r}; leave it out for all tasks")


def may_touch(row: TaskSnapshot | None, owner: str, epoch: int) -> bool:
    """D24: only the owner of the present epoch of a task that is not over."""
    return row is not None and row.owner == owner and row.epoch == epoch and not is_terminal(row.status)


def lease_is_over(lease_until: datetime | None, now: datetime) -> bool:
    """Whether a lease has run out by the store's clock; an owner that never had one counts as gone."""
    return lease_until is None or lease_until < now


def may_expire(row: TaskSnapshot | None, read: LeaseView, lease_until: datetime | None, now: datetime) -> bool:
    """D25: nothing changed since it was read, and the lease is over."""
    return still_as_read(row, read, lease_until) and lease_is_over(lease_until, now)


def still_as_read(row: TaskSnapshot | None, read: LeaseView, lease_until: datetime | None) -> bool:
    """Whether version, owner, epoch and lease are exactly those read."""
    return row is not None and (row.status_version, row.owner, row.epoch, lease_until) == read


def may_adopt(
    row: TaskSnapshot | None, read: LeaseView, lease_until: datetime | None, now: datetime, stalled_ok: bool
) -> bool:
    """D28: as read, and the lease over; or, where no carrier is held, from an owner that lives but stalls."""
    if row is None or not still_as_read(row, read, lease_until):
        return False
    return lease_is_over(lease_until, now) or (stalled_ok and not occupies(row.status, row.paused_in_place))


def is_claimable(command: Command, owner: str, now: datetime) -> bool:
    """D27: for this owner, not expired, and new or claimed by somebody whose claim is over."""
    if command.owner != owner or command.expires_at <= now:
        return False
    if command.state is CommandState.CLAIMED:
        return command.claim_until is not None and command.claim_until < now
    return command.state is CommandState.NEW


def is_behind(command: Command, other: Command, now: datetime) -> bool:
    """D27: whether `other` of the same task and owner must be finished before `command` may be claimed."""
    return (
        (other.task_id, other.owner) == (command.task_id, command.owner)
        and other.seq < command.seq
        and other.state is not CommandState.DONE
        and other.expires_at > now
    )


def submitted(command: Command, seq: int) -> Command:
    """A command as it is first put down, whatever its claim fields said."""
    return attrs.evolve(
        command,
        seq=seq,
        state=CommandState.NEW,
        claim_token=None,
        claim_until=None,
        claims=0,
        outcome=None,
        answer=None,
    )


def claimed(command: Command, claim_token: str, claim_until: datetime) -> Command:
    """The command in the hands of one claimant."""
    return attrs.evolve(
        command,
        state=CommandState.CLAIMED,
        claim_token=claim_token,
        claim_until=claim_until,
        claims=command.claims + 1,
    )


def completed(command: Command, completion: Completion) -> Command:
    """The command at its end."""
    return attrs.evolve(command, state=CommandState.DONE, outcome=completion.outcome, answer=completion.answer)


def released(command: Command) -> Command:
    """The command given back; that it was claimed stays counted."""
    return attrs.evolve(command, state=CommandState.NEW, claim_token=None, claim_until=None)


def undeliverable(command: Command, epoch: int | None, now: datetime) -> str | None:
    """D27: the outcome of a command nobody can deliver any more, `epoch` being that of its task (None: no such task).

    A `fenced` command speaks of an old epoch by nature, so it is never superseded. What somebody holds is left to them.
    """
    held = command.state is CommandState.CLAIMED and command.claim_until is not None and command.claim_until >= now
    if command.state is CommandState.DONE or held:
        return None
    if epoch is None:
        return "not_found"
    if command.target_epoch is not None and command.target_epoch != epoch and command.verb != FENCED:
        return "superseded"
    return "expired" if command.expires_at <= now else None


def holds_claim(command: Command | None, claim_token: str) -> bool:
    """D27: only the present claimant may complete or release."""
    return command is not None and command.state is CommandState.CLAIMED and command.claim_token == claim_token


def is_live(command: Command) -> bool:
    """Whether something may still come of a command; a `fenced` one only informs."""
    return command.state is not CommandState.DONE and command.verb != FENCED


def run_error(known: RunRecord | None, run_id: str, expect_version: int) -> ConcurrencyConflict | None:
    """A run's record follows the version its writer has read; 0 where there is none."""
    actual = 0 if known is None else known.version
    if actual == expect_version:
        return None
    return ConcurrencyConflict(
        f"run {run_id!r} is at version {actual}, not {expect_version}: somebody else wrote first",
        expected=expect_version, actual=actual,
    )  # fmt: skip


def run_is_settled(run: RunRecord | None) -> bool:
    """D30: whether a pipeline run is over, or unknown; its nodes may be pruned only then."""
    return run is None or run.status in SETTLED_RUNS


def possibly_alive(row: TaskSnapshot) -> bool:
    """D10: whether an earlier carrier of the task may still be at work."""
    return row.carrier_state is not CarrierState.NONE


def prune_error(keep_terminal: int) -> ConfigurationError | None:
    """How many tasks to keep is a count."""
    if keep_terminal >= 0:
        return None
    return ConfigurationError(f"keep_terminal must be at least 0, not {keep_terminal!r}")


def may_prune(row: TaskSnapshot, has_live_command: bool, run_settled: bool, possibly_alive: bool) -> bool:
    """D30: over, nothing asked of it, its run settled, and no carrier of it possibly at work."""
    return is_terminal(row.status) and not has_live_command and run_settled and not possibly_alive
