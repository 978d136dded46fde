"""The verbs of persons, each under contract: what a person may rely on, for every task there can be.

One function per verb, one named postcondition each: the answer is *kept* (a task again, and sound), and it is what
the sentence of the postcondition says. The sentences are written from the rules, not from the tables.
"""

from __future__ import annotations

import icontract

from chongming_spec.algebra import Tell
from chongming_spec.answers import tells
from chongming_spec.decide import Refusal, advance
from chongming_spec.facts import Ask, CarrierView, Deadline, Facts, Requested
from chongming_spec.failures import FailureKind
from chongming_spec.states import TaskStatus
from tests.prove.tasks import Answer, Task, answered, facts_of, is_so, is_task, kept, refused, stays, went

S = TaskStatus
ENDED = (S.SUCCEEDED, S.FAILED, S.STOPPED, S.CANCELLED, S.SKIPPED, S.LOST)
REVIVED = (S.FAILED, S.STOPPED, S.CANCELLED, S.LOST)
NOT_BEGUN = (S.PENDING, S.BLOCKED, S.QUEUED)
BODY = (S.RUNNING, S.PAUSING)
CONFIRMED = (CarrierView.LIVE, CarrierView.PARKED)


def starts(task: Task, result: Answer) -> bool:
    """It queues, or blocks while upstream is open; a blocked one is refused meanwhile (D13)."""
    facts = facts_of(task)
    if facts.status in (*ENDED, S.PAUSED, S.STOPPING):
        return refused(result)
    if facts.status not in (S.PENDING, S.BLOCKED):
        return is_so(result)
    if not facts.dependencies_open:
        told = went(result, S.QUEUED)
    elif facts.status is S.PENDING:
        told = went(result, S.BLOCKED)
    else:
        told = refused(result, "dependencies_open")
    return told and kept(facts, Ask("start"), result)


@icontract.require(is_task)
@icontract.ensure(starts)
def start(task: Task) -> Answer:
    return answered(task, Ask("start"))


def asked_to_end(facts: Facts, ask: Ask, result: Answer, end: TaskStatus, request: Requested) -> bool:
    """What holds no carrier ends at once; a body is asked, told, and its window opens (D3, D6)."""
    after = facts if isinstance(result, Refusal) else advance(facts, ask, result)
    if after.status is end:
        return after.carrier is CarrierView.NONE and after.requested is Requested.NONE
    return went(result, S.STOPPING) and after.requested is request and tells(result, Tell.STOP)


def stops(task: Task, result: Answer) -> bool:
    """Never refused; at once if it holds nothing, else stopping by way of its body; nothing moves in a window (D6)."""
    facts = facts_of(task)
    if facts.status in ENDED:
        return is_so(result)
    if facts.status is S.STOPPING:
        return is_so(result) and tells(result, Tell.SHORTEN)
    at_once = facts.status in (*NOT_BEGUN, S.RETRY_WAIT) or (facts.status is S.PAUSED and not facts.in_place)
    ask = Ask("stop")
    return (
        went(result, S.STOPPED if at_once else S.STOPPING)
        and asked_to_end(facts, ask, result, S.STOPPED, Requested.STOP)
        and kept(facts, ask, result)
    )


@icontract.require(is_task)
@icontract.ensure(stops)
def stop(task: Task) -> Answer:
    return answered(task, Ask("stop"))


def is_called_off(task: Task, result: Answer) -> bool:
    """As stop, but for an attempt whose launch was not performed: that one is cancelled at once (D7)."""
    facts = facts_of(task)
    if facts.status in ENDED:
        return is_so(result)
    if facts.status is S.STOPPING:
        return is_so(result) and tells(result, Tell.SHORTEN)
    launched = facts.status in BODY or (facts.status is S.STARTING and facts.carrier is not CarrierView.NONE)
    ask = Ask("cancel")
    return (
        went(result, S.STOPPING if launched or facts.in_place else S.CANCELLED)
        and asked_to_end(facts, ask, result, S.CANCELLED, Requested.CANCEL)
        and kept(facts, ask, result)
    )


@icontract.require(is_task)
@icontract.ensure(is_called_off)
def cancel(task: Task) -> Answer:
    return answered(task, Ask("cancel"))


def pauses(task: Task, result: Answer) -> bool:
    """Held back before it runs; else asked to park, unless its carrier cannot or a timeout has decided (D8, D14)."""
    facts = facts_of(task)
    if facts.status in (S.QUEUED, S.RETRY_WAIT):
        told = went(result, S.PAUSED)
    elif facts.status in (S.STARTING, S.RUNNING):
        if facts.pausable and facts.verdict is Deadline.NONE:
            told = went(result, S.PAUSING) and tells(result, Tell.PAUSE)
        else:
            told = refused(result, "timed_out" if facts.pausable else "cannot_pause")
    elif facts.status is S.PAUSING:
        told = refused(result, "timed_out") if facts.verdict is not Deadline.NONE else stays(result)
    else:
        told = is_so(result) if facts.status is S.PAUSED else refused(result)
    return told and kept(facts, Ask("pause"), result)


@icontract.require(is_task)
@icontract.ensure(pauses)
def pause(task: Task) -> Answer:
    return answered(task, Ask("pause"))


def resumes(task: Task, result: Answer) -> bool:
    """A parked body goes on, a held task queues, a pause under way is taken back or leaves an abort (D8, D9)."""
    facts = facts_of(task)
    if facts.status is S.PAUSED:
        told = went(result, S.RUNNING if facts.in_place else S.QUEUED)
    elif facts.status is S.PAUSING:
        told = went(result, S.RUNNING) if facts.carrier in CONFIRMED else stays(result)
    else:
        told = is_so(result) if facts.status in (S.QUEUED, S.STARTING, S.RUNNING) else refused(result)
    return told and kept(facts, Ask("resume"), result)


