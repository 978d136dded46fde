"""The verbs of the machine under contract: what each may record, and when it must be refused.

Marks record a fact, requests an intent. They are strict: what is so already is refused (D13).
"""

from __future__ import annotations

import icontract

from chongming_spec.decide import Refusal, advance
from chongming_spec.facts import Ask, CarrierView, Deadline
from chongming_spec.failures import FAILURE_OF, FailureKind
from chongming_spec.states import TaskStatus
from tests.prove.contracts_control import is_called_off, pauses, resumes, stops
from tests.prove.tasks import Answer, Task, answered, facts_of, is_task, kept, refused, stays, went

S = TaskStatus
K = FailureKind
LAUNCHED = (S.STARTING, S.RUNNING, S.PAUSING)
WAITING = (S.PENDING, S.BLOCKED, S.QUEUED, S.RETRY_WAIT)


def queues(task: Task, result: Answer) -> bool:
    """From pending or a backoff always; from blocked only when its join holds."""
    facts = facts_of(task)
    if facts.status not in (S.PENDING, S.RETRY_WAIT, S.BLOCKED):
        return refused(result)
    if facts.status is S.BLOCKED and facts.dependencies_open:
        return refused(result, "dependencies_open")
    return went(result, S.QUEUED) and kept(facts, Ask("mark_queued"), result)


@icontract.require(is_task)
@icontract.ensure(queues)
def mark_queued(task: Task) -> Answer:
    return answered(task, Ask("mark_queued"))


def blocks(task: Task, result: Answer) -> bool:
    """Only what is pending can be blocked."""
    facts = facts_of(task)
    told = went(result, S.BLOCKED) if facts.status is S.PENDING else refused(result)
    return told and kept(facts, Ask("mark_blocked"), result)


@icontract.require(is_task)
@icontract.ensure(blocks)
def mark_blocked(task: Task) -> Answer:
    return answered(task, Ask("mark_blocked"))


def opens_an_attempt(task: Task, result: Answer) -> bool:
    """From the queue or a backoff, within the budget; it counts one attempt and knows nothing of the last (D5)."""
    facts = facts_of(task)
    ask = Ask("mark_starting")
    if facts.status not in (S.QUEUED, S.RETRY_WAIT):
        return refused(result)
    if facts.attempt >= facts.max_attempts:
        return refused(result, "attempts_exhausted")
    if isinstance(result, Refusal):
        return False
    after = advance(facts, ask, result)
    fresh = after.carrier is CarrierView.NONE and after.verdict is Deadline.NONE and not after.killed
    return went(result, S.STARTING) and after.attempt == facts.attempt + 1 and fresh and kept(facts, ask, result)


@icontract.require(is_task)
@icontract.ensure(opens_an_attempt)
def mark_starting(task: Task) -> Answer:
    return answered(task, Ask("mark_starting"))


def confirms(task: Task, result: Answer) -> bool:
    """A start, a parked body that goes on, an abort left behind; else a status stays as it was asked (D6, D8)."""
    facts = facts_of(task)
    ask = Ask("mark_running")
    confirmed = facts.carrier in (CarrierView.LIVE, CarrierView.PARKED)
    if facts.status is S.STOPPING or (facts.status is S.PAUSING and not facts.abort_left):
        return stays(result) and kept(facts, ask, result)
    if facts.status in (S.STARTING, S.PAUSING):
        told = went(result, S.RUNNING) if confirmed else refused(result, "carrier_unconfirmed")
    elif facts.status is S.PAUSED:
        told = went(result, S.RUNNING) if facts.in_place else refused(result, "not_paused_in_place")
    else:
        told = refused(result)
    return told and kept(facts, ask, result)


@icontract.require(is_task)
@icontract.ensure(confirms)
def mark_running(task: Task) -> Answer:
    return answered(task, Ask("mark_running"))


def parks(task: Task, result: Answer) -> bool:
    """A body that parked, before any verdict and with no abort left; or what never ran is held back (D3, D8)."""
    facts = facts_of(task)
    ask = Ask("mark_paused")
    if facts.status in (S.QUEUED, S.RETRY_WAIT):
        return went(result, S.PAUSED) and kept(facts, ask, result)
    if facts.status is not S.PAUSING:
        return refused(result)
    if facts.carrier is not CarrierView.PARKED or facts.verdict is not Deadline.NONE or facts.abort_left:
        return isinstance(result, Refusal)
    if isinstance(result, Refusal):
        return False
    return went(result, S.PAUSED) and advance(facts, ask, result).in_place and kept(facts, ask, result)


