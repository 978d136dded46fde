"""The guards: named pure predicates over facts and ask.

A guard's name is what a refused caller reads (`error.guard`), its sentence says what must hold. The same rows serve
three places: as a precondition of a verb (in order: the first that fails is the specified error), as the condition on
an edge, and as the `when` that chooses between the rules a verb has for one state. `reads` lists the columns a
predicate looks at; a test holds it to that list, so that the exhaustive matrix varies just those.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from chongming_spec.endings import ASKED_TO_END, ended_by_body
from chongming_spec.errors import AttemptsExhausted, CarrierStillRunning, InvalidTransition
from chongming_spec.facts import Ask, CarrierView, Deadline, EndingKind, Facts, Requested
from chongming_spec.failures import KINDS_IN, FailureKind
from chongming_spec.states import TERMINAL, TaskStatus

Predicate = Callable[[Facts, Ask], bool]


@attrs.frozen
class Guard:
    """One row: its name, the predicate, the columns it reads, the error it raises, and its sentence."""

    name: str
    holds: Predicate
    reads: tuple[str, ...]
    sentence: str
    error: type[InvalidTransition] = InvalidTransition


def is_in_place(facts: Facts, ask: Ask) -> bool:
    return facts.in_place


def is_not_in_place(facts: Facts, ask: Ask) -> bool:
    return not facts.in_place


def stop_was_asked(facts: Facts, ask: Ask) -> bool:
    return facts.requested is Requested.STOP


def cancel_was_asked(facts: Facts, ask: Ask) -> bool:
    return facts.requested is Requested.CANCEL


def has_no_carrier(facts: Facts, ask: Ask) -> bool:
    return facts.carrier is CarrierView.NONE


def has_carrier(facts: Facts, ask: Ask) -> bool:
    return facts.carrier is not CarrierView.NONE


def is_confirmed(facts: Facts, ask: Ask) -> bool:
    """A live or parked carrier is confirmed; so is one whose body has just ended."""
    return facts.carrier in (CarrierView.LIVE, CarrierView.PARKED) or ended_by_body(ask)


def is_unconfirmed(facts: Facts, ask: Ask) -> bool:
    return not is_confirmed(facts, ask)


def is_parked(facts: Facts, ask: Ask) -> bool:
    return facts.carrier is CarrierView.PARKED


def fails_while_queued(facts: Facts, ask: Ask) -> bool:
    return ask.kind in (
        FailureKind.TIMEOUT_START,
        FailureKind.ATTEMPTS_EXHAUSTED,
        FailureKind.EXCEPTION,
    )


def fails_for_budget(facts: Facts, ask: Ask) -> bool:
    return ask.kind is FailureKind.ATTEMPTS_EXHAUSTED


MARKS: dict[str, TaskStatus] = {
    "mark_retry_wait": TaskStatus.RETRY_WAIT,
    "mark_failed": TaskStatus.FAILED,
    "mark_stopped": TaskStatus.STOPPED,
    "mark_cancelled": TaskStatus.CANCELLED,
    "mark_skipped": TaskStatus.SKIPPED,
    "skip": TaskStatus.SKIPPED,
    "mark_lost": TaskStatus.LOST,
}


def kind_fits(facts: Facts, ask: Ask) -> bool:
    """No kind given takes the verb's own; one that is given must be able to stand in the state it marks."""
    return ask.kind is None or ask.kind in KINDS_IN[MARKS[ask.verb]]


def has_budget(facts: Facts, ask: Ask) -> bool:
    return facts.attempt < facts.max_attempts


def has_budget_or_force(facts: Facts, ask: Ask) -> bool:
    return facts.attempt < facts.max_attempts or ask.force


def has_no_stray(facts: Facts, ask: Ask) -> bool:
    return not facts.stray or ask.alongside


def has_dependencies_closed(facts: Facts, ask: Ask) -> bool:
    return not facts.dependencies_open


def has_dependencies_open(facts: Facts, ask: Ask) -> bool:
    return facts.dependencies_open


def has_lease_over(facts: Facts, ask: Ask) -> bool:
    return facts.lease_over


def has_actor(facts: Facts, ask: Ask) -> bool:
    return ask.has_actor


def has_reason(facts: Facts, ask: Ask) -> bool:
    return ask.has_reason


def targets_terminal(facts: Facts, ask: Ask) -> bool:
    return ask.target in TERMINAL


def targets_another(facts: Facts, ask: Ask) -> bool:
    return ask.target is not facts.status


def can_pause(facts: Facts, ask: Ask) -> bool:
    return facts.pausable


def has_no_verdict(facts: Facts, ask: Ask) -> bool:
    return facts.verdict is Deadline.NONE


def has_verdict(facts: Facts, ask: Ask) -> bool:
    return facts.verdict is not Deadline.NONE


def has_abort_left(facts: Facts, ask: Ask) -> bool:
    return facts.abort_left


def has_no_abort_left(facts: Facts, ask: Ask) -> bool:
    return not facts.abort_left