@icontract.require(is_task)
@icontract.ensure(resumes)
def resume(task: Task) -> Answer:
    return answered(task, Ask("resume"))


def revives(task: Task, force: bool, alongside: bool, result: Answer) -> bool:
    """Refused in this order: not revivable, a carrier may live, upstream is open, no budget (D2, D10)."""
    facts = facts_of(task)
    ask = Ask("retry", force=force, alongside=alongside)
    if facts.status not in REVIVED:
        return is_so(result) if facts.status is S.QUEUED else refused(result)
    if facts.stray and not alongside:
        return refused(result, "carrier_still_running")
    if facts.dependencies_open:
        return refused(result, "dependencies_open")
    if facts.attempt >= facts.max_attempts and not force:
        return refused(result, "attempts_exhausted")
    if isinstance(result, Refusal):
        return False
    after = advance(facts, ask, result)
    return went(result, S.QUEUED) and after.attempt < after.max_attempts and kept(facts, ask, result)


@icontract.require(is_task)
@icontract.ensure(revives)
def retry(task: Task, force: bool, alongside: bool) -> Answer:
    return answered(task, Ask("retry", force=force, alongside=alongside))


def is_unneeded(task: Task, alongside: bool, kind: FailureKind | None, result: Answer) -> bool:
    """Only what has not begun, or has failed, is skipped; not beside a carrier that may live (D2, D10)."""
    facts = facts_of(task)
    ask = Ask("skip", alongside=alongside, kind=kind)
    if facts.status not in (*NOT_BEGUN, S.FAILED):
        return is_so(result) if facts.status is S.SKIPPED else refused(result)
    if kind not in (None, FailureKind.CONDITION_FALSE, FailureKind.DEPENDENCY_FAILED):
        return refused(result, "kind_unfit")
    if facts.stray and not alongside:
        return refused(result, "carrier_still_running")
    return went(result, S.SKIPPED) and kept(facts, ask, result)


@icontract.require(is_task)
@icontract.ensure(is_unneeded)
def skip(task: Task, alongside: bool, kind: FailureKind | None) -> Answer:
    return answered(task, Ask("skip", alongside=alongside, kind=kind))


def begins_anew(task: Task, has_actor: bool, has_reason: bool, alongside: bool, result: Answer) -> bool:
    """By somebody, for a reason, beside no stray carrier; what holds a carrier is never reset (D2, D10, D12)."""
    facts = facts_of(task)
    ask = Ask("reset", has_actor=has_actor, has_reason=has_reason, alongside=alongside)
    if facts.status in (S.STARTING, S.RUNNING, S.PAUSING, S.STOPPING):
        return refused(result)
    if facts.status is S.PENDING:
        return is_so(result)
    if not has_actor or not has_reason:
        return refused(result, "reason_missing" if has_actor else "actor_missing")
    if facts.stray and not alongside:
        return refused(result, "carrier_still_running")
    if facts.in_place:
        return refused(result, "paused_in_place")
    if isinstance(result, Refusal):
        return False
    after = advance(facts, ask, result)
    return went(result, S.PENDING) and after.attempt == 0 and not after.started and kept(facts, ask, result)


@icontract.require(is_task)
@icontract.ensure(begins_anew)
def reset(task: Task, has_actor: bool, has_reason: bool, alongside: bool) -> Answer:
    return answered(task, Ask("reset", has_actor=has_actor, has_reason=has_reason, alongside=alongside))


def changes_nothing(task: Task, result: Answer) -> bool:
    """Waiting is allowed everywhere and never changes anything."""
    return is_so(result)


@icontract.require(is_task)
@icontract.ensure(changes_nothing)
def wait(task: Task) -> Answer:
    return answered(task, Ask("wait"))


def overrides(task: Task, target: TaskStatus | None, has_actor: bool, has_reason: bool, result: Answer) -> bool:
    """By somebody, for a reason, to another end; a carrier there is given up, and told if it still worked (D11)."""
    facts = facts_of(task)
    ask = Ask("force_transition", target=target, has_actor=has_actor, has_reason=has_reason)
    if not has_actor or not has_reason:
        return refused(result, "reason_missing" if has_actor else "actor_missing")
    if target not in ENDED or target is facts.status:
        return refused(result, "target_is_current" if target in ENDED else "target_not_terminal")
    if isinstance(result, Refusal):
        return False
    after = advance(facts, ask, result)
    alive = facts.carrier is not CarrierView.NONE
    given_up = after.carrier is CarrierView.ABANDONED and after.stray if alive else after.carrier is CarrierView.NONE
    told = tells(result, Tell.STOP) is (alive and facts.status not in ENDED)
    return went(result, target) and given_up and told and kept(facts, ask, result)


@icontract.require(is_task)
@icontract.ensure(overrides)
def force_transition(task: Task, target: TaskStatus | None, has_actor: bool, has_reason: bool) -> Answer:
    return answered(task, Ask("force_transition", target=target, has_actor=has_actor, has_reason=has_reason))


def changes_hands(task: Task, result: Answer) -> bool:
    """Only from an owner whose lease is over, and only what holds no carrier; the status stays (D2, D28)."""
    facts = facts_of(task)
    if facts.status in (S.STARTING, S.RUNNING, S.PAUSING, S.STOPPING, S.SUCCEEDED, S.SKIPPED):
        return refused(result)
    if not facts.lease_over:
        return refused(result, "owner_alive")
    if facts.in_place:
        return refused(result, "paused_in_place")
    return went(result, facts.status) and kept(facts, Ask("adopt"), result)


@icontract.require(is_task)
@icontract.ensure(changes_hands)
def adopt(task: Task) -> Answer:
    return answered(task, Ask("adopt"))