@icontract.require(is_task)
@icontract.ensure(parks)
def mark_paused(task: Task) -> Answer:
    return answered(task, Ask("mark_paused"))


def waits_for_retry(task: Task, kind: FailureKind | None, result: Answer) -> bool:
    """Only a kind that a policy may retry, only within the budget; never from a window (D6, D10)."""
    facts = facts_of(task)
    ask = Ask("mark_retry_wait", kind=kind)
    if facts.status not in (S.STARTING, S.RUNNING):
        return refused(result)
    if kind is not None and not FAILURE_OF[kind].by_policy:
        return refused(result, "kind_unfit")
    if facts.attempt >= facts.max_attempts:
        return refused(result, "attempts_exhausted")
    return went(result, S.RETRY_WAIT) and kept(facts, ask, result)


@icontract.require(is_task)
@icontract.ensure(waits_for_retry)
def mark_retry_wait(task: Task, kind: FailureKind | None) -> Answer:
    return answered(task, Ask("mark_retry_wait", kind=kind))


def succeeds(task: Task, result: Answer) -> bool:
    """Only what runs or is asked to end, and only without a verdict (D6, D14)."""
    facts = facts_of(task)
    if facts.status not in (S.RUNNING, S.STOPPING):
        return refused(result)
    if facts.verdict is not Deadline.NONE:
        return refused(result, "timed_out")
    return went(result, S.SUCCEEDED) and kept(facts, Ask("mark_succeeded"), result)


@icontract.require(is_task)
@icontract.ensure(succeeds)
def mark_succeeded(task: Task) -> Answer:
    return answered(task, Ask("mark_succeeded"))


def fails(task: Task, kind: FailureKind | None, result: Answer) -> bool:
    """Only for a kind that can stand in failed; without an attempt only for what needs none (D1, D18)."""
    facts = facts_of(task)
    if facts.status not in (*LAUNCHED, S.STOPPING, S.QUEUED, S.RETRY_WAIT, S.PAUSED):
        return refused(result)
    if kind in (K.CANCELLED, K.LOST, K.DEPENDENCY_FAILED, K.CONDITION_FALSE):
        return refused(result, "kind_unfit")
    if facts.status is S.PAUSED and not facts.in_place:
        return refused(result, "not_paused_in_place")
    without_attempt = {
        S.QUEUED: (K.TIMEOUT_START, K.ATTEMPTS_EXHAUSTED, K.EXCEPTION),
        S.RETRY_WAIT: (K.ATTEMPTS_EXHAUSTED,),
    }
    if facts.status in without_attempt and kind not in without_attempt[facts.status]:
        return refused(result, "kind_needs_attempt")
    return went(result, S.FAILED) and kept(facts, Ask("mark_failed", kind=kind), result)


@icontract.require(is_task)
@icontract.ensure(fails)
def mark_failed(task: Task, kind: FailureKind | None) -> Answer:
    return answered(task, Ask("mark_failed", kind=kind))


def is_stopped(task: Task, kind: FailureKind | None, result: Answer) -> bool:
    """What holds nothing, or a body that was asked to stop; never one that was only called off (D7)."""
    facts = facts_of(task)
    if facts.status not in (*WAITING, S.STOPPING, S.PAUSED):
        return refused(result)
    if kind not in (None, K.CANCELLED):
        return refused(result, "kind_unfit")
    if facts.in_place or facts.requested.value == "cancel":
        return refused(result, "paused_in_place" if facts.in_place else "stop_not_asked")
    return went(result, S.STOPPED) and kept(facts, Ask("mark_stopped", kind=kind), result)


@icontract.require(is_task)
@icontract.ensure(is_stopped)
def mark_stopped(task: Task, kind: FailureKind | None) -> Answer:
    return answered(task, Ask("mark_stopped", kind=kind))


