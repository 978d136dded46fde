"""The effects: which columns a rule changes, and how.

An effect is a list of changes, each a column and an operation; nothing else may change. A rule's effects apply in
order, a later one wins. Status, version and the time of the change are set by every record and are no effects.
Columns marked with `WATCHED` live beside the row, with whoever watches the carrier; they are facts but are not
stored.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import attrs

from chongming_spec.facts import CarrierState, CarrierView, Deadline, Requested


class Op(StrEnum):
    """How a column gets its new value."""

    SET = "set"
    NOW = "now"
    NOW_IF_NONE = "now if none"
    GIVEN = "as given"
    GIVEN_OR_KEPT = "as given, or kept"
    ADD_ONE = "plus one"
    RAISE_BUDGET = "max(itself, attempt + 1)"
    DECLARED_BUDGET = "the declared budget"
    ADOPTED_BUDGET = "max(given, attempt, 1)"
    NEXT_EPOCH = "the next epoch"
    VERDICT = "the deadline that passed"


@attrs.frozen
class Change:
    """One column and how it changes; `value` only for `SET`."""

    column: str
    op: Op
    value: Any = None


@attrs.frozen
class Effect:
    """One named list of changes and its sentence."""

    name: str
    changes: tuple[Change, ...]
    sentence: str


WATCHED: frozenset[str] = frozenset({"carrier", "verdict", "abort_left", "killed"})


def _set(**columns: Any) -> tuple[Change, ...]:
    return tuple(Change(column, Op.SET, value) for column, value in columns.items())


def _op(op: Op, *columns: str) -> tuple[Change, ...]:
    return tuple(Change(column, op) for column in columns)


_NO_CARRIER = _set(carrier=CarrierView.NONE, verdict=Deadline.NONE, abort_left=False, killed=False)
_NO_ATTEMPT = _set(started_at=None, requested_action=Requested.NONE, paused_in_place=False) + _NO_CARRIER
_HOLD = _op(Op.GIVEN, "held_by", "held_reason", "resume_at")
_NO_HOLD = _set(held_by=None, held_reason=None, resume_at=None)

QUEUE = Effect("queue", _op(Op.NOW_IF_NONE, "queued_at"), "The wait for a slot is stamped, once per attempt.")
OPEN = Effect(
    "open_attempt",
    (
        *_op(Op.ADD_ONE, "attempt"),
        *_op(Op.NOW, "started_at"),
        *_op(Op.NOW_IF_NONE, "first_started_at", "queued_at"),
        *_op(Op.GIVEN, "executor"),
        *_set(failure=None, not_before=None, progress=None, last_heartbeat_at=None, pid=None),
        *_NO_CARRIER,
    ),
    "The attempt is counted and its record opened (D5).",
)
CONFIRM = Effect(
    "confirm",
    (*_set(carrier=CarrierView.LIVE), *_op(Op.NOW, "last_heartbeat_at"), *_op(Op.GIVEN, "pid")),
    "The carrier is known to be live.",
)
SEE_LIVE = Effect(
    "see_live",
    (*_set(carrier=CarrierView.LIVE), *_op(Op.GIVEN, "pid")),
    "The carrier is known to be live; the status stays.",
)
ASK_PAUSE = Effect("ask_pause", (*_set(requested_action=Requested.PAUSE), *_HOLD), "The body is asked to park.")
ASK_STOP = Effect("ask_stop", _set(requested_action=Requested.STOP, abort_left=False), "The body is asked to end.")
ASK_CANCEL = Effect(
    "ask_cancel", _set(requested_action=Requested.CANCEL, abort_left=False), "The body is asked to end, as called off."
)
GO_ON = Effect(
    "go_on",
    (*_set(requested_action=Requested.NONE, abort_left=False, carrier=CarrierView.LIVE), *_NO_HOLD),
    "The pause is taken back.",
)
LEAVE_ABORT = Effect("leave_abort", _set(abort_left=True), "The abort is carried out once the start is confirmed (D8).")
KEEP_PAUSE = Effect("keep_pause", _set(abort_left=False), "A pause asked for again takes the abort back.")
PARK = Effect(
    "park",
    _set(paused_in_place=True, requested_action=Requested.NONE, carrier=CarrierView.PARKED, abort_left=False),
    "The body is parked in place and keeps its slot (D3).",
)
HOLD = Effect("hold", _HOLD, "Who held it back, why, and until when.")
RELEASE = Effect("release", (*_set(paused_in_place=False), *_NO_HOLD), "The hold is lifted.")
UNPARK = Effect(
    "unpark",
    (*_set(carrier=CarrierView.LIVE), *_op(Op.NOW, "last_heartbeat_at")),
    "The body goes on, with a fresh heartbeat (D15).",
)
CLOSE = Effect(
    "close_attempt",
    (*_set(queued_at=None), *_NO_ATTEMPT),
    "What belonged to the attempt is cleared (D4).",
)
BACKOFF = Effect("backoff", _op(Op.GIVEN, "not_before"), "The next attempt waits until then.")
FAIL = Effect("fail", _op(Op.GIVEN, "failure"), "The failure is recorded.")
SUCCEED = Effect("succeed", (*_op(Op.GIVEN, "outcome"), *_set(failure=None)), "The result is recorded.")
END = Effect(
    "end",
    (
        *_op(Op.NOW, "ended_at"),
        *_set(requested_action=Requested.NONE, paused_in_place=False, not_before=None),
        *_NO_CARRIER,
        *_NO_HOLD,
    ),
    "The task is over.",
)
ABANDON = Effect(
    "abandon",
    _set(carrier=CarrierView.ABANDONED, carrier_state=CarrierState.ABANDONED),
    "The carrier lives on and nobody waits for it (D10).",
)
ORPHAN = Effect("orphan", _set(carrier_state=CarrierState.ORPHANED), "The carrier may live on elsewhere (D10).")
SEE_GONE = Effect(
    "see_gone",
    _set(carrier=CarrierView.NONE, carrier_state=CarrierState.NONE),
    "The abandoned carrier has exited after all.",
)
REVIVE = Effect(
    "revive",
    (
        *_set(ended_at=None, failure=None, outcome=None, queued_at=None, not_before=None, progress=None),
        *_NO_ATTEMPT,
        *_NO_HOLD,
    ),
    "The result and what belonged to the attempt are cleared (D4).",
)
RAISE = Effect("raise_budget", _op(Op.RAISE_BUDGET, "max_attempts"), "Forced: one more attempt is allowed (D5).")
NEW_EPOCH = Effect("new_epoch", _op(Op.NEXT_EPOCH, "epoch"), "Whoever acts for the old epoch is fenced (D2).")
NEW_GENERATION = Effect(
    "new_generation",
    (
        *_op(Op.ADD_ONE, "generation"),
        *_set(attempt=0, overridden=False),
        *_op(Op.DECLARED_BUDGET, "max_attempts"),
    ),
    "It begins anew; the history is kept (D12).",
)
OVERRIDE = Effect(
    "override", (*_set(overridden=True, outcome=None), *_op(Op.GIVEN, "failure")), "A person's word stands (D11)."
)
ADOPT = Effect(
    "adopt",
    (*_op(Op.GIVEN_OR_KEPT, "owner", "declared_attempts"), *_op(Op.ADOPTED_BUDGET, "max_attempts")),
    "Another owner answers for it, with its own registration's budget (D5, D28).",
)
JUDGE = Effect("judge", _op(Op.VERDICT, "verdict"), "A timeout has decided this attempt (D14).")
KILLED = Effect("mark_killed", _set(killed=True), "It is being killed; that is tried once.")

EFFECTS: tuple[Effect, ...] = tuple(row for row in list(globals().values()) if isinstance(row, Effect))
