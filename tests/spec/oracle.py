"""A second opinion on every answer, in plain `if` and `else`, written from the rules and never from the tables.

`expected(facts, ask)` says what must come out: `("go", states…)`, `("stay",)` or `("refuse", name of the guard or
None)`. It shares with the specification only the names of states, facts and guards. Where the rules leave the order
of two refusals open, the order here is: not in this state, then what the request lacks, then what the task lacks.
"""

from __future__ import annotations

from collections.abc import Callable

from chongming_spec.facts import Ask, CarrierView, Deadline, EndingKind, Facts, Requested
from chongming_spec.failures import FailureKind
from chongming_spec.states import TaskStatus

Expected = tuple[str | TaskStatus | None, ...]
Opinion = Callable[[Facts, Ask], Expected]

S = TaskStatus
K = FailureKind
E = EndingKind
STAY: Expected = ("stay",)
NO: Expected = ("refuse", None)
WAITING = {S.PENDING, S.BLOCKED, S.QUEUED, S.RETRY_WAIT}
TERMINAL = {S.SUCCEEDED, S.FAILED, S.STOPPED, S.CANCELLED, S.SKIPPED, S.LOST}
REVIVABLE = {S.FAILED, S.STOPPED, S.CANCELLED, S.LOST}
OF_BODY = {E.RETURNED, E.INVALID, E.RAISED, E.CANCELLED}
BY_POLICY = {K.EXCEPTION, K.NONZERO_EXIT, K.TIMEOUT_START, K.TIMEOUT_ATTEMPT, K.TIMEOUT_IDLE}
KINDS = {
    S.RETRY_WAIT: BY_POLICY,
    S.FAILED: BY_POLICY | {K.RESULT_INVALID, K.ATTEMPTS_EXHAUSTED, K.OVERRIDDEN},
    S.STOPPED: {K.CANCELLED},
    S.CANCELLED: {K.CANCELLED},
    S.SKIPPED: {K.CONDITION_FALSE, K.DEPENDENCY_FAILED},
    S.LOST: {K.LOST},
}


def go(*path: TaskStatus) -> Expected:
    return ("go", *path)


def refuse(guard: str) -> Expected:
    return ("refuse", guard)


def confirmed(f: Facts, a: Ask) -> bool:
    return f.carrier in (CarrierView.LIVE, CarrierView.PARKED) or a.ending in OF_BODY


def timed_out(f: Facts) -> bool:
    return f.verdict is not Deadline.NONE


def start(f: Facts, a: Ask) -> Expected:
    if f.status is S.PENDING:
        return go(S.BLOCKED) if f.dependencies_open else go(S.QUEUED)
    if f.status is S.BLOCKED:
        return refuse("dependencies_open") if f.dependencies_open else go(S.QUEUED)
    if f.status in (S.QUEUED, S.STARTING, S.RUNNING, S.PAUSING, S.RETRY_WAIT):
        return STAY
    return NO


def request_stop(f: Facts, a: Ask) -> Expected:
    if f.status in WAITING:
        return go(S.STOPPED)
    if f.status is S.PAUSED:
        return go(S.STOPPING) if f.in_place else go(S.STOPPED)
    if f.status in (S.STARTING, S.RUNNING, S.PAUSING):
        return go(S.STOPPING)
    return NO


def request_cancel(f: Facts, a: Ask) -> Expected:
    if f.status is S.STARTING and f.carrier is CarrierView.NONE:
        return go(S.CANCELLED)
    answer = request_stop(f, a)
    return go(S.CANCELLED) if answer == go(S.STOPPED) else answer


def stop(f: Facts, a: Ask) -> Expected:
    return STAY if f.status in TERMINAL | {S.STOPPING} else request_stop(f, a)


def cancel(f: Facts, a: Ask) -> Expected:
    return STAY if f.status in TERMINAL | {S.STOPPING} else request_cancel(f, a)


def request_pause(f: Facts, a: Ask) -> Expected:
    if f.status in (S.QUEUED, S.RETRY_WAIT):
        return go(S.PAUSED)
    if f.status in (S.STARTING, S.RUNNING):
        if not f.pausable:
            return refuse("cannot_pause")
        return refuse("timed_out") if timed_out(f) else go(S.PAUSING)
    return NO


