"""Requests to save that the rules allow, made by `step` itself, and the ways to spoil one.

`moves_of` lists every move a task can make now. A *defect* spoils a good request; whether a store must refuse it then,
the reference model says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import attrs

from chongming_spec.decide import SPEC, Refusal
from chongming_spec.facts import Ask, Deadline, EndingKind
from chongming_spec.failures import FailureKind
from chongming_spec.records import CREATED
from chongming_spec.snapshot import AttemptRecord, Details, TaskSnapshot, Transition
from chongming_spec.states import TERMINAL, TaskStatus
from chongming_spec.step import Step, Watch, step
from chongming_spec.stores import SaveRequest
from chongming_spec.transitions import TRANSITIONS

KINDS = (None, FailureKind.EXCEPTION, FailureKind.ATTEMPTS_EXHAUSTED, FailureKind.LOST, FailureKind.CANCELLED)
VERBS = tuple(verb for verb in SPEC.verb_of if verb != "wait")


def newborn(task_id: str, owner: str, now: datetime, **columns: Any) -> tuple[TaskSnapshot, Transition]:
    """A task at its creation, with its first record."""
    row = TaskSnapshot(
        task_id, f"name-{task_id}", "task", TaskStatus.PENDING, 1, now, now, owner=owner, **columns
    )  # fmt: skip
    record = Transition(
        task_id, 1, None, row.status, CREATED, owner, None, now, 0, row.max_attempts, row.epoch, 1, owner=owner
    )  # fmt: skip
    return row, record


def _asks(verb: str) -> Iterator[Ask]:
    plain = Ask(verb, has_actor=True, has_reason=True, force=True, alongside=True)
    if verb == "finish":
        yield from (plain._replace(ending=one, retries=again) for one in EndingKind for again in (False, True))
    elif verb == "expire":
        yield from (plain._replace(deadline=one) for one in Deadline if one is not Deadline.NONE)
    elif verb == "force_transition":
        yield from (plain._replace(target=one) for one in sorted(TERMINAL))
    else:
        yield from (plain._replace(kind=kind) for kind in KINDS)
        yield plain._replace(gone=True)


@attrs.frozen
class Move:
    """One step from a row: what was asked, and what came of it."""

    verb: str
    step: Step


def moves_of(row: TaskSnapshot, watch: Watch, now: datetime, owner: str, verbs: Sequence[str] = VERBS) -> list[Move]:
    """Every move by one of these verbs that changes the row now, each once."""
    watch = watch._replace(lease_over=True, killable=True)
    values: Mapping[str, Any] = {"owner": owner, "declared_attempts": 2, "outcome": {"of": row.task_id}}
    details = Details(now, actor=owner, reason="because", values=values)
    found: dict[tuple[Any, ...], Move] = {}
    for verb in (one for one in verbs if SPEC.rules_of[one][row.status]):
        for ask in _asks(verb):
            done = step(row, watch, ask, details)
            if not isinstance(done, Refusal) and done.transitions:
                key = (verb, done.snapshot.status, done.transitions[-1].trigger, done.transitions[-1].failure_kind)
                found.setdefault(key, Move(verb, done))
    return list(found.values())


def request_of(
    row: TaskSnapshot, move: Move, attempts: list[AttemptRecord], owner: str, command_id: str | None
) -> SaveRequest:
    """The save of one move by `owner`, with the attempt it opens or closes."""
    done = move.step
    records = [attrs.evolve(record, owner=owner) for record in done.transitions]
    records[-1] = attrs.evolve(records[-1], command_id=command_id)
    after = done.snapshot
    changed: list[AttemptRecord] = []
    if done.opened:
        changed.append(AttemptRecord(row.task_id, after.attempt, after.generation, after.epoch, after.updated_at))
    elif done.closed is not None and attempts:
        changed.append(
            attrs.evolve(attempts[-1], ended_at=after.updated_at, disposition=done.closed, failure=after.failure)
        )
    return SaveRequest(after, row.status_version, tuple(records), tuple(changed))


def joined(first: SaveRequest, second: SaveRequest) -> SaveRequest:
    """Two requests in a row as one; an attempt that both show is shown as it is in the end."""
    attempts = {(one.generation, one.attempt): one for one in (*first.attempts, *second.attempts)}
    return attrs.evolve(
        second,
        expect_version=first.expect_version,
        transitions=(*first.transitions, *second.transitions),
        attempts=tuple(attempts.values()),
    )


def _last(request: SaveRequest, **changes: Any) -> SaveRequest:
    records = (*request.transitions[:-1], attrs.evolve(request.transitions[-1], **changes))
    return attrs.evolve(request, transitions=records)


def _row(request: SaveRequest, **changes: Any) -> SaveRequest:
    return attrs.evolve(request, snapshot=attrs.evolve(request.snapshot, **changes))


def _other_status(request: SaveRequest) -> SaveRequest:
    """A state to which no edge leads from where the last record comes from."""
    source = request.transitions[-1].from_status or TaskStatus.PENDING
    target = next(one for one in TaskStatus if one not in TRANSITIONS[source])
    return _row(_last(request, to_status=target, trigger="executor:launched"), status=target)


def _version_gap(request: SaveRequest) -> SaveRequest:
    version = request.snapshot.status_version + 1
    return _row(_last(request, version=version), status_version=version)


def _attempt_jump(request: SaveRequest) -> SaveRequest:
    return _row(_last(request, attempt=request.snapshot.attempt + 1), attempt=request.snapshot.attempt + 1)


def _late(request: SaveRequest) -> SaveRequest:
    earlier = request.transitions[-1].at - timedelta(days=400)
    return _last(request, at=earlier)


def _foreign_attempt(request: SaveRequest) -> SaveRequest:
    foreign = AttemptRecord("somebody-else", 1, 1, 1, request.snapshot.updated_at)
    return attrs.evolve(request, attempts=(*request.attempts, foreign))


def _first_attempt_rewritten(request: SaveRequest) -> SaveRequest:
    row = request.snapshot
    rewritten = AttemptRecord(row.task_id, 1, 1, 1, row.created_at - timedelta(days=1))
    return attrs.evolve(request, attempts=(rewritten, *request.attempts))


DEFECTS: Mapping[str, Callable[[SaveRequest], SaveRequest]] = {
    "stale version": lambda r: attrs.evolve(r, expect_version=r.expect_version - 1),
    "future version": lambda r: attrs.evolve(r, expect_version=r.expect_version + 1),
    "no records": lambda r: attrs.evolve(r, transitions=()),
    "record left out": lambda r: attrs.evolve(r, transitions=r.transitions[1:]),
    "another epoch": lambda r: _row(_last(r, epoch=r.snapshot.epoch + 7), epoch=r.snapshot.epoch + 7),
    "epoch of the row only": lambda r: _row(r, epoch=r.snapshot.epoch + 7),
    "another task's record": lambda r: _last(r, task_id="somebody-else"),
    "no such edge": _other_status,
    "row and record differ": lambda r: _row(r, status_version=r.snapshot.status_version + 1),
    "row shows another attempt": lambda r: _row(r, attempt=r.snapshot.attempt + 1),
    "row shows another generation": lambda r: _row(r, generation=r.snapshot.generation + 1),
    "version gap": _version_gap,
    "attempt jumps": _attempt_jump,
    "generation jumps": lambda r: _row(
        _last(r, generation=r.snapshot.generation + 1), generation=r.snapshot.generation + 1
    ),
    "unknown trigger": lambda r: _last(r, trigger="nobody:knows"),
    "blank actor": lambda r: _last(r, actor=" \u200b"),
    "no reason": lambda r: _last(r, reason=None),
    "time runs back": _late,
    "another task's attempt": _foreign_attempt,
    "attempt rewritten": _first_attempt_rewritten,
}
