"""The judgements a store makes before it writes; pure, and the same for every store (D22, D24, D25).

Each returns None where the write may go on, or says why not: as an error to raise, or as a plain no.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import attrs

from chongming_spec.errors import (
    ConcurrencyConflict,
    ConfigurationError,
    Fenced,
    StoreCorruption,
    StoreError,
    TaskExists,
    UnknownTask,
)
from chongming_spec.records import chain_problem, is_out_of_band, move_problem
from chongming_spec.snapshot import TaskSnapshot, Transition
from chongming_spec.states import is_terminal
from chongming_spec.stores import SETTLED_RUNS, Command, CommandState, LeaseView, RunRecord, SaveRequest


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
    if (last.version, last.to_status, last.epoch) != (snapshot.status_version, snapshot.status, snapshot.epoch):
        return StoreCorruption(f"task {snapshot.task_id!r}: the snapshot is not what its last record leads to")
    return None


def create_error(existing: TaskSnapshot | None) -> TaskExists | None:
    """An id can be created once."""
    if existing is None:
        return None
    return TaskExists(
        f"task {existing.task_id!r} exists and is {existing.status}; choose another id, or retry that task",
        task_id=existing.task_id, status=existing.status,
    )  # fmt: skip


def is_same_save(row: TaskSnapshot, newest: Transition | None, request: SaveRequest) -> bool:
    """D22: whether this very save was stored before, its answer lost on the way."""
    if newest is None or row.status_version != request.snapshot.status_version or not request.transitions:
        return False
    return newest.transition_id == request.transitions[-1].transition_id or _same_but_epoch(
        newest, request.transitions[-1]
    )


def was_saved(stored: Transition | None, request: SaveRequest) -> bool:
    """D22: whether this very save was stored before, its answer lost on the way; `stored` is the record of its version.

    Out of band the store drew the epoch; everything else of the record must be equal.
    """
    if stored is None or not request.transitions:
        return False
    asked = request.transitions[-1]
    drawn = draws_epoch(request.transitions)
    return stored == (attrs.evolve(asked, epoch=stored.epoch) if drawn else asked)


def _same_but_epoch(stored: Transition, asked: Transition) -> bool:
    """An out-of-band record got its epoch from the store; everything else of it must be equal."""
    return is_out_of_band(stored) and attrs.evolve(asked, epoch=stored.epoch) == stored


def save_error(row: TaskSnapshot | None, request: SaveRequest) -> UnknownTask | ConcurrencyConflict | None:
    """The row must be at the expected version and, unless the move begins a new one, of the same epoch."""
    task_id = request.snapshot.task_id
    if row is None:
        return UnknownTask(f"task {task_id!r} is not stored; create it first", task_id=task_id)
    if row.status_version != request.expect_version:
        return ConcurrencyConflict(
            f"task {task_id!r} is at version {row.status_version}, not {request.expect_version}: somebody wrote first",
            expected=request.expect_version, actual=row.status_version,
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


def is_claimable(command: Command, owner: str, now: datetime) -> bool:
    """D27: for this owner, not expired, and new or claimed by somebody whose claim is over."""
    if command.owner != owner or command.expires_at <= now:
        return False
    if command.state is CommandState.CLAIMED:
        return command.claim_until is not None and command.claim_until < now
    return command.state is CommandState.NEW


def holds_claim(command: Command | None, claim_token: str) -> bool:
    """D27: only the present claimant may complete or release."""
    return command is not None and command.state is CommandState.CLAIMED and command.claim_token == claim_token


def may_prune(row: TaskSnapshot, has_live_command: bool, run_settled: bool, possibly_alive: bool) -> bool:
    """D30: over, nothing asked of it, its run settled, and no carrier of it possibly at work."""
    return is_terminal(row.status) and not has_live_command and run_settled and not possibly_alive


def may_adopt(
    row: TaskSnapshot | None, read: LeaseView, lease_until: datetime | None, now: datetime, stalled_ok: bool
) -> bool:
    """D28: nothing changed since it was read, and the lease is over; a person may waive that for an owner that
    stalls.
    """
    return still_as_read(row, read, lease_until) and (stalled_ok or lease_is_over(lease_until, now))


def undeliverable(command: Command, epoch: int | None, now: datetime) -> str | None:
    """D27: why nobody can deliver a command any more; None while somebody may."""
    if epoch is None:
        return "not_found"
    if command.verb != "fenced" and command.target_epoch is not None and command.target_epoch != epoch:
        return "superseded"
    return "expired" if command.expires_at <= now else None


def run_is_settled(run: RunRecord | None) -> bool:
    """D30: whether a pipeline run is over, or unknown; its nodes may be pruned only then."""
    return run is None or run.status in SETTLED_RUNS
