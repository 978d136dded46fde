"""Tasks in the memory of this process: the store to begin with, and the one tests run on.

It keeps every law of `chongming_spec.stores.STORE_METHODS`, for as long as its process lives. Each method holds one
lock, asks `chongming_spec.store_rules` whether the write may go on, and writes last; so a refusal leaves everything as
it was. The time of a write does not depend on how many tasks there are; a query looks at the tasks of the states it
names.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

import attrs

from chongming_spec import store_rules as rules
from chongming_spec.errors import ConfigurationError, TaskError
from chongming_spec.snapshot import AttemptRecord, Progress, TaskSnapshot, Transition
from chongming_spec.states import TERMINAL, TaskStatus
from chongming_spec.stores import (
    Completion,
    CreateRequest,
    FeedRecord,
    LeaseView,
    OwnerRecord,
    QueryResult,
    SaveRequest,
    TaskQuery,
    Tombstone,
    WriteRequest,
)
from chongming_task.stores._codec import dumps, loads, time_of
from chongming_task.stores._memory_commands import MemoryCommands, raise_if
from chongming_task.stores._memory_tables import Tables, copied, own_task

SaveResult = TaskSnapshot | TaskError


class InMemoryTaskStore(MemoryCommands):
    """Tasks in memory. `clock` judges leases; safe to call from any thread."""

    # Rows and history

    def create(
        self,
        snapshot: TaskSnapshot,
        *,
        transitions: Sequence[Transition],
        submission_id: str | None = None,
        arguments: Mapping[str, Any] | None = None,
    ) -> TaskSnapshot:
        """Put a new task and its first records down; returns it with its epoch (D22, D24)."""
        with self._open() as tables:
            return self._create(tables, CreateRequest(snapshot, tuple(transitions), submission_id, arguments))

    def _create(self, tables: Tables, wanted: CreateRequest) -> TaskSnapshot:
        arguments = copied("arguments", wanted.arguments)
        known = None if wanted.submission_id is None else tables.submissions.get(wanted.submission_id)
        if known is not None:
            return self._view(tables, tables.rows[known])
        raise_if(rules.create_error(tables.rows.get(wanted.snapshot.task_id)))
        request = self._judged(tables, SaveRequest(wanted.snapshot, 0, wanted.transitions))
        self._put(tables, request)
        tables.put_submission(wanted.snapshot.task_id, wanted.submission_id, arguments)
        return self._view(tables, request.snapshot)

    def save(
        self,
        snapshot: TaskSnapshot,
        *,
        expect_version: int,
        transitions: Sequence[Transition],
        attempts: Sequence[AttemptRecord] = (),
        complete: Completion | None = None,
    ) -> TaskSnapshot:
        """Follow `expect_version` by `snapshot` and its records, in one transaction (D22)."""
        with self._open() as tables:
            return self._save(
                tables, SaveRequest(snapshot, expect_version, tuple(transitions), tuple(attempts), complete)
            )

    def save_many(self, requests: Sequence[WriteRequest]) -> list[SaveResult]:
        """Creates and saves, each on its own; an error stands in the place of its result."""
        results: list[SaveResult] = []
        with self._open() as tables:
            for request in requests:
                try:
                    results.append(self._write(tables, request))
                except TaskError as error:
                    results.append(error)
        return results

    def _write(self, tables: Tables, request: WriteRequest) -> TaskSnapshot:
        return self._save(tables, request) if isinstance(request, SaveRequest) else self._create(tables, request)

    def _save(self, tables: Tables, request: SaveRequest) -> TaskSnapshot:
        task_id = request.snapshot.task_id
        row = tables.rows.get(task_id)
        stored = tables.record(task_id, request.snapshot.status_version)
        if row is not None and stored is not None and rules.was_saved(stored, request):
            return self._view(tables, attrs.evolve(request.snapshot, epoch=stored.epoch))
        raise_if(rules.save_error(None if row is None else rules.head_of(row, tables.newest(task_id)), request))
        assert row is not None
        request = self._judged(tables, request)
        done = request.complete
        if done is not None:
            raise_if(rules.completion_error(tables.commands.get(done.command_id), done))
            done = done._replace(answer=copied("answer", done.answer))
        self._put(tables, request)
        fenced = rules.fenced_command(row, request, self._clock.now())
        if fenced is not None:
            self._submit(tables, fenced)
        if done is not None:
            tables.put_command(rules.completed(tables.commands[done.command_id], done))
        return self._view(tables, request.snapshot)

    def _judged(self, tables: Tables, request: SaveRequest) -> SaveRequest:
        """The request as it is to be written, under its drawn epoch and with merged attempts; or its error."""
        task_id = request.snapshot.task_id
        if rules.draws_epoch(request.transitions):
            request = rules.with_epoch(request, tables.epoch + 1)
        raise_if(rules.records_error(request.snapshot, tables.newest(task_id), request.transitions))
        effects = set[str]()
        for record in request.transitions:
            used = record.command_id in tables.effects or record.command_id in effects
            raise_if(rules.effect_error(record, used))
            effects.update(() if record.command_id is None else (record.command_id,))
        attempts = dict(tables.attempts.get(task_id, {}))
        for one in request.attempts:
            merged = rules.merged_attempt(attempts.get((one.generation, one.attempt)), one, task_id)
            if not isinstance(merged, AttemptRecord):
                raise merged
            attempts[one.generation, one.attempt] = merged
        return attrs.evolve(request, snapshot=own_task(request.snapshot), attempts=tuple(attempts.values()))

    def _put(self, tables: Tables, request: SaveRequest) -> None:
        row = attrs.evolve(request.snapshot, lease_owner=None, lease_until=None)
        for record in request.transitions:
            tables.put_record(record)
        tables.put_row(row)
        tables.epoch = max(tables.epoch, row.epoch)
        tables.attempts[row.task_id] = {(one.generation, one.attempt): one for one in request.attempts}

    def _view(self, tables: Tables, row: TaskSnapshot) -> TaskSnapshot:
        owner = tables.owners.get(row.owner) if row.owner is not None else None
        return own_task(rules.leased(row, owner))

    def get(self, task_id: str) -> TaskSnapshot | None:
        """The task, or None."""
        with self._open() as tables:
            row = tables.rows.get(task_id)
            return None if row is None else self._view(tables, row)

    def arguments(self, task_id: str) -> Mapping[str, Any] | None:
        """The stored arguments of a task, if they were stored (D40)."""
        with self._open() as tables:
            text = tables.arguments.get(task_id)
        found: Mapping[str, Any] | None = None if text is None else loads(text)
        return found

    def query(self, query: TaskQuery | None = None) -> QueryResult:
        """One page of tasks; nothing here can be corrupt."""
        wanted = TaskQuery() if query is None else query
        raise_if(rules.query_error(wanted))
        place = None if wanted.after is None else _place(wanted.after)
        with self._open() as tables:
            statuses = tables.by_status if wanted.statuses is None else wanted.statuses
            ids = chain.from_iterable(tables.by_status.get(status, ()) for status in statuses)
            rows = (row for row in (tables.rows[one] for one in ids) if _fits(row, wanted, place))
            if wanted.limit is None:
                found = sorted(rows, key=_order, reverse=wanted.newest)
            else:
                found = (heapq.nlargest if wanted.newest else heapq.nsmallest)(wanted.limit, rows, key=_order)
            is_full = bool(found) and len(found) == wanted.limit
            cursor = dumps([found[-1].created_at, found[-1].task_id]) if is_full else None
            return QueryResult([self._view(tables, row) for row in found], (), cursor)

    def counts(self) -> dict[TaskStatus, int]:
        """How many tasks there are in each state; nothing is scanned."""
        with self._open() as tables:
            return {status: len(ids) for status, ids in tables.by_status.items() if ids}

    def append(self, transition: Transition) -> None:
        """Import one record that continues a history; an equal one again changes nothing (D22)."""
        task_id = transition.task_id
        with self._open() as tables:
            known = tables.record(task_id, transition.version)
            raise_if(rules.append_error(tables.rows.get(task_id), known, tables.newest(task_id), transition))
            if known is None:
                raise_if(rules.effect_error(transition, transition.command_id in tables.effects))
                tables.put_record(transition)
                tables.epoch = max(tables.epoch, transition.epoch)

    def history(self, task_id: str, *, since_version: int = 0, generation: int | None = None) -> list[Transition]:
        """The records after `since_version`, oldest first."""
        with self._open() as tables:
            records = tables.records.get(task_id, [])[max(0, since_version) :]
        return [record for record in records if generation is None or record.generation == generation]

    def feed(self, after: int = 0, limit: int = 1000) -> list[FeedRecord]:
        """Records of all tasks in store-wide order, after that place."""
        found: list[FeedRecord] = []
        with self._open() as tables:
            for place in range(max(0, after), len(tables.feed)):
                record = tables.feed[place]
                if len(found) >= limit:
                    break
                if record is not None:
                    found.append(FeedRecord(place + 1, record))
        return found

    def attempts(self, task_id: str, *, generation: int | None = None) -> list[AttemptRecord]:
        """One record per attempt started, oldest first."""
        with self._open() as tables:
            found = sorted(tables.attempts.get(task_id, {}).items())
        return [one for key, one in found if generation is None or key[0] == generation]

    def note_late_result(self, task_id: str, *, generation: int, attempt: int, note: str) -> bool:
        """Note on a closed attempt what its carrier reported too late; False if it cannot be noted there."""
        with self._open() as tables:
            attempts = tables.attempts.get(task_id, {})
            noted = rules.noted(attempts.get((generation, attempt)), note)
            if noted is not None:
                attempts[generation, attempt] = noted
            return noted is not None

    # The bypass and the leases

    def touch(
        self,
        task_id: str,
        *,
        owner: str,
        epoch: int,
        progress: Progress | None = None,
        heartbeat_at: datetime | None = None,
    ) -> bool:
        """Keep progress and heartbeat; False: the caller is fenced (D24)."""
        with self._open() as tables:
            row = tables.rows.get(task_id)
            if row is None or not rules.may_touch(row, owner, epoch):
                return False
            tables.rows[task_id] = attrs.evolve(
                row,
                progress=row.progress if progress is None else progress,
                last_heartbeat_at=row.last_heartbeat_at if heartbeat_at is None else heartbeat_at,
            )
            return True

    def renew(self, owner: OwnerRecord, lease_until: datetime) -> None:
        """Hold the owner's lease until then, also if it had run out (D24, D25)."""
        with self._open() as tables:
            tables.owners[owner.owner] = attrs.evolve(owner, lease_until=lease_until)

    def owners(self) -> list[OwnerRecord]:
        """All owners that ever held a lease here, by name."""
        with self._open() as tables:
            return sorted(tables.owners.values(), key=lambda one: one.owner)

    def expire_lease(self, request: SaveRequest, read: LeaseView) -> TaskSnapshot | None:
        """Save the move to lost if all is still as `read` and the lease is over; else None (D25)."""
        with self._open() as tables:
            row = tables.rows.get(request.snapshot.task_id)
            lease = tables.lease_of(None if row is None else row.owner)
            return self._save(tables, request) if rules.may_expire(row, read, lease, self._clock.now()) else None

    def adopt(self, request: SaveRequest, read: LeaseView, *, stalled_ok: bool = False) -> TaskSnapshot | None:
        """Save the adoption under the same condition; `stalled_ok` does without the lease being over (D28)."""
        with self._open() as tables:
            row = tables.rows.get(request.snapshot.task_id)
            lease = tables.lease_of(None if row is None else row.owner)
            may = rules.may_adopt(row, read, lease, self._clock.now(), stalled_ok)
            return self._save(tables, request) if may else None

    # Upkeep

    def prune(self, *, keep_terminal: int) -> int:
        """Remove the oldest tasks that are over, all but the newest `keep_terminal` (D30)."""
        raise_if(rules.prune_error(keep_terminal))
        with self._open() as tables:
            over = [tables.rows[one] for status in TERMINAL for one in tables.by_status.get(status, ())]
            over.sort(key=lambda row: (row.ended_at or row.created_at, row.task_id), reverse=True)
            removed = [row for row in over[keep_terminal:] if self._may_prune(tables, row)]
            now = self._clock.now()
            for row in removed:
                tables.tombstones[row.task_id] = Tombstone(row.task_id, row.status, row.epoch, row.status_version, now)
                tables.remove(row.task_id)
            return len(removed)

    def _may_prune(self, tables: Tables, row: TaskSnapshot) -> bool:
        live = any(rules.is_live(one) for one in tables.commands_on(row.task_id))
        run = None if row.pipeline_run_id is None else tables.runs.get(row.pipeline_run_id)
        return rules.may_prune(row, live, rules.run_is_settled(run), rules.possibly_alive(row))

    def tombstone(self, task_id: str) -> Tombstone | None:
        """What is left of a pruned task."""
        with self._open() as tables:
            return tables.tombstones.get(task_id)


def _order(row: TaskSnapshot) -> tuple[datetime, str]:
    return row.created_at, row.task_id


def _place(cursor: str) -> tuple[datetime, str]:
    try:
        created_at, task_id = loads(cursor)
        return time_of(created_at), str(task_id)
    except (ValueError, TypeError, AttributeError):
        raise ConfigurationError(f"after must be the cursor of an earlier page, not {cursor!r}") from None


def _fits(row: TaskSnapshot, wanted: TaskQuery, place: tuple[datetime, str] | None) -> bool:
    """Whether a row meets every condition but the state."""
    return (
        (place is None or (_order(row) < place if wanted.newest else _order(row) > place))
        and (wanted.tag is None or wanted.tag in row.tags)
        and (wanted.name_prefix is None or row.name.startswith(wanted.name_prefix))
        and (wanted.buckets is None or row.bucket in wanted.buckets)
        and (wanted.pipeline_run_id is None or row.pipeline_run_id == wanted.pipeline_run_id)
        and (wanted.owner is None or row.owner == wanted.owner)
    )
