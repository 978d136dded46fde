"""The invariants of a history: of each record by the laws of `records`, and of all of them against the row.

Where a version is missing (17), the laws that compare neighbours are silent about that place: one hole is one finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from chongming_spec.audit_rows import budget
from chongming_spec.audit_view import Check, Flaw, History, View, each_history, each_row
from chongming_spec.records import CHAIN_LAWS, MOVE_LAWS, is_out_of_band
from chongming_spec.snapshot import AttemptRecord, Transition
from chongming_spec.states import OCCUPYING, TaskStatus, is_terminal
from chongming_spec.step import DISPOSITIONS, FORCED_DISPOSITION
from chongming_spec.verbs import VERB_OF

FORCED = VERB_OF["force_transition"].trigger
_VERSION = 17
_NEEDS_FAILURE = frozenset({"failed", "lost"})


def _flaw(record: Transition, message: str) -> Flaw:
    return Flaw(record.task_id, record.version, message)


def by_the_laws(invariant: int) -> Check:
    """The laws of `records` that belong to one invariant, and what the row must share with its newest record."""
    laws = [law for law in (*CHAIN_LAWS, *MOVE_LAWS) if law.invariant == invariant]
    versions = next(law for law in CHAIN_LAWS if law.invariant == _VERSION)

    def first(view: View, history: History) -> Flaw | None:
        for previous, record in history.pairs():
            neighbours = invariant == _VERSION or versions.problem(previous, record) is None
            for law in laws:
                problem = law.problem(previous, record) if neighbours or law in MOVE_LAWS else None
                if problem is not None:
                    return _flaw(record, problem)
        return _against_row(history, invariant)

    return each_history(first)


# Columns of the row that repeat one of the newest record, by invariant.
_REPEATED: Mapping[int, tuple[tuple[str, str], ...]] = {
    6: (("max_attempts", "max_attempts"),),
    17: (("status_version", "version"),),
    18: (("status", "to_status"),),
    23: (("attempt", "attempt"), ("generation", "generation")),
    26: (("epoch", "epoch"),),
}


def _against_row(history: History, invariant: int) -> Flaw | None:
    row, last = history.row, history.last
    if row is None:
        return None
    for column, name in _REPEATED.get(invariant, ()):
        shown, recorded = getattr(row, column), getattr(last, name)
        if shown != recorded:
            return _flaw(last, f"the row says {column} {shown}, its newest record {recorded}")
    return None


def within_budget(view: View) -> Iterator[Flaw]:
    """6: in the row by itself, and the budget is that of the newest record."""
    yield from each_row(budget)(view)
    yield from by_the_laws(6)(view)


def complete(view: View) -> Iterator[Flaw]:
    """17: versions without a gap up to the row's; no row without its history, nor attempts of a history without row."""
    yield from by_the_laws(_VERSION)(view)
    for task_id, row in view.row_of.items():
        if view.whole(task_id, "records") and task_id not in view.history_of:
            yield Flaw(task_id, row.status_version, "it has no history")
    if not view.has("tasks"):
        return
    for history in view.histories:
        if history.row is None and view.whole(history.task_id, "tasks") and view.attempts_of.get(history.task_id):
            yield _flaw(history.last, "its row is missing")


def placed(view: View, history: History) -> Flaw | None:
    """21: later versions have later places, so nothing was put in afterwards."""
    last = None
    for seq, record in history.records:
        if last is not None and seq <= last:
            return _flaw(record, f"its place {seq} in the store is before that of the record it follows")
        last = seq
    return None


def final(view: View, history: History) -> Flaw | None:
    """25: only a move out of band leads on from an end."""
    for previous, record in history.pairs():
        if previous is not None and is_terminal(previous.to_status) and not is_out_of_band(record):
            return _flaw(record, f"it follows {previous.to_status}, which is final")
    return None