def is_cancelled(task: Task, kind: FailureKind | None, result: Answer) -> bool:
    """Not past a verdict, not beside a launch that may come up, not where a stop was asked (D7, D14)."""
    facts = facts_of(task)
    if facts.status not in (*WAITING, *LAUNCHED, S.STOPPING, S.PAUSED):
        return refused(result)
    if kind not in (None, K.CANCELLED):
        return refused(result, "kind_unfit")
    barred = {
        S.STARTING: facts.carrier is not CarrierView.NONE,
        S.RUNNING: facts.verdict is not Deadline.NONE,
        S.PAUSING: facts.verdict is not Deadline.NONE,
        S.STOPPING: facts.requested.value == "stop",
        S.PAUSED: facts.in_place,
    }
    if barred.get(facts.status, False):
        return isinstance(result, Refusal)
    return went(result, S.CANCELLED) and kept(facts, Ask("mark_cancelled", kind=kind), result)


@icontract.require(is_task)
@icontract.ensure(is_cancelled)
def mark_cancelled(task: Task, kind: FailureKind | None) -> Answer:
    return answered(task, Ask("mark_cancelled", kind=kind))


def is_skipped(task: Task, kind: FailureKind | None, result: Answer) -> bool:
    """Only what never ran."""
    facts = facts_of(task)
    if facts.status not in (S.PENDING, S.BLOCKED, S.QUEUED):
        return refused(result)
    if kind not in (None, K.CONDITION_FALSE, K.DEPENDENCY_FAILED):
        return refused(result, "kind_unfit")
    return went(result, S.SKIPPED) and kept(facts, Ask("mark_skipped", kind=kind), result)


@icontract.require(is_task)
@icontract.ensure(is_skipped)
def mark_skipped(task: Task, kind: FailureKind | None) -> Answer:
    return answered(task, Ask("mark_skipped", kind=kind))


def is_lost(task: Task, kind: FailureKind | None, gone: bool, result: Answer) -> bool:
    """Only what holds a carrier, whatever it was doing; a stray is left unless somebody vouches (D10)."""
    facts = facts_of(task)
    ask = Ask("mark_lost", kind=kind, gone=gone)
    if facts.status not in (*LAUNCHED, S.STOPPING, S.PAUSED):
        return refused(result)
    if kind not in (None, K.LOST):
        return refused(result, "kind_unfit")
    if facts.status is S.PAUSED and not facts.in_place:
        return refused(result, "not_paused_in_place")
    if isinstance(result, Refusal):
        return False
    stray = advance(facts, ask, result).stray
    return went(result, S.LOST) and stray is (facts.stray or not gone) and kept(facts, ask, result)


@icontract.require(is_task)
@icontract.ensure(is_lost)
def mark_lost(task: Task, kind: FailureKind | None, gone: bool) -> Answer:
    return answered(task, Ask("mark_lost", kind=kind, gone=gone))


ENDED_OR_ENDING = (S.STOPPING, S.SUCCEEDED, S.FAILED, S.STOPPED, S.CANCELLED, S.SKIPPED, S.LOST)


def requests_stop(task: Task, result: Answer) -> bool:
    """As stop, and refused where that is already so (D13)."""
    facts = facts_of(task)
    if facts.status in ENDED_OR_ENDING:
        return refused(result)
    return stops(task, result) and kept(facts, Ask("request_stop"), result)


@icontract.require(is_task)
@icontract.ensure(requests_stop)
def request_stop(task: Task) -> Answer:
    return answered(task, Ask("request_stop"))


def requests_cancel(task: Task, result: Answer) -> bool:
    """As cancel, and refused where that is already so (D13)."""
    facts = facts_of(task)
    if facts.status in ENDED_OR_ENDING:
        return refused(result)
    return is_called_off(task, result) and kept(facts, Ask("request_cancel"), result)


@icontract.require(is_task)
@icontract.ensure(requests_cancel)
def request_cancel(task: Task) -> Answer:
    return answered(task, Ask("request_cancel"))


def requests_pause(task: Task, result: Answer) -> bool:
    """As pause, and refused where that is already so (D13)."""
    facts = facts_of(task)
    if facts.status in (S.PAUSING, S.PAUSED):
        return refused(result)
    return pauses(task, result) and kept(facts, Ask("request_pause"), result)


@icontract.require(is_task)
@icontract.ensure(requests_pause)
def request_pause(task: Task) -> Answer:
    return answered(task, Ask("request_pause"))


def aborts(task: Task, result: Answer) -> bool:
    """As resume takes back a pause under way, and refused elsewhere (D8)."""
    return resumes(task, result) if facts_of(task).status is S.PAUSING else refused(result)


@icontract.require(is_task)
@icontract.ensure(aborts)
def abort_pause(task: Task) -> Answer:
    return answered(task, Ask("abort_pause"))
