"""What must be true of every answer, guard by guard, said without looking at the tables (D39).

Each guard row is paired with at least one postcondition here. The guard says when a row may be used; the
postcondition says what may never come out, whichever row, edge or verb led there. So a guard that gets lost on its
way into a row is missed by somebody. Moves out of band are a person's word and are judged by the verb that makes
them, not by the states between which they lead. Only enums, bools and ints are compared: a solver can follow every
line.
"""

# A postcondition is explained by its name.
# ruff: noqa: D103

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from chongming_spec.algebra import Tell
from chongming_spec.answers import Answer, does, goes, has_budget, hops, is_confirmed, retry_is_due, tells, timed_out
from chongming_spec.decide import Decision, Refusal
from chongming_spec.effects import ORPHAN
from chongming_spec.facts import Ask, CarrierView, Deadline, EndingKind, Facts, Requested
from chongming_spec.failures import FailureKind
from chongming_spec.states import TaskStatus

Postcondition = Callable[[Facts, Ask, Answer], bool]

_S = TaskStatus
_E = EndingKind
_K = FailureKind
_OVER = (_S.SUCCEEDED, _S.FAILED, _S.STOPPED, _S.CANCELLED, _S.SKIPPED, _S.LOST)
_LAUNCHED = (_S.STARTING, _S.RUNNING, _S.PAUSING)
_TAKES_KIND = ("mark_retry_wait", "mark_failed", "mark_stopped", "mark_cancelled", "mark_skipped", "mark_lost", "skip")
_RETRYABLE = (_K.EXCEPTION, _K.NONZERO_EXIT, _K.TIMEOUT_START, _K.TIMEOUT_ATTEMPT, _K.TIMEOUT_IDLE)


# Parked in place, or not (D1, D3).


def lost_from_paused_only_in_place(facts: Facts, ask: Ask, answer: Answer) -> bool:
    return not hops(facts, answer, _S.PAUSED, _S.LOST) or facts.in_place


def stopping_from_paused_only_in_place(facts: Facts, ask: Ask, answer: Answer) -> bool:
    return not hops(facts, answer, _S.PAUSED, _S.STOPPING) or facts.in_place


def failed_from_paused_only_in_place(facts: Facts, ask: Ask, answer: Answer) -> bool:
    return not hops(facts, answer, _S.PAUSED, _S.FAILED) or facts.in_place


def running_from_paused_only_in_place(facts: Facts, ask: Ask, answer: Answer) -> bool:
    return not hops(facts, answer, _S.PAUSED, _S.RUNNING) or facts.in_place


def queued_from_paused_only_when_lifted(facts: Facts, ask: Ask, answer: Answer) -> bool:
    return not hops(facts, answer, _S.PAUSED, _S.QUEUED) or not facts.in_place


def stopped_from_paused_only_when_lifted(facts: Facts, ask: Ask, answer: Answer) -> bool:
    return not hops(facts, answer, _S.PAUSED, _S.STOPPED) or not facts.in_place


def cancelled_from_paused_only_when_lifted(facts: Facts, ask: Ask, answer: Answer) -> bool:
    return not hops(facts, answer, _S.PAUSED, _S.CANCELLED) or not facts.in_place


def neither_reset_nor_adopted_while_parked(facts: Facts, ask: Ask, answer: Answer) -> bool:
    return not (does(ask, answer, "reset") or does(ask, answer, "adopt")) or not facts.in_place


# What was asked (D7).


def stopped_only_when_stop_was_asked(facts: Facts, ask: Ask, answer: Answer) -> bool:
    return not hops(facts, answer, _S.STOPPING, _S.STOPPED) or facts.requested is Requested.STOP


def cancelled_only_when_cancel_was_asked(facts: Facts, ask: Ask, answer: Answer) -> bool:
    return not hops(facts, answer, _S.STOPPING, _S.CANCELLED) or facts.requested is Requested.CANCEL


# The carrier (D7, D8, D10).


def cancelled_from_starting_only_without_carrier(facts: Facts, ask: Ask, answer: Answer) -> bool:
    return not hops(facts, answer, _S.STARTING, _S.CANCELLED) or facts.carrier is CarrierView.NONE


