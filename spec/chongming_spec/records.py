"""Whether one record of a history could have been written by the rules, from the record alone.

A record carries what the guards saw (its evidence), so that anybody can ask the edge's guard again: a store before it
accepts the record, an auditor years later. `attempt` is recorded after the step, so the start of an attempt is judged
by the one before.

What must hold is a list of laws. Each looks at a record and the one it follows (None: it is the first) and bears the
number of the invariant it belongs to; `chain_problem` and `move_problem` are the first law that is broken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

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
LEASE_EXPIRED = "reconciler:lease_expired"
RESET = "admin:reset"
_ENDING_OF_TRIGGER = {row.trigger: row.ending for row in ENDINGS}
OUT_OF_BAND_TRIGGERS: dict[str, OutOfBand] = {VERB_OF[row.verb].trigger: row for row in OUT_OF_BAND}
ONLY_OUT_OF_BAND: frozenset[str] = frozenset(
    trigger
    for trigger, row in OUT_OF_BAND_TRIGGERS.items()
    if all(rule.out_of_band for rule in VERB_OF[row.verb].rules)
)
REASON_DEMANDED: frozenset[str] = frozenset(
    (*(VERB_OF[verb].trigger for verb in ("force_transition", "reset", "adopt")), LEASE_EXPIRED)
)


class RecordLaw(NamedTuple):
    """One law of a record: the invariant it belongs to, and why it is broken (None: it is not)."""

    invariant: int
    problem: Callable[[Transition | None, Transition], str | None]


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


def _version(previous: Transition | None, record: Transition) -> str | None:
    if previous is None:
        return None if record.version == 1 else f"the history begins at version {record.version}"
    return None if record.version == previous.version + 1 else f"version {record.version} follows {previous.version}"


def _source(previous: Transition | None, record: Transition) -> str | None:
    if previous is None:
        return None if record.from_status is None else f"the first record comes from {record.from_status}"
    if record.from_status is previous.to_status:
        return None
    return f"it comes from {record.from_status}, but the task was {previous.to_status}"


def _time(previous: Transition | None, record: Transition) -> str | None:
    if previous is None or record.at >= previous.at:
        return None
    return "its time is before that of the record it follows"


def _attempt(previous: Transition | None, record: Transition) -> str | None:
    if previous is None:
        return None if record.attempt == 0 else f"attempt is {record.attempt} at the creation"
    begun_anew = record.generation != previous.generation
    if begun_anew is not (record.trigger == RESET) or record.generation != previous.generation + begun_anew:
        return f"generation {record.generation} follows {previous.generation}; only a reset begins the next"
    expected = 0 if begun_anew else previous.attempt + (record.to_status is TaskStatus.STARTING)
    return None if record.attempt == expected else f"attempt is {record.attempt} and should be {expected}"


def _epoch(previous: Transition | None, record: Transition) -> str | None:
    if previous is None:
        return None
    moved = is_out_of_band(record)
    if moved and record.epoch <= previous.epoch:
        return "a move out of band must begin a new epoch"
    if not moved and record.epoch != previous.epoch:
        return "the epoch changed without a move out of band"
    return None


def _known_trigger(previous: Transition | None, record: Transition) -> str | None:
    return None if record.trigger in TRIGGER_NAMES else f"the trigger {record.trigger!r} is unknown"


def _signed(previous: Transition | None, record: Transition) -> str | None:
    if is_blank(record.actor):
        return "it names no actor"
    return "it gives no reason" if record.trigger in REASON_DEMANDED and is_blank(record.reason) else None


def _allowed(previous: Transition | None, record: Transition) -> str | None:
    if record.from_status is None:
        created = record.version == 1 and record.trigger == CREATED and record.to_status is TaskStatus.PENDING
        return None if created else "only the creation comes from nowhere, into pending"
    if is_out_of_band(record):
        return None
    if record.trigger in ONLY_OUT_OF_BAND:
        return f"{record.trigger} does not lead from {record.from_status} to {record.to_status}"
    edge = SPEC.edge_of[record.from_status].get(record.to_status)
    if edge is None:
        return f"no edge leads from {record.from_status} to {record.to_status}"
    if edge.guard is not None and not edge.guard.holds(*evidence(record)):
        return f"the guard {edge.guard.name} does not hold on what was recorded"
    return None


CHAIN_LAWS: tuple[RecordLaw, ...] = (
    RecordLaw(17, _version),
    RecordLaw(18, _source),
    RecordLaw(22, _time),
    RecordLaw(23, _attempt),
    RecordLaw(26, _epoch),
)
MOVE_LAWS: tuple[RecordLaw, ...] = (RecordLaw(19, _known_trigger), RecordLaw(27, _signed), RecordLaw(19, _allowed))


def move_problem(record: Transition) -> str | None:
    """Why this move is none that the tables allow; None if it is one."""
    return _first(MOVE_LAWS, None, record)


def chain_problem(previous: Transition | None, record: Transition) -> str | None:
    """Why `record` cannot follow `previous` (None: it is the first); None if it can."""
    return _first(CHAIN_LAWS, previous, record)


def _first(laws: tuple[RecordLaw, ...], previous: Transition | None, record: Transition) -> str | None:
    for law in laws:
        problem = law.problem(previous, record)
        if problem is not None:
            return problem
    return None