def pause(f: Facts, a: Ask) -> Expected:
    if f.status is S.PAUSED:
        return STAY
    if f.status is S.PAUSING:
        return refuse("timed_out") if timed_out(f) else STAY
    return request_pause(f, a)


def abort_pause(f: Facts, a: Ask) -> Expected:
    if f.status is not S.PAUSING:
        return NO
    return go(S.RUNNING) if confirmed(f, a) else STAY


def resume(f: Facts, a: Ask) -> Expected:
    if f.status is S.PAUSED:
        return go(S.RUNNING) if f.in_place else go(S.QUEUED)
    if f.status in (S.QUEUED, S.STARTING, S.RUNNING):
        return STAY
    return abort_pause(f, a)


def retry(f: Facts, a: Ask) -> Expected:
    if f.status is S.QUEUED:
        return STAY
    if f.status not in REVIVABLE:
        return NO
    if f.stray and not a.alongside:
        return refuse("carrier_still_running")
    if f.dependencies_open:
        return refuse("dependencies_open")
    if f.attempt >= f.max_attempts and not a.force:
        return refuse("attempts_exhausted")
    return go(S.QUEUED)


def skip(f: Facts, a: Ask) -> Expected:
    if f.status is S.SKIPPED:
        return STAY
    if f.status not in (S.PENDING, S.BLOCKED, S.QUEUED, S.FAILED):
        return NO
    if unfit(a, S.SKIPPED):
        return refuse("kind_unfit")
    return refuse("carrier_still_running") if f.stray and not a.alongside else go(S.SKIPPED)


def reset(f: Facts, a: Ask) -> Expected:
    if f.status is S.PENDING:
        return STAY
    if f.status in (S.STARTING, S.RUNNING, S.PAUSING, S.STOPPING):
        return NO
    if not a.has_actor:
        return refuse("actor_missing")
    if not a.has_reason:
        return refuse("reason_missing")
    if f.stray and not a.alongside:
        return refuse("carrier_still_running")
    return refuse("paused_in_place") if f.in_place else go(S.PENDING)


def wait(f: Facts, a: Ask) -> Expected:
    return STAY


def force_transition(f: Facts, a: Ask) -> Expected:
    if not a.has_actor:
        return refuse("actor_missing")
    if not a.has_reason:
        return refuse("reason_missing")
    if a.target is None or a.target not in TERMINAL:
        return refuse("target_not_terminal")
    return refuse("target_is_current") if a.target is f.status else go(a.target)


def adopt(f: Facts, a: Ask) -> Expected:
    if f.status not in WAITING | REVIVABLE | {S.PAUSED}:
        return NO
    if not f.lease_over:
        return refuse("owner_alive")
    return refuse("paused_in_place") if f.in_place else go(f.status)


def unfit(a: Ask, target: TaskStatus) -> bool:
    return a.kind is not None and a.kind not in KINDS[target]


def mark_queued(f: Facts, a: Ask) -> Expected:
    if f.status is S.BLOCKED and f.dependencies_open:
        return refuse("dependencies_open")
    return go(S.QUEUED) if f.status in (S.PENDING, S.BLOCKED, S.RETRY_WAIT) else NO


def mark_blocked(f: Facts, a: Ask) -> Expected:
    return go(S.BLOCKED) if f.status is S.PENDING else NO


def mark_starting(f: Facts, a: Ask) -> Expected:
    if f.status not in (S.QUEUED, S.RETRY_WAIT):
        return NO
    return go(S.STARTING) if f.attempt < f.max_attempts else refuse("attempts_exhausted")


def mark_running(f: Facts, a: Ask) -> Expected:
    if f.status is S.PAUSED:
        return go(S.RUNNING) if f.in_place else refuse("not_paused_in_place")
    if f.status is S.STOPPING or (f.status is S.PAUSING and not f.abort_left):
        return STAY
    if f.status in (S.STARTING, S.PAUSING):
        return go(S.RUNNING) if confirmed(f, a) else refuse("carrier_unconfirmed")
    return NO


