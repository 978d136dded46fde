"""Stores that are wrong on purpose, each in one way: a memory store with one defect, and the law that it breaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import attrs

from chongming_spec import store_rules as rules
from chongming_spec.errors import ConcurrencyConflict, StoreError, TaskError
from chongming_spec.snapshot import AttemptRecord, TaskSnapshot, Transition
from chongming_spec.states import TaskStatus, is_terminal
from chongming_spec.stores import Command, CorruptRow, FeedRecord, QueryResult, SaveRequest, TaskQuery, WriteRequest
from chongming_task.stores._memory_tables import Tables
from chongming_task.stores.memory import InMemoryTaskStore, SaveResult

Law = tuple[str, str]
WRONG: dict[type[InMemoryTaskStore], Law] = {}
UNSEEN: set[type[InMemoryTaskStore]] = set()
"""Those which random calls of one thread cannot tell from a right one; the contract must."""


def breaks(method: str, text: str = "", *, unseen: bool = False) -> Any:
    """Register a store with the law it breaks."""

    def note(store: type[InMemoryTaskStore]) -> type[InMemoryTaskStore]:
        WRONG[store] = (method, text)
        if unseen:
            UNSEEN.add(store)
        return store

    return note


def _row(tables: Tables, task_id: str, **changes: Any) -> None:
    if task_id in tables.rows:
        tables.put_row(attrs.evolve(tables.rows[task_id], **changes))


# Creation


@breaks("create", "row and first record appear together or not at all")
class RecordsFirst(InMemoryTaskStore):
    def create(self, snapshot: TaskSnapshot, *, transitions: Sequence[Transition], **given: Any) -> TaskSnapshot:
        try:
            return super().create(snapshot, transitions=transitions, **given)
        except StoreError:
            with self._open() as tables:
                for record in transitions:
                    tables.put_record(record)
            raise


@breaks("create", "the same submission_id again is the same task")
class ForgetsSubmissions(InMemoryTaskStore):
    def create(self, snapshot: TaskSnapshot, **given: Any) -> TaskSnapshot:
        return super().create(snapshot, **{**given, "submission_id": None})


@breaks("create", "an id that exists is refused with its present status")
class Replaces(InMemoryTaskStore):
    def create(self, snapshot: TaskSnapshot, *, submission_id: str | None = None, **given: Any) -> TaskSnapshot:
        with self._open() as tables:
            if snapshot.task_id in tables.rows and submission_id not in tables.submissions:
                tables.remove(snapshot.task_id)
            return super().create(snapshot, submission_id=submission_id, **given)


@breaks("create", "the epoch is drawn from a store-wide sequence")
class EpochPerTask(InMemoryTaskStore):
    def create(self, snapshot: TaskSnapshot, **given: Any) -> TaskSnapshot:
        with self._open() as tables:
            tables.epoch = 0
            return super().create(snapshot, **given)


@breaks("create")
class SharesArguments(InMemoryTaskStore):
    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.given: dict[str, Any] = {}

    def create(self, snapshot: TaskSnapshot, *, arguments: Any = None, **given: Any) -> TaskSnapshot:
        row = super().create(snapshot, arguments=arguments, **given)
        self.given.setdefault(row.task_id, arguments)
        return row

    def arguments(self, task_id: str) -> Mapping[str, Any] | None:
        found: Mapping[str, Any] | None = self.given.get(task_id)
        return found


# Saves


@breaks("save", "all in one transaction")
class CompletesApart(InMemoryTaskStore):
    def _save(self, tables: Tables, request: SaveRequest) -> TaskSnapshot:
        row = super()._save(tables, attrs.evolve(request, complete=None))
        if request.complete is not None and not self.complete_command(request.complete):
            raise StoreError("the claim is gone")
        return row


@breaks("save", "the same save again is a success that changes nothing")
class RefusesRepeats(InMemoryTaskStore):
    def _save(self, tables: Tables, request: SaveRequest) -> TaskSnapshot:
        if tables.record(request.snapshot.task_id, request.snapshot.status_version) is not None:
            raise ConcurrencyConflict("that version is written")
        return super()._save(tables, request)


@breaks("save", "another version is a ConcurrencyConflict, another epoch is Fenced")
class AnyRepeatIsTheSame(InMemoryTaskStore):
    def _save(self, tables: Tables, request: SaveRequest) -> TaskSnapshot:
        row = tables.rows.get(request.snapshot.task_id)
        if row is not None and row.status_version == request.snapshot.status_version:
            return self._view(tables, row)
        return super()._save(tables, request)


@breaks("save", "another version is a ConcurrencyConflict, another epoch is Fenced")
class IgnoresTheExpectedVersion(InMemoryTaskStore):
    def _save(self, tables: Tables, request: SaveRequest) -> TaskSnapshot:
        row = tables.rows.get(request.snapshot.task_id)
        expected = request.expect_version if row is None else row.status_version
        return super()._save(tables, attrs.evolve(request, expect_version=expected))


@breaks("save", "another version is a ConcurrencyConflict, another epoch is Fenced")
class IgnoresTheEpoch(InMemoryTaskStore):
    def _save(self, tables: Tables, request: SaveRequest) -> TaskSnapshot:
        row = tables.rows.get(request.snapshot.task_id)
        if row is None or rules.draws_epoch(request.transitions):
            return super()._save(tables, request)
        records = tuple(attrs.evolve(one, epoch=row.epoch) for one in request.transitions)
        snapshot = attrs.evolve(request.snapshot, epoch=row.epoch)
        return super()._save(tables, attrs.evolve(request, snapshot=snapshot, transitions=records))


@breaks("save", "records are exactly the versions in between")
class TrustsItsCaller(InMemoryTaskStore):
    def _judged(self, tables: Tables, request: SaveRequest) -> SaveRequest:
        drawn = rules.draws_epoch(request.transitions)
        return rules.with_epoch(request, tables.epoch + 1) if drawn else request


@breaks("save", "records are exactly the versions in between")
class LooksAtTheLastRecordOnly(InMemoryTaskStore):
    def _judged(self, tables: Tables, request: SaveRequest) -> SaveRequest:
        whole = request.transitions
        judged = super()._judged(tables, attrs.evolve(request, transitions=whole[-1:]) if len(whole) == 1 else request)
        return attrs.evolve(judged, transitions=judged.transitions[-1:])


@breaks("save", "an out-of-band move draws a new epoch and leaves a `fenced` command for another owner")
class TellsNobody(InMemoryTaskStore):
    def _submit(self, tables: Tables, command: Command) -> Command:
        return command if command.verb == rules.FENCED else super()._submit(tables, command)


@breaks("save", "an out-of-band move draws a new epoch and leaves a `fenced` command for another owner")
class TrustsTheCallersEpoch(InMemoryTaskStore):
    def _judged(self, tables: Tables, request: SaveRequest) -> SaveRequest:
        asked = request.snapshot.epoch
        judged = super()._judged(tables, request)
        if request.expect_version and rules.draws_epoch(request.transitions):
            return rules.with_epoch(judged, asked)
        return judged


@breaks("save_many", "one that fails does not harm the others")
class AllOrNothing(InMemoryTaskStore):
    def save_many(self, requests: Sequence[WriteRequest]) -> list[SaveResult]:
        results: list[SaveResult] = []
        with self._open() as tables:
            for request in requests:
                try:
                    results.append(self._write(tables, request))
                except TaskError as error:
                    return [error for _ in requests]
        return results


@breaks("attempts", "one record per attempt started")
class OneRecordPerTask(InMemoryTaskStore):
    def attempts(self, task_id: str, *, generation: int | None = None) -> list[AttemptRecord]:
        return super().attempts(task_id, generation=generation)[-1:]


@breaks("attempts", "one record per attempt started")
class RewritesAttempts(InMemoryTaskStore):
    def _judged(self, tables: Tables, request: SaveRequest) -> SaveRequest:
        kept = tables.attempts.pop(request.snapshot.task_id, {})
        try:
            judged = super()._judged(tables, request)
        finally:
            tables.attempts[request.snapshot.task_id] = kept
        merged = {**kept, **{(one.generation, one.attempt): one for one in judged.attempts}}
        return attrs.evolve(judged, attempts=tuple(merged.values()))


@breaks("note_late_result", "no status, version or record changes")
class LateResultCounts(InMemoryTaskStore):
    def note_late_result(self, task_id: str, **given: Any) -> bool:
        noted = super().note_late_result(task_id, **given)
        with self._open() as tables:
            if noted:
                _row(tables, task_id, outcome=given["note"])
        return noted


@breaks("note_late_result", "no status, version or record changes")
class NotesOnOpenAttempts(InMemoryTaskStore):
    def note_late_result(self, task_id: str, *, generation: int, attempt: int, note: str) -> bool:
        with self._open() as tables:
            known = tables.attempts.get(task_id, {}).get((generation, attempt))
            if known is not None:
                tables.attempts[task_id][generation, attempt] = attrs.evolve(known, late_result=note)
            return known is not None


# Reading


@breaks("get", "what was acknowledged is found")
class LosesTheOutcome(InMemoryTaskStore):
    def _put(self, tables: Tables, request: SaveRequest) -> None:
        super()._put(tables, attrs.evolve(request, snapshot=attrs.evolve(request.snapshot, outcome=None)))


@breaks("get", "what was acknowledged is found")
class ForgetsWhatIsOver(InMemoryTaskStore):
    def get(self, task_id: str) -> TaskSnapshot | None:
        row = super().get(task_id)
        return None if row is None or is_terminal(row.status) else row


class SpoilableStore(InMemoryTaskStore):
    """A right store whose rows can become unreadable."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.spoilt: set[str] = set()

    def query(self, query: TaskQuery | None = None) -> QueryResult:
        page = super().query(query)
        good = [row for row in page if row.task_id not in self.spoilt]
        return QueryResult(good, [CorruptRow(one, "spoilt") for one in sorted(self.spoilt)], page.cursor)