def can_still_kill(facts: Facts, ask: Ask) -> bool:
    return facts.killable and not facts.killed


def cannot_kill(facts: Facts, ask: Ask) -> bool:
    return not can_still_kill(facts, ask)


def is_known_gone(facts: Facts, ask: Ask) -> bool:
    return ask.gone


def may_be_alive(facts: Facts, ask: Ask) -> bool:
    return not ask.gone


def start_ran_out(facts: Facts, ask: Ask) -> bool:
    return ask.deadline is Deadline.START


def running_ran_out(facts: Facts, ask: Ask) -> bool:
    return ask.deadline in (Deadline.ATTEMPT, Deadline.IDLE)


def returned(facts: Facts, ask: Ask) -> bool:
    return ask.ending is EndingKind.RETURNED


def cancelled(facts: Facts, ask: Ask) -> bool:
    return ask.ending is EndingKind.CANCELLED


def went_wrong(facts: Facts, ask: Ask) -> bool:
    return ask.ending not in (EndingKind.RETURNED, EndingKind.CANCELLED)


def succeeds(facts: Facts, ask: Ask) -> bool:
    """A valid value, and no timeout has decided otherwise (D14)."""
    return facts.verdict is Deadline.NONE and ask.ending is EndingKind.RETURNED


def calls_itself_off(facts: Facts, ask: Ask) -> bool:
    """TaskCancelled, and no timeout has decided otherwise (D14)."""
    return facts.verdict is Deadline.NONE and ask.ending is EndingKind.CANCELLED


def tries_again(facts: Facts, ask: Ask) -> bool:
    """It failed, the policy retries that, and budget is left (D14, D10)."""
    return _fails(facts, ask) and _retried(facts, ask)


def gives_up(facts: Facts, ask: Ask) -> bool:
    """It failed, and either the policy or the budget says that this was it."""
    return _fails(facts, ask) and not _retried(facts, ask)


def _fails(facts: Facts, ask: Ask) -> bool:
    return facts.verdict is not Deadline.NONE or went_wrong(facts, ask)


def _retried(facts: Facts, ask: Ask) -> bool:
    """A result that is not JSON is never retried by a policy, unless a timeout had decided before (D19)."""
    return (
        ask.retries
        and facts.attempt < facts.max_attempts
        and (ask.ending is not EndingKind.INVALID or facts.verdict is not Deadline.NONE)
    )


def keeps_its_value(facts: Facts, ask: Ask) -> bool:
    """Asked to end, yet it returned a value and no verdict takes that away (D6, D14)."""
    return facts.requested in ASKED_TO_END and succeeds(facts, ask)


def goes_wrong_while_ending(facts: Facts, ask: Ask) -> bool:
    """Asked to end, and it raised, died, or returned what is not JSON without a verdict."""
    if ask.ending is EndingKind.INVALID:
        return facts.verdict is Deadline.NONE
    return ask.ending in (EndingKind.RAISED, EndingKind.DIED)


def ends_as_stopped(facts: Facts, ask: Ask) -> bool:
    """Whatever is left: it honoured the stop, was killed for it, or never came to be."""
    return stop_was_asked(facts, ask) and _honours(facts, ask)


def ends_as_cancelled(facts: Facts, ask: Ask) -> bool:
    """The same under a cancel."""
    return cancel_was_asked(facts, ask) and _honours(facts, ask)


def _honours(facts: Facts, ask: Ask) -> bool:
    return not keeps_its_value(facts, ask) and not goes_wrong_while_ending(facts, ask)


_RESULT = ("verdict", "ending")
_RETRY = (*_RESULT, "retries", "attempt", "max_attempts")
_ENDS = ("requested", *_RESULT)


def _g(
    name: str,
    holds: Predicate,
    reads: str,
    sentence: str,
    error: type[InvalidTransition] = InvalidTransition,
) -> Guard:
    return Guard(name, holds, tuple(reads.split()), sentence, error)


_STARTABLE = "The carrier is confirmed: it is live or parked, or its body has just ended (D8)."