def mark_paused(f: Facts, a: Ask) -> Expected:
    if f.status in (S.QUEUED, S.RETRY_WAIT):
        return go(S.PAUSED)
    if f.status is not S.PAUSING:
        return NO
    if f.carrier is not CarrierView.PARKED:
        return refuse("not_parked")
    if timed_out(f):
        return refuse("timed_out")
    return refuse("abort_left") if f.abort_left else go(S.PAUSED)


def mark_retry_wait(f: Facts, a: Ask) -> Expected:
    if f.status not in (S.STARTING, S.RUNNING):
        return NO
    if unfit(a, S.RETRY_WAIT):
        return refuse("kind_unfit")
    return go(S.RETRY_WAIT) if f.attempt < f.max_attempts else refuse("attempts_exhausted")


def mark_succeeded(f: Facts, a: Ask) -> Expected:
    if f.status not in (S.RUNNING, S.STOPPING):
        return NO
    return refuse("timed_out") if timed_out(f) else go(S.SUCCEEDED)


def mark_failed(f: Facts, a: Ask) -> Expected:
    if f.status in TERMINAL | {S.PENDING, S.BLOCKED}:
        return NO
    if unfit(a, S.FAILED):
        return refuse("kind_unfit")
    if f.status is S.QUEUED and a.kind not in (K.TIMEOUT_START, K.ATTEMPTS_EXHAUSTED, K.EXCEPTION):
        return refuse("kind_needs_attempt")
    if f.status is S.RETRY_WAIT and a.kind is not K.ATTEMPTS_EXHAUSTED:
        return refuse("kind_needs_attempt")
    if f.status is S.PAUSED and not f.in_place:
        return refuse("not_paused_in_place")
    return go(S.FAILED)


def mark_stopped(f: Facts, a: Ask) -> Expected:
    if f.status not in WAITING | {S.PAUSED, S.STOPPING}:
        return NO
    if unfit(a, S.STOPPED):
        return refuse("kind_unfit")
    if f.in_place:
        return refuse("paused_in_place")
    if f.status is S.STOPPING and f.requested is not Requested.STOP:
        return refuse("stop_not_asked")
    return go(S.STOPPED)


def mark_cancelled(f: Facts, a: Ask) -> Expected:
    if f.status in TERMINAL:
        return NO
    if unfit(a, S.CANCELLED):
        return refuse("kind_unfit")
    if f.in_place:
        return refuse("paused_in_place")
    if f.status is S.STARTING and f.carrier is not CarrierView.NONE:
        return refuse("carrier_exists")
    if f.status in (S.RUNNING, S.PAUSING) and timed_out(f):
        return refuse("timed_out")
    if f.status is S.STOPPING and f.requested is not Requested.CANCEL:
        return refuse("cancel_not_asked")
    return go(S.CANCELLED)


def mark_skipped(f: Facts, a: Ask) -> Expected:
    if f.status not in (S.PENDING, S.BLOCKED, S.QUEUED):
        return NO
    return refuse("kind_unfit") if unfit(a, S.SKIPPED) else go(S.SKIPPED)


def mark_lost(f: Facts, a: Ask) -> Expected:
    if f.status not in (S.STARTING, S.RUNNING, S.PAUSING, S.PAUSED, S.STOPPING):
        return NO
    if unfit(a, S.LOST):
        return refuse("kind_unfit")
    return refuse("not_paused_in_place") if f.status is S.PAUSED and not f.in_place else go(S.LOST)


def fails(f: Facts, a: Ask) -> bool:
    """Of an attempt nobody asked to end: whether what came of it is a failure (D14)."""
    return timed_out(f) or a.ending not in (E.RETURNED, E.CANCELLED)


def tried_again(f: Facts, a: Ask) -> bool:
    """Whether that failure is retried: policy, budget, and no invalid result of its own (D10, D14, D19)."""
    return a.retries and f.attempt < f.max_attempts and (timed_out(f) or a.ending is not E.INVALID)