def only_a_carrier_is_told_or_noted_after_the_end(facts: Facts, ask: Ask, answer: Answer) -> bool:
    if isinstance(answer, Refusal) or facts.status not in _OVER:
        return True
    return ask.verb not in ("finish", "close_window") or facts.carrier is not CarrierView.NONE


def force_tells_only_a_carrier(facts: Facts, ask: Ask, answer: Answer) -> bool:
    return ask.verb != "force_transition" or not tells(answer, Tell.STOP) or facts.carrier is not CarrierView.NONE


def running_only_with_confirmed_carrier(facts: Facts, ask: Ask, answer: Answer) -> bool:
    starts = hops(facts, answer, _S.STARTING, _S.RUNNING) or hops(facts, answer, _S.PAUSING, _S.RUNNING)
    return not starts or is_confirmed(facts, ask)


def failed_launch_is_held_only_unconfirmed(facts: Facts, ask: Ask, answer: Answer) -> bool:
    if ask.verb == "finish" and hops(facts, answer, _S.PAUSING, _S.PAUSED):
        return not is_confirmed(facts, ask)
    return True


def start_is_judged_only_unconfirmed(facts: Facts, ask: Ask, answer: Answer) -> bool:
    if ask.deadline is not Deadline.START or facts.status is not _S.PAUSING or isinstance(answer, Refusal):
        return True
    return not is_confirmed(facts, ask)


def parks_only_a_parked_carrier(facts: Facts, ask: Ask, answer: Answer) -> bool:
    if ask.verb == "finish":
        return True
    return not hops(facts, answer, _S.PAUSING, _S.PAUSED) or facts.carrier is CarrierView.PARKED


# Kinds of failure and the budget (D1, D5, D10, D18).


def fails_in_the_queue_only_for_its_three_kinds(facts: Facts, ask: Ask, answer: Answer) -> bool:
    allowed = (_K.TIMEOUT_START, _K.ATTEMPTS_EXHAUSTED, _K.EXCEPTION)
    return not hops(facts, answer, _S.QUEUED, _S.FAILED) or ask.kind in allowed


def fails_between_attempts_only_for_budget(facts: Facts, ask: Ask, answer: Answer) -> bool:
    return not hops(facts, answer, _S.RETRY_WAIT, _S.FAILED) or ask.kind is _K.ATTEMPTS_EXHAUSTED


def given_kind_can_stand_there(facts: Facts, ask: Ask, answer: Answer) -> bool:
    if ask.kind is None or ask.verb not in _TAKES_KIND or isinstance(answer, Refusal) or not answer.path:
        return True
    target = answer.path[-1]
    if target is _S.LOST:
        return ask.kind is _K.LOST
    if target in (_S.STOPPED, _S.CANCELLED):
        return ask.kind is _K.CANCELLED
    if target is _S.SKIPPED:
        return ask.kind in (_K.CONDITION_FALSE, _K.DEPENDENCY_FAILED)
    if target is _S.RETRY_WAIT:
        return ask.kind in _RETRYABLE
    return ask.kind in (*_RETRYABLE, _K.RESULT_INVALID, _K.ATTEMPTS_EXHAUSTED, _K.OVERRIDDEN)


def starts_only_within_budget(facts: Facts, ask: Ask, answer: Answer) -> bool:
    return not goes(answer, _S.STARTING) or has_budget(facts)


def waits_for_retry_only_within_budget(facts: Facts, ask: Ask, answer: Answer) -> bool:
    return not goes(answer, _S.RETRY_WAIT) or ask.verb == "adopt" or has_budget(facts)


def revives_only_within_budget_or_forced(facts: Facts, ask: Ask, answer: Answer) -> bool:
    return not does(ask, answer, "retry") or has_budget(facts) or ask.force


def begins_again_beside_no_stray(facts: Facts, ask: Ask, answer: Answer) -> bool:
    if does(ask, answer, "retry") or does(ask, answer, "reset") or does(ask, answer, "skip"):
        return not facts.stray or ask.alongside
    return True


