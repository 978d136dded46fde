"""The guards under contract: each predicate says what its name says, for every value of the columns it reads.

A function here has the name of the predicate and takes the columns that the predicate declares (`Guard.reads`), no
others: that it reads nothing else is a law of its own. What must come out is said from the values themselves, where
that is possible in other words than the predicate's.
"""

from __future__ import annotations

import icontract

from chongming_spec import guards
from chongming_spec.facts import Ask, CarrierView, Deadline, EndingKind, Facts, Requested
from chongming_spec.failures import FAILURES, FailureKind
from chongming_spec.states import STATES, TaskStatus

S = TaskStatus
E = EndingKind
K = FailureKind
BY_BODY = (E.RETURNED, E.INVALID, E.RAISED, E.CANCELLED)
MARKS = tuple(guards.MARKS)


def task(
    status: TaskStatus = S.STOPPING,
    requested: Requested = Requested.NONE,
    carrier: CarrierView = CarrierView.NONE,
    verdict: Deadline = Deadline.NONE,
    attempt: int = 0,
    max_attempts: int = 1,
) -> Facts:
    """A task of which only what is given matters."""
    return Facts(status, requested, carrier=carrier, verdict=verdict, attempt=attempt, max_attempts=max_attempts)


def ends(ending: EndingKind, retries: bool = False) -> Ask:
    """The report of an ending."""
    return Ask("finish", ending=ending, retries=retries)


def marking(verb: int) -> str:
    """The verb that takes a kind, by place; a place out of range counts as the nearest."""
    return MARKS[max(0, min(verb, len(MARKS) - 1))]


def went_badly(verdict: Deadline, ending: EndingKind) -> bool:
    """A timeout decided, or it neither returned a valid value nor called itself off (D14)."""
    return verdict is not Deadline.NONE or ending not in (E.RETURNED, E.CANCELLED)


def is_due(verdict: Deadline, ending: EndingKind, retries: bool, left: int) -> bool:
    """The policy says so, an attempt is left, and it is no invalid result; a verdict covers that up (D14, D19)."""
    return retries and left > 0 and (verdict is not Deadline.NONE or ending is not E.INVALID)


def own_error(verdict: Deadline, ending: EndingKind) -> bool:
    """It raised or died, or returned what is not JSON with no verdict to cover that up (D6, D14)."""
    return ending in (E.RAISED, E.DIED) or (ending is E.INVALID and verdict is Deadline.NONE)


def honours(verdict: Deadline, ending: EndingKind) -> bool:
    """Neither an error of its own nor a value that counts (D6)."""
    return not own_error(verdict, ending) and not (ending is E.RETURNED and verdict is Deadline.NONE)


@icontract.ensure(lambda in_place, result: result is in_place)
def is_in_place(in_place: bool) -> bool:
    return guards.is_in_place(Facts(S.PENDING, in_place=in_place), Ask(""))


@icontract.ensure(lambda in_place, result: result is not in_place)
def is_not_in_place(in_place: bool) -> bool:
    return guards.is_not_in_place(Facts(S.PENDING, in_place=in_place), Ask(""))


@icontract.ensure(lambda requested, result: result is (requested.value == "stop"))
def stop_was_asked(requested: Requested) -> bool:
    return guards.stop_was_asked(task(requested=requested), Ask(""))


@icontract.ensure(lambda requested, result: result is (requested.value == "cancel"))
def cancel_was_asked(requested: Requested) -> bool:
    return guards.cancel_was_asked(task(requested=requested), Ask(""))


@icontract.ensure(lambda carrier, result: result is (carrier.value == "none"))
def has_no_carrier(carrier: CarrierView) -> bool:
    return guards.has_no_carrier(task(carrier=carrier), Ask(""))


@icontract.ensure(lambda carrier, result: result is (carrier.value in ("launching", "live", "parked", "abandoned")))
def has_carrier(carrier: CarrierView) -> bool:
    return guards.has_carrier(task(carrier=carrier), Ask(""))


@icontract.ensure(lambda carrier, ending, result: result is (carrier.value in ("live", "parked") or ending in BY_BODY))
def is_confirmed(carrier: CarrierView, ending: EndingKind | None) -> bool:
    return guards.is_confirmed(task(carrier=carrier), Ask("", ending=ending))


@icontract.ensure(
    lambda carrier, ending, result: result is not (carrier.value in ("live", "parked") or ending in BY_BODY)
)
def is_unconfirmed(carrier: CarrierView, ending: EndingKind | None) -> bool:
    return guards.is_unconfirmed(task(carrier=carrier), Ask("", ending=ending))


