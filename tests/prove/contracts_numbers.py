"""The arithmetic under contract: stopwatches, deadlines, windows, sampling, backoff; and the kind an ending leaves.

All in integer milliseconds. `backoff_ms` repeats `grown_ms` as often as there were attempts, which no solver follows
to its end; it is proved for the first two attempts, each later one is one proved step more, and `tests/property`
searches the first three hundred.
"""

from __future__ import annotations

import icontract

from chongming_spec import backoff, endings, timeouts
from chongming_spec.facts import Deadline, EndingKind, Requested
from chongming_spec.failures import FailureKind
from chongming_spec.states import TaskStatus
from chongming_spec.timeouts import Stopwatch
from tests.prove.contracts_guards import task

FIRST_ATTEMPTS = 2


def counts_on(spent: int, since: int, runs: bool, now: int, result: int) -> bool:
    """Never less than before; what it adds is the time it ran, and nothing while it stands."""
    if not runs:
        return result == spent
    return result >= spent and (result - spent == now - since or (now < since and result == spent))


@icontract.require(lambda spent: spent >= 0)
@icontract.ensure(counts_on)
def spent_ms(spent: int, since: int, runs: bool, now: int) -> int:
    return timeouts.spent_ms(Stopwatch(spent, since if runs else None), now)


def runs_from_now(spent: int, since: int, runs: bool, now: int, result: Stopwatch) -> bool:
    """It runs, with what it had counted; one that ran already is left alone."""
    return result == Stopwatch(spent, since if runs else now)


@icontract.ensure(runs_from_now)
def started(spent: int, since: int, runs: bool, now: int) -> Stopwatch:
    return timeouts.started(Stopwatch(spent, since if runs else None), now)


def stands_still(spent: int, since: int, runs: bool, now: int, later: int, result: Stopwatch) -> bool:
    """It stands, and shows at any later time what it showed at `now`."""
    shown = timeouts.spent_ms(Stopwatch(spent, since if runs else None), now)
    return result.since_ms is None and timeouts.spent_ms(result, later) == shown


@icontract.ensure(stands_still)
def stopped(spent: int, since: int, runs: bool, now: int, later: int) -> Stopwatch:
    return timeouts.stopped(Stopwatch(spent, since if runs else None), now)


def is_when_it_shows(spent: int, since: int, limit: int, now: int, result: int) -> bool:
    """Not in the past; at that moment a running watch shows the limit or more, and a moment before it did not."""
    watch = Stopwatch(spent, since)
    in_time = result > now and timeouts.spent_ms(watch, result - 1) >= limit
    return result >= now and timeouts.spent_ms(watch, result) >= limit and not in_time


@icontract.require(lambda spent, since, now: spent >= 0 and since <= now)
@icontract.ensure(is_when_it_shows)
def due_ms(spent: int, since: int, limit: int, now: int) -> int:
    return timeouts.due_ms(Stopwatch(spent, since), limit, now)


def comes_nearer(end: int, asked: int, now: int, result: int) -> bool:
    """Never later than it was, and never before now if it was not (D6)."""
    return result <= end and (result >= min(end, now)) and (result == end or result == now + max(0, asked))


@icontract.ensure(comes_nearer)
def shortened(end: int, asked: int, now: int) -> int:
    return timeouts.shortened(end, asked, now)


def is_seen_in_time(limit: int, result: int) -> bool:
    """At least a millisecond; a silence that begins just after a sample is seen within 1.25 times the limit (D16)."""
    return result >= 1 and (limit + result) * 4 <= limit * 5


@icontract.require(lambda limit: limit >= timeouts.IDLE_SAMPLES)
@icontract.ensure(is_seen_in_time)
def sample_ms(limit: int) -> int:
    return timeouts.sample_ms(limit)


@icontract.require(lambda delay, factor, ceiling: 0 <= delay <= ceiling and factor >= backoff.ONE)
@icontract.ensure(lambda delay, ceiling, result: delay <= result <= ceiling)
def grown_ms(delay: int, factor: int, ceiling: int) -> int:
    return backoff.grown_ms(delay, factor, ceiling)


def never_shrinks(attempt: int, base: int, factor: int, ceiling: int, result: int) -> bool:
    """From the base, if the ceiling lets it, to the ceiling."""
    return min(base, ceiling) <= result <= ceiling


@icontract.require(lambda attempt: 1 <= attempt <= FIRST_ATTEMPTS)
@icontract.require(lambda base, factor, ceiling: base >= 0 and factor >= backoff.ONE and ceiling >= 0)
@icontract.ensure(never_shrinks)
def backoff_ms(attempt: int, base: int, factor: int, ceiling: int) -> int:
    return backoff.backoff_ms(attempt, base, factor, ceiling)


def explains(
    requested: Requested, verdict: Deadline, ending: EndingKind, target: TaskStatus, result: FailureKind | None
) -> bool:
    """A request explains its end; else the verdict does, unless a request covers it; else the ending (D14)."""
    if target in (TaskStatus.STOPPED, TaskStatus.CANCELLED):
        return result is FailureKind.CANCELLED
    if verdict is not Deadline.NONE and not requested.ends:
        return result is not None and result.value == f"timeout_{verdict.value}"
    return result is endings.ENDING_OF[ending].kind


@icontract.ensure(explains)
def failure_kind(requested: Requested, verdict: Deadline, ending: EndingKind, target: TaskStatus) -> FailureKind | None:
    return endings.failure_kind(task(requested=requested, verdict=verdict), ending, target)