# Upstream tasks, owners, persons (D2, D28).


def leaves_blocked_for_the_queue_only_when_closed(facts: Facts, ask: Ask, answer: Answer) -> bool:
    if hops(facts, answer, _S.BLOCKED, _S.QUEUED) or does(ask, answer, "retry"):
        return not facts.dependencies_open
    return not (ask.verb == "start" and goes(answer, _S.QUEUED)) or not facts.dependencies_open


def is_blocked_by_a_start_only_when_open(facts: Facts, ask: Ask, answer: Answer) -> bool:
    return not (ask.verb == "start" and goes(answer, _S.BLOCKED)) or facts.dependencies_open


def adopts_only_from_a_lease_that_is_over(facts: Facts, ask: Ask, answer: Answer) -> bool:
    return not does(ask, answer, "adopt") or facts.lease_over


def overrides_only_by_an_actor(facts: Facts, ask: Ask, answer: Answer) -> bool:
    return not (does(ask, answer, "reset") or does(ask, answer, "force_transition")) or ask.has_actor


def overrides_only_for_a_reason(facts: Facts, ask: Ask, answer: Answer) -> bool:
    return not (does(ask, answer, "reset") or does(ask, answer, "force_transition")) or ask.has_reason


def forces_only_to_an_end(facts: Facts, ask: Ask, answer: Answer) -> bool:
    if not does(ask, answer, "force_transition") or isinstance(answer, Refusal):
        return True
    return answer.path[-1] in _OVER and answer.path[-1] is ask.target


def forces_only_to_another_state(facts: Facts, ask: Ask, answer: Answer) -> bool:
    return not does(ask, answer, "force_transition") or ask.target is not facts.status


# Pauses, verdicts and what was left behind (D8, D14, D15).


def pauses_only_what_can_be_paused(facts: Facts, ask: Ask, answer: Answer) -> bool:
    return not goes(answer, _S.PAUSING) or facts.pausable


def pauses_only_before_a_verdict(facts: Facts, ask: Ask, answer: Answer) -> bool:
    if ask.verb == "pause" and facts.status is _S.PAUSING and isinstance(answer, Decision):
        return not timed_out(facts)
    parks = ask.verb == "mark_paused" and goes(answer, _S.PAUSED)
    return not (parks or goes(answer, _S.PAUSING)) or not timed_out(facts)


def succeeds_only_without_verdict(facts: Facts, ask: Ask, answer: Answer) -> bool:
    return not goes(answer, _S.SUCCEEDED) or ask.verb == "force_transition" or not timed_out(facts)


def calls_itself_off_only_without_verdict(facts: Facts, ask: Ask, answer: Answer) -> bool:
    called_off = hops(facts, answer, _S.RUNNING, _S.CANCELLED) or hops(facts, answer, _S.PAUSING, _S.CANCELLED)
    return not called_off or not timed_out(facts)


def judges_once(facts: Facts, ask: Ask, answer: Answer) -> bool:
    return ask.verb != "expire" or isinstance(answer, Refusal) or not timed_out(facts)


def gives_up_a_carrier_only_after_a_verdict(facts: Facts, ask: Ask, answer: Answer) -> bool:
    if ask.verb != "close_window" or facts.status not in _LAUNCHED or isinstance(answer, Refusal):
        return True
    return timed_out(facts)


def aborts_at_confirmation_only_what_was_left(facts: Facts, ask: Ask, answer: Answer) -> bool:
    if ask.verb == "mark_running" and hops(facts, answer, _S.PAUSING, _S.RUNNING):
        return facts.abort_left
    return not hops(facts, answer, _S.PAUSED, _S.QUEUED) or facts.status is _S.PAUSED or facts.abort_left


def holds_only_without_abort(facts: Facts, ask: Ask, answer: Answer) -> bool:
    return not (facts.status is _S.PAUSING and goes(answer, _S.PAUSED)) or not facts.abort_left