@breaks("query", "good rows are returned whatever bad ones there are", unseen=True)
class OneBadRowHidesAll(SpoilableStore):
    def query(self, query: TaskQuery | None = None) -> QueryResult:
        if self.spoilt:
            raise StoreError("a row cannot be read")
        return super().query(query)


@breaks("query", "pages are complete and disjoint")
class PagesByTime(InMemoryTaskStore):
    def query(self, query: TaskQuery | None = None) -> QueryResult:
        page = super().query(query)
        if query is None or query.after is None:
            return page
        last = datetime.fromisoformat(query.after.split('"')[1])
        return QueryResult([row for row in page if row.created_at != last], (), page.cursor)


@breaks("query", "pages are complete and disjoint")
class ForgetsACondition(InMemoryTaskStore):
    def query(self, query: TaskQuery | None = None) -> QueryResult:
        return super().query(None if query is None else attrs.evolve(query, tag=None))


@breaks("counts", "equals the number of rows per status")
class CountsCreations(InMemoryTaskStore):
    def counts(self) -> dict[TaskStatus, int]:
        with self._open() as tables:
            return {TaskStatus.PENDING: len(tables.rows)} if tables.rows else {}


@breaks("append", "an equal record changes nothing")
class AppendsTwice(InMemoryTaskStore):
    def append(self, transition: Transition) -> None:
        with self._open() as tables:
            if tables.record(transition.task_id, transition.version) == transition:
                tables.put_record(transition)
            else:
                super().append(transition)


@breaks("append", "a different one is StoreCorruption")
class FirstImportWins(InMemoryTaskStore):
    def append(self, transition: Transition) -> None:
        with self._open() as tables:
            if tables.record(transition.task_id, transition.version) is None:
                super().append(transition)


@breaks("history", "an earlier read is a prefix of a later one")
class ResetForgets(InMemoryTaskStore):
    def history(self, task_id: str, *, since_version: int = 0, generation: int | None = None) -> list[Transition]:
        row = self.get(task_id)
        wanted = generation if generation is not None or row is None else row.generation
        return super().history(task_id, since_version=since_version, generation=wanted)


@breaks("feed", "store-wide order agrees with each task's order")
class FeedNewestFirst(InMemoryTaskStore):
    def feed(self, after: int = 0, limit: int = 1000) -> list[FeedRecord]:
        page = super().feed(after, limit)
        turned = [one.transition for one in reversed(page)]
        return [FeedRecord(one.seq, record) for one, record in zip(page, turned, strict=True)]


@breaks("feed", "nothing is skipped once read past")
class FeedSkipsAtPages(InMemoryTaskStore):
    def feed(self, after: int = 0, limit: int = 1000) -> list[FeedRecord]:
        return super().feed(after + 1 if after else 0, limit)