@icontract.ensure(lambda carrier, result: result is (carrier.value == "parked"))
def is_parked(carrier: CarrierView) -> bool:
    return guards.is_parked(task(carrier=carrier), Ask(""))


@icontract.ensure(lambda kind, result: result is (kind in (K.TIMEOUT_START, K.ATTEMPTS_EXHAUSTED, K.EXCEPTION)))
def fails_while_queued(kind: FailureKind | None) -> bool:
    return guards.fails_while_queued(task(), Ask("", kind=kind))


@icontract.ensure(lambda kind, result: result is (kind is K.ATTEMPTS_EXHAUSTED))
def fails_for_budget(kind: FailureKind | None) -> bool:
    return guards.fails_for_budget(task(), Ask("", kind=kind))


@icontract.ensure(
    lambda verb, kind, result: (
        result
        is (kind is None or any(row.kind is kind and guards.MARKS[marking(verb)] in row.stands_in for row in FAILURES))
    )
)
def kind_fits(verb: int, kind: FailureKind | None) -> bool:
    return guards.kind_fits(task(), Ask(marking(verb), kind=kind))


@icontract.ensure(lambda attempt, max_attempts, result: result is (max_attempts - attempt > 0))
def has_budget(attempt: int, max_attempts: int) -> bool:
    return guards.has_budget(task(attempt=attempt, max_attempts=max_attempts), Ask(""))


@icontract.ensure(lambda attempt, max_attempts, force, result: result is (force or max_attempts - attempt > 0))
def has_budget_or_force(attempt: int, max_attempts: int, force: bool) -> bool:
    return guards.has_budget_or_force(task(attempt=attempt, max_attempts=max_attempts), Ask("", force=force))


@icontract.ensure(lambda stray, alongside, result: result is not (stray and not alongside))
def has_no_stray(stray: bool, alongside: bool) -> bool:
    return guards.has_no_stray(Facts(S.LOST, stray=stray), Ask("", alongside=alongside))


@icontract.ensure(lambda dependencies_open, result: result is not dependencies_open)
def has_dependencies_closed(dependencies_open: bool) -> bool:
    return guards.has_dependencies_closed(Facts(S.PENDING, dependencies_open=dependencies_open), Ask(""))


@icontract.ensure(lambda dependencies_open, result: result is dependencies_open)
def has_dependencies_open(dependencies_open: bool) -> bool:
    return guards.has_dependencies_open(Facts(S.PENDING, dependencies_open=dependencies_open), Ask(""))


@icontract.ensure(lambda lease_over, result: result is lease_over)
def has_lease_over(lease_over: bool) -> bool:
    return guards.has_lease_over(Facts(S.PENDING, lease_over=lease_over), Ask(""))


@icontract.ensure(lambda given, result: result is given)
def has_actor(given: bool) -> bool:
    return guards.has_actor(Facts(S.PENDING), Ask("", has_actor=given))


@icontract.ensure(lambda given, result: result is given)
def has_reason(given: bool) -> bool:
    return guards.has_reason(Facts(S.PENDING), Ask("", has_reason=given))


@icontract.ensure(lambda target, result: result is any(row.status is target and row.terminal for row in STATES))
def targets_terminal(target: TaskStatus | None) -> bool:
    return guards.targets_terminal(task(), Ask("", target=target))


@icontract.ensure(lambda status, target, result: result is (target is None or target.value != status.value))
def targets_another(status: TaskStatus, target: TaskStatus | None) -> bool:
    return guards.targets_another(task(status), Ask("", target=target))


@icontract.ensure(lambda pausable, result: result is pausable)
def can_pause(pausable: bool) -> bool:
    return guards.can_pause(Facts(S.PENDING, pausable=pausable), Ask(""))


@icontract.ensure(lambda verdict, result: result is (verdict.value == "none"))
def has_no_verdict(verdict: Deadline) -> bool:
    return guards.has_no_verdict(task(verdict=verdict), Ask(""))


@icontract.ensure(lambda verdict, result: result is (verdict.value in ("start", "attempt", "idle")))
def has_verdict(verdict: Deadline) -> bool:
    return guards.has_verdict(task(verdict=verdict), Ask(""))


@icontract.ensure(lambda abort_left, result: result is abort_left)
def has_abort_left(abort_left: bool) -> bool:
    return guards.has_abort_left(Facts(S.PENDING, abort_left=abort_left), Ask(""))


@icontract.ensure(lambda abort_left, result: result is not abort_left)
def has_no_abort_left(abort_left: bool) -> bool:
    return guards.has_no_abort_left(Facts(S.PENDING, abort_left=abort_left), Ask(""))