def kills_only_once_and_what_can_be_killed(facts: Facts, ask: Ask, answer: Answer) -> bool:
    return not tells(answer, Tell.KILL) or (facts.killable and not facts.killed)


def gives_up_only_what_cannot_be_killed(facts: Facts, ask: Ask, answer: Answer) -> bool:
    return not (ask.verb == "close_window" and goes(answer, _S.LOST)) or not facts.killable or facts.killed


def an_orphan_is_left_unless_known_gone(facts: Facts, ask: Ask, answer: Answer) -> bool:
    if ask.verb != "mark_lost" or isinstance(answer, Refusal) or answer.rule is None:
        return True
    return (ORPHAN in answer.rule.effects) is not ask.gone


def judges_the_start_only_before_it(facts: Facts, ask: Ask, answer: Answer) -> bool:
    if ask.verb != "expire" or isinstance(answer, Refusal):
        return True
    return facts.status not in (_S.QUEUED, _S.STARTING) or ask.deadline is Deadline.START


def judges_the_run_only_after_its_start(facts: Facts, ask: Ask, answer: Answer) -> bool:
    if ask.verb != "expire" or isinstance(answer, Refusal) or facts.status in (_S.QUEUED, _S.STARTING):
        return True
    return ask.deadline is Deadline.START or is_confirmed(facts, ask)


def a_running_task_has_started_in_time(facts: Facts, ask: Ask, answer: Answer) -> bool:
    if ask.verb != "expire" or isinstance(answer, Refusal) or facts.status is not _S.RUNNING:
        return True
    return ask.deadline in (Deadline.ATTEMPT, Deadline.IDLE)


# How it ended (D6, D7, D8, D14, D19).


def succeeds_only_by_a_value(facts: Facts, ask: Ask, answer: Answer) -> bool:
    return ask.verb != "finish" or not goes(answer, _S.SUCCEEDED) or ask.ending is _E.RETURNED


def is_called_off_only_by_cancellation(facts: Facts, ask: Ask, answer: Answer) -> bool:
    if ask.verb != "finish" or facts.status is _S.STOPPING or not goes(answer, _S.CANCELLED):
        return True
    return ask.ending is _E.CANCELLED


def retries_only_what_is_due(facts: Facts, ask: Ask, answer: Answer) -> bool:
    if ask.verb != "finish":
        return True
    again = goes(answer, _S.RETRY_WAIT) or goes(answer, _S.PAUSED) or goes(answer, _S.QUEUED)
    return not again or retry_is_due(facts, ask)


def gives_up_only_what_is_not_due(facts: Facts, ask: Ask, answer: Answer) -> bool:
    if ask.verb != "finish" or facts.status not in _LAUNCHED or not goes(answer, _S.FAILED):
        return True
    went_well = not timed_out(facts) and ask.ending in (_E.RETURNED, _E.CANCELLED)
    return not went_well and not retry_is_due(facts, ask)


def fails_while_stopping_only_by_its_own_error(facts: Facts, ask: Ask, answer: Answer) -> bool:
    if ask.verb != "finish" or not hops(facts, answer, _S.STOPPING, _S.FAILED):
        return True
    return ask.ending in (_E.RAISED, _E.DIED) or (ask.ending is _E.INVALID and not timed_out(facts))


def honours_only_without_value_or_error(facts: Facts, ask: Ask, answer: Answer) -> bool:
    if ask.verb != "finish" or facts.status is not _S.STOPPING:
        return True
    if not (goes(answer, _S.STOPPED) or goes(answer, _S.CANCELLED)):
        return True
    is_honest = timed_out(facts) or ask.ending not in (_E.RETURNED, _E.INVALID)
    return is_honest and ask.ending not in (_E.RAISED, _E.DIED)


def fails_while_parked_only_if_it_went_wrong(facts: Facts, ask: Ask, answer: Answer) -> bool:
    if ask.verb != "finish" or not hops(facts, answer, _S.PAUSED, _S.FAILED):
        return True
    return ask.ending not in (_E.RETURNED, _E.CANCELLED)