IN_PLACE = _g("not_paused_in_place", is_in_place, "in_place", "The body is parked in place (D3).")
LIFTED = _g("paused_in_place", is_not_in_place, "in_place", "No body is parked in place (D3).")
STOP_ASKED = _g("stop_not_asked", stop_was_asked, "requested", "A stop is what was asked (D7).")
CANCEL_ASKED = _g("cancel_not_asked", cancel_was_asked, "requested", "A cancel is what was asked (D7).")
NO_CARRIER = _g("carrier_exists", has_no_carrier, "carrier", "The launch was not performed yet (D7).")
CARRIER = _g("no_carrier", has_carrier, "carrier", "There is a carrier.")
CONFIRMED = _g("carrier_unconfirmed", is_confirmed, "carrier ending", _STARTABLE)
UNCONFIRMED = _g("carrier_confirmed", is_unconfirmed, "carrier ending", "Nobody has confirmed the start.")
PARKED = _g("not_parked", is_parked, "carrier", "The carrier is parked at a checkpoint (D3).")
FAILS_QUEUED = _g(
    "kind_needs_attempt",
    fails_while_queued,
    "kind",
    "Before an attempt only timeout_start, attempts_exhausted or a `when` that raised can fail it (D1).",
)
FAILS_BUDGET = _g(
    "kind_needs_attempt",
    fails_for_budget,
    "kind",
    "Between attempts only attempts_exhausted can fail it (D1).",
)
KIND_FITS = _g("kind_unfit", kind_fits, "kind", "A failure of this kind can stand in that state (D18).")
BUDGET = _g(
    "attempts_exhausted",
    has_budget,
    "attempt max_attempts",
    "An attempt is left in the budget; retry(force=True) raises it by one (D5).",
    AttemptsExhausted,
)
BUDGET_OR_FORCE = _g(
    "attempts_exhausted",
    has_budget_or_force,
    "attempt max_attempts force",
    "An attempt is left in the budget; retry(force=True) raises it by one (D5).",
    AttemptsExhausted,
)
NO_STRAY = _g(
    "carrier_still_running",
    has_no_stray,
    "stray alongside",
    "No earlier carrier of this task may still be at work; alongside=True starts beside it (D10).",
    CarrierStillRunning,
)
DEPS_CLOSED = _g(
    "dependencies_open",
    has_dependencies_closed,
    "dependencies_open",
    "The join over its upstream tasks holds (D2).",
)
DEPS_OPEN = _g("dependencies_closed", has_dependencies_open, "dependencies_open", "It waits for upstream tasks.")
LEASE_OVER = _g("owner_alive", has_lease_over, "lease_over", "The lease of its owner is over (D28).")
ACTOR = _g("actor_missing", has_actor, "has_actor", "An explicit actor that is not blank is given (D2).")
REASON = _g("reason_missing", has_reason, "has_reason", "A reason that is not blank is given (D2).")
TO_TERMINAL = _g("target_not_terminal", targets_terminal, "target", "The target is a terminal state (D2).")
TO_ANOTHER = _g("target_is_current", targets_another, "target", "The target differs from the present state (D2).")
CAN_PAUSE = _g("cannot_pause", can_pause, "pausable", "This kind of carrier can be paused (D8).")
NO_VERDICT = _g("timed_out", has_no_verdict, "verdict", "No timeout has decided this attempt (D14).")
VERDICT = _g("not_timed_out", has_verdict, "verdict", "A timeout has decided this attempt (D14).")
ABORT_LEFT = _g("no_abort_left", has_abort_left, "abort_left", "An abort of the pause was left behind (D8).")
NO_ABORT = _g("abort_left", has_no_abort_left, "abort_left", "No abort of the pause was left behind (D8).")
CAN_KILL = _g("cannot_kill", can_still_kill, "killable killed", "The carrier can be killed, and was not yet (D6).")
CANNOT_KILL = _g("can_kill", cannot_kill, "killable killed", "Killing is impossible, or was tried (D6).")
GONE = _g("may_be_alive", is_known_gone, "gone", "The caller vouches that the carrier is gone.")
MAY_LIVE = _g("known_gone", may_be_alive, "gone", "The carrier may still be at work.")
START_OUT = _g("not_start", start_ran_out, "deadline", "The start timeout passed (D15).")
RUN_OUT = _g("not_running_deadline", running_ran_out, "deadline", "The attempt or idle timeout passed (D15).")
SUCCEEDS = Guard("no_valid_result", succeeds, _RESULT, "It returned a valid value and no timeout decided (D14).")
CALLED_OFF = Guard("not_called_off", calls_itself_off, _RESULT, "It raised TaskCancelled unprompted (D7).")
TRIES_AGAIN = Guard("no_retry", tries_again, _RETRY, "It failed, the policy retries, and budget is left.")
GIVES_UP = Guard("not_given_up", gives_up, _RETRY, "It failed, and the policy or the budget gives up.")
KEEPS_VALUE = Guard("no_value_kept", keeps_its_value, _ENDS, "Asked to end, it still returned a value (D6).")
WRONG_ENDING = Guard("no_error", goes_wrong_while_ending, _RESULT, "Asked to end, it failed by itself (D6).")
AS_STOPPED = Guard("not_stopped", ends_as_stopped, _ENDS, "It honoured the stop, or was killed for it (D6).")
AS_CANCELLED = Guard("not_cancelled", ends_as_cancelled, _ENDS, "The same under a cancel (D7).")
RETURNED = _g("not_returned", returned, "ending", "It returned a valid value.")
CANCELLED = _g("not_cancelled_itself", cancelled, "ending", "TaskCancelled left the body.")
WENT_WRONG = _g("went_well", went_wrong, "ending", "It ended in any other way.")

GUARDS: tuple[Guard, ...] = tuple(row for row in list(globals().values()) if isinstance(row, Guard))
