"""Whether one record of a history could have been written by the rules, from the record alone.

A record carries what the guards saw (its evidence), so that anybody can ask the edge's guard again: a store before it
accepts the record, an auditor years later. `attempt` is recorded after the step, so the start of an attempt is judged
by the one before.
"""

from __future__ import annotations

from chongming_spec.decide import SPEC
from chongming_spec.endings import ENDINGS
from chongming_spec.facts import Ask, Facts
from chongming_spec.snapshot import Transition
from chongming_spec.states import TaskStatus
from chongming_spec.texts import is_blank
from chongming_spec.transitions import OUT_OF_BAND, OutOfBand
from chongming_spec.triggers import TRIGGER_NAMES
from chongming_spec.verbs import VERB_OF

CREATED = "user:create"
_ENDING_OF_TRIGGER = {row.trigger: row.ending for row in ENDINGS}
OUT_OF_BAND_TRIGGERS: dict[str, OutOfBand] = {VERB_OF[row.verb].trigger: row for row in OUT_OF_BAND}
REASON_DEMANDED: frozenset[str] = frozenset(VERB_OF[verb].trigger for verb in ("force_transition", "reset", "adopt"))


def is_out_of_band(record: Transition) -> bool:
    """Whether a record is a person's move outside the edges; `skip` is one only from where no edge leads."""
    row = OUT_OF_BAND_TRIGGERS.get(record.trigger)
    return row is not None and record.from_status in row.sources and _reaches(row, record)


def _reaches(row: OutOfBand, record: Transition) -> bool:
    if row.targets is None:
        return record.to_status is record.from_status
    return record.to_status in row.targets and record.to_status is not record.from_status


def evidence(record: Transition) -> tuple[Facts, Ask]:
    """The facts and the ask as far as a record keeps them."""
    assert record.from_status is not None
    opened = 1 if record.to_status is TaskStatus.STARTING else 0
    facts = Facts(
        status=record.from_status,
        requested=record.requested_action,
        in_place=record.paused_in_place,
        attempt=record.attempt - opened,
        max_attempts=record.max_attempts,
        carrier=record.carrier,
    )
    return facts, Ask("", kind=record.failure_kind, ending=_ENDING_OF_TRIGGER.get(record.trigger))


def move_problem(record: Transition) -> str | None:
    """Why this move is none that the tables allow; None if it is one."""
    if record.trigger not in TRIGGER_NAMES:
        return f"the trigger {record.trigger!r} is unknown"
    if is_blank(record.actor):
        return "it names no actor"
    if record.from_status is None:
        created = record.version == 1 and record.trigger == CREATED and record.to_status is TaskStatus.PENDING
        return None if created else "only the creation comes from nowhere, into pending"
    if is_out_of_band(record):
        demanded = record.trigger in REASON_DEMANDED and is_blank(record.reason)
        return "it gives no reason" if demanded else None
    edge = SPEC.edge_of[record.from_status].get(record.to_status)
    if edge is None:
        return f"no edge leads from {record.from_status} to {record.to_status}"
    if edge.guard is not None and not edge.guard.holds(*evidence(record)):
        return f"the guard {edge.guard.name} does not hold on what was recorded"
    return None


def chain_problem(previous: Transition | None, record: Transition) -> str | None:
    """Why `record` cannot follow `previous` (None: it is the first); None if it can."""
    if previous is None:
        return None if record.version == 1 and record.from_status is None else "the history does not begin at version 1"
    if record.version != previous.version + 1:
        return f"version {record.version} does not follow {previous.version}"
    if record.from_status is not previous.to_status:
        return f"it comes from {record.from_status}, but the task was {previous.to_status}"
    if record.at < previous.at:
        return "its time is before that of the record it follows"
    opened = record.to_status is TaskStatus.STARTING
    begun_anew = record.generation != previous.generation
    if begun_anew and (record.trigger != "admin:reset" or record.generation != previous.generation + 1):
        return "the generation changed without a reset"
    expected = 0 if begun_anew else previous.attempt + opened
    if record.attempt != expected:
        return f"attempt is {record.attempt} and should be {expected}"
    moved = is_out_of_band(record)
    if moved and record.epoch <= previous.epoch:
        return "a move out of band must begin a new epoch"
    if not moved and record.epoch != previous.epoch:
        return "the epoch changed without a move out of band"
    return None