POSTCONDITIONS: Mapping[str, tuple[Postcondition, ...]] = MappingProxyType(
    {
        "not_paused_in_place": (
            lost_from_paused_only_in_place,
            stopping_from_paused_only_in_place,
            failed_from_paused_only_in_place,
            running_from_paused_only_in_place,
        ),
        "paused_in_place": (
            queued_from_paused_only_when_lifted,
            stopped_from_paused_only_when_lifted,
            cancelled_from_paused_only_when_lifted,
            neither_reset_nor_adopted_while_parked,
        ),
        "stop_not_asked": (stopped_only_when_stop_was_asked,),
        "cancel_not_asked": (cancelled_only_when_cancel_was_asked,),
        "carrier_exists": (cancelled_from_starting_only_without_carrier,),
        "no_carrier": (only_a_carrier_is_told_or_noted_after_the_end, force_tells_only_a_carrier),
        "carrier_unconfirmed": (running_only_with_confirmed_carrier,),
        "carrier_confirmed": (failed_launch_is_held_only_unconfirmed, start_is_judged_only_unconfirmed),
        "not_parked": (parks_only_a_parked_carrier,),
        "kind_needs_attempt": (fails_in_the_queue_only_for_its_three_kinds, fails_between_attempts_only_for_budget),
        "kind_unfit": (given_kind_can_stand_there,),
        "attempts_exhausted": (
            starts_only_within_budget,
            waits_for_retry_only_within_budget,
            revives_only_within_budget_or_forced,
        ),
        "carrier_still_running": (begins_again_beside_no_stray,),
        "dependencies_open": (leaves_blocked_for_the_queue_only_when_closed,),
        "dependencies_closed": (is_blocked_by_a_start_only_when_open,),
        "owner_alive": (adopts_only_from_a_lease_that_is_over,),
        "actor_missing": (overrides_only_by_an_actor,),
        "reason_missing": (overrides_only_for_a_reason,),
        "target_not_terminal": (forces_only_to_an_end,),
        "target_is_current": (forces_only_to_another_state,),
        "cannot_pause": (pauses_only_what_can_be_paused,),
        "timed_out": (
            pauses_only_before_a_verdict,
            succeeds_only_without_verdict,
            calls_itself_off_only_without_verdict,
            judges_once,
        ),
        "not_timed_out": (gives_up_a_carrier_only_after_a_verdict,),
        "no_abort_left": (aborts_at_confirmation_only_what_was_left,),
        "abort_left": (holds_only_without_abort,),
        "cannot_kill": (kills_only_once_and_what_can_be_killed,),
        "can_kill": (gives_up_only_what_cannot_be_killed,),
        "may_be_alive": (an_orphan_is_left_unless_known_gone,),
        "known_gone": (an_orphan_is_left_unless_known_gone,),
        "not_start": (judges_the_start_only_before_it,),
        "not_running_deadline": (judges_the_run_only_after_its_start, a_running_task_has_started_in_time),
        "no_valid_result": (succeeds_only_by_a_value,),
        "not_called_off": (is_called_off_only_by_cancellation,),
        "no_retry": (retries_only_what_is_due,),
        "not_given_up": (gives_up_only_what_is_not_due,),
        "no_value_kept": (succeeds_only_by_a_value, succeeds_only_without_verdict),
        "no_error": (fails_while_stopping_only_by_its_own_error,),
        "not_stopped": (honours_only_without_value_or_error, stopped_only_when_stop_was_asked),
        "not_cancelled": (honours_only_without_value_or_error, cancelled_only_when_cancel_was_asked),
        "not_returned": (succeeds_only_by_a_value,),
        "not_cancelled_itself": (is_called_off_only_by_cancellation,),
        "went_well": (fails_while_parked_only_if_it_went_wrong,),
    }
)

ALL: tuple[Postcondition, ...] = tuple(dict.fromkeys(one for each in POSTCONDITIONS.values() for one in each))


def sound(facts: Facts, ask: Ask, answer: Answer) -> bool:
    """Whether every postcondition holds; a refusal changes nothing and is always sound."""
    return isinstance(answer, Refusal) or all(holds(facts, ask, answer) for holds in ALL)