def sequence(view: View) -> Iterator[Flaw]:
    """26: the epoch moves with moves out of band only, and none is beyond the store-wide sequence."""
    yield from by_the_laws(26)(view)
    for row in view.rows.tasks or ():
        if view.rows.epoch is not None and row.epoch > view.rows.epoch:
            yield Flaw(row.task_id, row.status_version, f"epoch {row.epoch} is beyond the store's {view.rows.epoch}")


def unique(view: View) -> Iterator[Flaw]:
    """28."""
    seen: dict[object, Transition] = {}
    for _, record in view.rows.records:
        keys: list[object] = [record.transition_id, (record.task_id, record.version)]
        if record.command_id is not None:
            keys.append(("command", record.command_id))
        for key in keys:
            other = seen.setdefault(key, record)
            if other is not record:
                yield _flaw(record, f"it repeats version {other.version} of {other.task_id!r}")
                break


def overridden(view: View, history: History) -> Flaw | None:
    """15."""
    row = history.row
    if row is None:
        return None
    forced = any(one.trigger == FORCED and one.generation == row.generation for _, one in history.records)
    if row.overridden is forced:
        return None
    return _flaw(history.last, f"overridden is {row.overridden}, but it was {'' if forced else 'not '}forced")


# Attempts (24)


def attempts(view: View) -> Iterator[Flaw]:
    """24: one attempt per start, closed by the record that ends its occupancy, and by no other."""
    for history in view.histories:
        if history.row is not None and view.whole(history.task_id, "attempts", "tasks"):
            yield from _attempts_of(history, view.attempts_of.get(history.task_id, []))
    for task_id in view.attempts_of:
        if view.whole(task_id, "records") and task_id not in view.history_of:
            yield Flaw(task_id, None, "it has attempts and no history")


def _attempts_of(history: History, found: Iterable[AttemptRecord]) -> Iterator[Flaw]:
    spans = _spans(history)
    known = {(one.generation, one.attempt): one for one in found}
    for key in known.keys() - spans.keys():
        yield Flaw(history.task_id, None, f"attempt {key[1]} of generation {key[0]} was never started")
    for key, (opening, closing) in spans.items():
        one = known.get(key)
        problem = "its attempt is not on record" if one is None else _attempt_problem(one, opening, closing)
        if problem is not None:
            yield _flaw(opening, problem)


def _spans(history: History) -> dict[tuple[int, int], tuple[Transition, Transition | None]]:
    """Which record opens each attempt, and which one closes it."""
    spans: dict[tuple[int, int], tuple[Transition, Transition | None]] = {}
    records = [record for _, record in history.records]
    key = None
    for index, record in enumerate(records):
        if record.to_status is TaskStatus.STARTING:
            key = (record.generation, record.attempt)
            spans[key] = (record, None)
        elif key is not None and not _holds_on(record, records[index + 1 :], history):
            spans[key] = (spans[key][0], record)
            key = None
    return spans


def _holds_on(record: Transition, later: list[Transition], history: History) -> bool:
    """Whether a carrier is held after `record`; of a pause the next record tells, or the row."""
    if record.to_status is not TaskStatus.PAUSED:
        return record.to_status in OCCUPYING
    return later[0].paused_in_place if later else history.row is not None and history.row.paused_in_place


def _attempt_problem(one: AttemptRecord, opening: Transition, closing: Transition | None) -> str | None:
    if (one.started_at, one.epoch) != (opening.at, opening.epoch):
        return f"attempt {one.attempt} began at another time or in another epoch than recorded"
    if closing is None:
        return (
            None if one.ended_at is None and one.disposition is None else f"attempt {one.attempt} is closed too early"
        )
    if one.ended_at is None:
        return f"attempt {one.attempt} is not closed"
    expected = FORCED_DISPOSITION if closing.trigger == FORCED else DISPOSITIONS.get(closing.to_status)
    if (one.ended_at, one.disposition) != (closing.at, expected):
        return f"attempt {one.attempt} is closed as {one.disposition}, the record says {expected} at {closing.at}"
    if one.disposition in _NEEDS_FAILURE and one.failure is None:
        return f"attempt {one.attempt} is closed as {one.disposition} without a failure"
    return None