def finish(f: Facts, a: Ask) -> Expected:
    if f.status in TERMINAL:
        return STAY if f.carrier is CarrierView.ABANDONED else refuse("no_carrier")
    if f.status is S.STOPPING:
        return finish_stopping(f, a)
    if f.status is S.PAUSED:
        return finish_parked(f, a)
    if f.status is S.PAUSING:
        return finish_pausing(f, a)
    if f.status not in (S.STARTING, S.RUNNING):
        return NO
    if fails(f, a):
        return go(S.RETRY_WAIT) if tried_again(f, a) else go(S.FAILED)
    end = S.SUCCEEDED if a.ending is E.RETURNED else S.CANCELLED
    return go(end) if f.status is S.RUNNING else go(S.RUNNING, end)


def finish_pausing(f: Facts, a: Ask) -> Expected:
    if not fails(f, a):
        return go(S.RUNNING, S.SUCCEEDED) if a.ending is E.RETURNED else go(S.CANCELLED)
    if not tried_again(f, a):
        return go(S.FAILED)
    if confirmed(f, a):
        return go(S.RUNNING, S.RETRY_WAIT)
    return go(S.PAUSED, S.QUEUED) if f.abort_left else go(S.PAUSED)


def finish_parked(f: Facts, a: Ask) -> Expected:
    if not f.in_place:
        return refuse("not_paused_in_place")
    if a.ending is E.RETURNED:
        return go(S.RUNNING, S.SUCCEEDED)
    return go(S.RUNNING, S.CANCELLED) if a.ending is E.CANCELLED else go(S.FAILED)


def finish_stopping(f: Facts, a: Ask) -> Expected:
    as_asked = go(S.STOPPED) if f.requested is Requested.STOP else go(S.CANCELLED)
    if a.ending in (E.RAISED, E.DIED):
        return go(S.FAILED)
    if a.ending is E.RETURNED:
        return as_asked if timed_out(f) else go(S.SUCCEEDED)
    if a.ending is E.INVALID:
        return as_asked if timed_out(f) else go(S.FAILED)
    return as_asked


def judged(f: Facts) -> Expected:
    return refuse("timed_out") if timed_out(f) else STAY


def expire(f: Facts, a: Ask) -> Expected:
    is_start = a.deadline is Deadline.START
    if f.status is S.QUEUED:
        if not is_start:
            return refuse("not_start")
        allowed = (K.TIMEOUT_START, K.ATTEMPTS_EXHAUSTED, K.EXCEPTION)
        return go(S.FAILED) if a.kind in allowed else refuse("kind_needs_attempt")
    if f.status is S.STARTING:
        return judged(f) if is_start else refuse("not_start")
    if f.status is S.RUNNING:
        return refuse("not_running_deadline") if is_start else judged(f)
    if f.status is S.PAUSING:
        if is_start and confirmed(f, a):
            return refuse("not_running_deadline")
        if not is_start and not confirmed(f, a):
            return refuse("carrier_unconfirmed")
        # A second verdict on a start is refused by the row for running deadlines, which stands last.
        if timed_out(f):
            return refuse("not_running_deadline") if is_start else refuse("timed_out")
        return STAY
    return NO


def close_window(f: Facts, a: Ask) -> Expected:
    kills = f.killable and not f.killed
    if f.status in TERMINAL:
        return STAY if f.carrier is CarrierView.ABANDONED else refuse("no_carrier")
    if f.status in (S.STARTING, S.RUNNING, S.PAUSING):
        if not timed_out(f):
            return refuse("not_timed_out")
        return STAY if kills else go(S.LOST)
    return (STAY if kills else go(S.LOST)) if f.status is S.STOPPING else NO


_OPINIONS: tuple[Opinion, ...] = (
    start, stop, pause, resume, cancel, retry, skip, reset, wait, force_transition, adopt,
    mark_queued, mark_blocked, mark_starting, mark_running, mark_paused, mark_retry_wait, mark_succeeded, mark_failed,
    mark_stopped, mark_cancelled, mark_skipped, mark_lost, request_stop, request_cancel, request_pause, abort_pause,
    finish, expire, close_window,
)  # fmt: skip
OPINION_OF: dict[str, Opinion] = {opinion.__name__: opinion for opinion in _OPINIONS}


def expected(facts: Facts, ask: Ask) -> Expected:
    """What must come of `ask` on `facts`."""
    return OPINION_OF[ask.verb](facts, ask)
