"""The verbs of the world under contract: what a carrier's end, a passed timeout and a closed window may be called.

This is where a library is tempted to call things by better names than they deserve, so these postconditions say it
once more in full: what may be called a success, what a stop, and when a result is honestly unknown.
"""

from __future__ import annotations

import icontract

from chongming_spec.algebra import Tell
from chongming_spec.answers import is_confirmed, tells
from chongming_spec.decide import Refusal, advance
from chongming_spec.facts import Ask, CarrierView, Deadline, EndingKind, Requested
from chongming_spec.failures import FailureKind
from chongming_spec.states import TaskStatus
from tests.prove.tasks import Answer, Task, answered, facts_of, is_task, kept, refused, stays, went

S = TaskStatus
E = EndingKind
K = FailureKind
ENDED = (S.SUCCEEDED, S.FAILED, S.STOPPED, S.CANCELLED, S.SKIPPED, S.LOST)
LAUNCHED = (S.STARTING, S.RUNNING, S.PAUSING)


def ends_honestly(task: Task, ending: EndingKind, retries: bool, result: Answer) -> bool:
    """A success has a value and no verdict; a request never leads to a retry; an end is never called lost (D6, D14)."""
    facts = facts_of(task)
    ask = Ask("finish", ending=ending, retries=retries)
    if facts.status not in (*LAUNCHED, S.PAUSED, S.STOPPING):
        ended = facts.status in ENDED
        if ended and facts.carrier is not CarrierView.NONE:
            return stays(result) and kept(facts, ask, result)
        return refused(result, "no_carrier" if ended else None)
    if facts.status is S.PAUSED and not facts.in_place:
        return refused(result, "not_paused_in_place")
    if isinstance(result, Refusal):
        return False
    target = result.target
    verdict = facts.verdict is not Deadline.NONE
    if target is S.SUCCEEDED:
        fair = ending is E.RETURNED and not verdict
    elif target is S.STOPPED:
        fair = facts.requested is Requested.STOP
    elif target is S.CANCELLED:
        fair = facts.requested is Requested.CANCEL or (ending is E.CANCELLED and not verdict)
    elif target is S.FAILED:
        fair = verdict or ending not in (E.RETURNED, E.CANCELLED)
    else:
        fair = target in (S.RETRY_WAIT, S.PAUSED, S.QUEUED) and retries and not facts.requested.ends
    return fair and advance(facts, ask, result).carrier is CarrierView.NONE and kept(facts, ask, result)


@icontract.require(is_task)
@icontract.ensure(ends_honestly)
def finish(task: Task, ending: EndingKind, retries: bool) -> Answer:
    return answered(task, Ask("finish", ending=ending, retries=retries))


def decides_once(task: Task, deadline: Deadline, kind: FailureKind | None, result: Answer) -> bool:
    """In the queue it fails; a launched one is judged once, stays where it is, and its body is told (D14, D15)."""
    facts = facts_of(task)
    ask = Ask("expire", deadline=deadline, kind=kind)
    starting = deadline is Deadline.START
    if facts.status is S.QUEUED:
        if not starting or kind not in (K.TIMEOUT_START, K.ATTEMPTS_EXHAUSTED, K.EXCEPTION):
            return refused(result, "kind_needs_attempt" if starting else "not_start")
        return went(result, S.FAILED) and kept(facts, ask, result)
    due = {
        S.STARTING: starting,
        S.RUNNING: not starting and deadline is not Deadline.NONE,
        S.PAUSING: deadline is not Deadline.NONE and starting is not is_confirmed(facts, ask),
    }
    if not due.get(facts.status, False) or facts.verdict is not Deadline.NONE:
        return isinstance(result, Refusal)
    if isinstance(result, Refusal):
        return False
    judged = advance(facts, ask, result).verdict is deadline
    return stays(result) and judged and tells(result, Tell.STOP) and kept(facts, ask, result)


@icontract.require(is_task)
@icontract.ensure(decides_once)
def expire(task: Task, deadline: Deadline, kind: FailureKind | None) -> Answer:
    return answered(task, Ask("expire", deadline=deadline, kind=kind))


def gives_up_last(task: Task, result: Answer) -> bool:
    """What can be killed is killed, once; only then, or where it cannot be, is the result unknown (D6, D10)."""
    facts = facts_of(task)
    ask = Ask("close_window")
    open_window = facts.status is S.STOPPING or (facts.status in LAUNCHED and facts.verdict is not Deadline.NONE)
    left_over = facts.status in ENDED and facts.carrier is not CarrierView.NONE
    if isinstance(result, Refusal):
        return not open_window and not left_over
    if not (open_window or left_over):
        return False
    after = advance(facts, ask, result)
    if facts.killable and not facts.killed:
        return stays(result) and tells(result, Tell.KILL) and after.killed and kept(facts, ask, result)
    if left_over:
        return stays(result) and kept(facts, ask, result)
    return went(result, S.LOST) and after.carrier is CarrierView.ABANDONED and after.stray and kept(facts, ask, result)


@icontract.require(is_task)
@icontract.ensure(gives_up_last)
def close_window(task: Task) -> Answer:
    return answered(task, Ask("close_window"))