@icontract.ensure(lambda killable, killed, result: result is (killable and not killed))
def can_still_kill(killable: bool, killed: bool) -> bool:
    return guards.can_still_kill(Facts(S.STOPPING, killable=killable, killed=killed), Ask(""))


@icontract.ensure(lambda killable, killed, result: result is (killed or not killable))
def cannot_kill(killable: bool, killed: bool) -> bool:
    return guards.cannot_kill(Facts(S.STOPPING, killable=killable, killed=killed), Ask(""))


@icontract.ensure(lambda gone, result: result is gone)
def is_known_gone(gone: bool) -> bool:
    return guards.is_known_gone(Facts(S.PENDING), Ask("", gone=gone))


@icontract.ensure(lambda gone, result: result is not gone)
def may_be_alive(gone: bool) -> bool:
    return guards.may_be_alive(Facts(S.PENDING), Ask("", gone=gone))


@icontract.ensure(lambda deadline, result: result is (deadline.value == "start"))
def start_ran_out(deadline: Deadline) -> bool:
    return guards.start_ran_out(task(), Ask("", deadline=deadline))


@icontract.ensure(lambda deadline, result: result is (deadline.value in ("attempt", "idle")))
def running_ran_out(deadline: Deadline) -> bool:
    return guards.running_ran_out(task(), Ask("", deadline=deadline))


@icontract.ensure(lambda ending, result: result is (ending.value == "returned"))
def returned(ending: EndingKind) -> bool:
    return guards.returned(task(), ends(ending))


@icontract.ensure(lambda ending, result: result is (ending.value == "cancelled"))
def cancelled(ending: EndingKind) -> bool:
    return guards.cancelled(task(), ends(ending))


@icontract.ensure(lambda ending, result: result is (ending.value not in ("returned", "cancelled")))
def went_wrong(ending: EndingKind) -> bool:
    return guards.went_wrong(task(), ends(ending))


@icontract.ensure(lambda verdict, ending, result: result is (verdict.value == "none" and ending is E.RETURNED))
def succeeds(verdict: Deadline, ending: EndingKind) -> bool:
    return guards.succeeds(task(verdict=verdict), ends(ending))


@icontract.ensure(lambda verdict, ending, result: result is (verdict.value == "none" and ending is E.CANCELLED))
def calls_itself_off(verdict: Deadline, ending: EndingKind) -> bool:
    return guards.calls_itself_off(task(verdict=verdict), ends(ending))


@icontract.ensure(
    lambda verdict, ending, retries, attempt, max_attempts, result: (
        result is (went_badly(verdict, ending) and is_due(verdict, ending, retries, max_attempts - attempt))
    )
)
def tries_again(verdict: Deadline, ending: EndingKind, retries: bool, attempt: int, max_attempts: int) -> bool:
    return guards.tries_again(task(verdict=verdict, attempt=attempt, max_attempts=max_attempts), ends(ending, retries))


@icontract.ensure(
    lambda verdict, ending, retries, attempt, max_attempts, result: (
        result is (went_badly(verdict, ending) and not is_due(verdict, ending, retries, max_attempts - attempt))
    )
)
def gives_up(verdict: Deadline, ending: EndingKind, retries: bool, attempt: int, max_attempts: int) -> bool:
    return guards.gives_up(task(verdict=verdict, attempt=attempt, max_attempts=max_attempts), ends(ending, retries))


@icontract.ensure(
    lambda requested, verdict, ending, result: (
        result is (requested.ends and verdict.value == "none" and ending is E.RETURNED)
    )
)
def keeps_its_value(requested: Requested, verdict: Deadline, ending: EndingKind) -> bool:
    return guards.keeps_its_value(task(requested=requested, verdict=verdict), ends(ending))


@icontract.ensure(lambda verdict, ending, result: result is own_error(verdict, ending))
def goes_wrong_while_ending(verdict: Deadline, ending: EndingKind) -> bool:
    return guards.goes_wrong_while_ending(task(verdict=verdict), ends(ending))


@icontract.ensure(
    lambda requested, verdict, ending, result: result is (requested.value == "stop" and honours(verdict, ending))
)
def ends_as_stopped(requested: Requested, verdict: Deadline, ending: EndingKind) -> bool:
    return guards.ends_as_stopped(task(requested=requested, verdict=verdict), ends(ending))


@icontract.ensure(
    lambda requested, verdict, ending, result: result is (requested.value == "cancel" and honours(verdict, ending))
)
def ends_as_cancelled(requested: Requested, verdict: Deadline, ending: EndingKind) -> bool:
    return guards.ends_as_cancelled(task(requested=requested, verdict=verdict), ends(ending))
