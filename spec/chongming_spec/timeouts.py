"""The three timeouts and the arithmetic of deadlines (D14, D15, D16).

Everything here counts in integer milliseconds of the monotonic clock. A timeout measures only the time its row names:
time spent parked, or held back in the queue, never counts. How a passed deadline is judged is not here but in the
rules of the verb `expire`.
"""

from __future__ import annotations

from typing import NamedTuple

import attrs

from chongming_spec.facts import CarrierView, Deadline, Facts
from chongming_spec.failures import FailureKind
from chongming_spec.states import TaskStatus


@attrs.frozen
class TimeoutRow:
    """One timeout: its parameter, the failure it leaves, what it measures, and the states in which it runs."""

    deadline: Deadline
    parameter: str
    kind: FailureKind
    trigger: str
    measures: str
    runs_in: frozenset[TaskStatus]
    until_confirmed: bool


_S = TaskStatus

TIMEOUTS: tuple[TimeoutRow, ...] = (
    TimeoutRow(
        Deadline.START,
        "start",
        FailureKind.TIMEOUT_START,
        "timer:start",
        "from when the attempt could have started (the later of queued_at and not_before) until it is confirmed",
        frozenset({_S.QUEUED, _S.STARTING, _S.PAUSING}),
        until_confirmed=True,
    ),
    TimeoutRow(
        Deadline.ATTEMPT,
        "per_attempt",
        FailureKind.TIMEOUT_ATTEMPT,
        "timer:attempt",
        "from the confirmed start of the attempt, without the time it is parked",
        frozenset({_S.RUNNING, _S.PAUSING}),
        until_confirmed=False,
    ),
    TimeoutRow(
        Deadline.IDLE,
        "idle",
        FailureKind.TIMEOUT_IDLE,
        "timer:idle",
        "from the last checkpoint or beat, without the time it is parked; seen within 1.25 times the limit",
        frozenset({_S.RUNNING, _S.PAUSING}),
        until_confirmed=False,
    ),
)

TIMEOUT_OF: dict[Deadline, TimeoutRow] = {row.deadline: row for row in TIMEOUTS}
IDLE_SAMPLES = 4


def runs(row: TimeoutRow, facts: Facts) -> bool:
    """Whether this timeout is running for a task in this state (D15)."""
    if facts.status not in row.runs_in or facts.verdict is not Deadline.NONE:
        return False
    confirmed = facts.carrier in (CarrierView.LIVE, CarrierView.PARKED)
    return confirmed is not row.until_confirmed


class Stopwatch(NamedTuple):
    """Counts only while it runs: milliseconds counted so far, and since when it runs (None: it stands still)."""

    spent_ms: int = 0
    since_ms: int | None = None


def spent_ms(watch: Stopwatch, now_ms: int) -> int:
    """What the watch shows at `now_ms`; never less than what it had counted."""
    if watch.since_ms is None or now_ms < watch.since_ms:
        return watch.spent_ms
    return watch.spent_ms + (now_ms - watch.since_ms)


def started(watch: Stopwatch, now_ms: int) -> Stopwatch:
    """The watch running from `now_ms`; one that runs already is left alone."""
    return watch if watch.since_ms is not None else Stopwatch(watch.spent_ms, now_ms)


def stopped(watch: Stopwatch, now_ms: int) -> Stopwatch:
    """The watch standing still, with what it had counted."""
    return Stopwatch(spent_ms(watch, now_ms), None)


def due_ms(watch: Stopwatch, limit_ms: int, now_ms: int) -> int:
    """When a running watch will show `limit_ms`; `now_ms` if it does already."""
    return now_ms + max(0, limit_ms - spent_ms(watch, now_ms))


def shortened(window_end_ms: int, asked_ms: int, now_ms: int) -> int:
    """D6: the end of a window that is asked again; it can only come nearer."""
    return min(window_end_ms, now_ms + max(0, asked_ms))


def sample_ms(idle_limit_ms: int) -> int:
    """D16: how often the checkpoint counter is sampled, so that a silence is seen within 1.25 times its limit."""
    return max(1, idle_limit_ms // IDLE_SAMPLES)
