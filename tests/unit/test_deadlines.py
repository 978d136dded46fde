"""The stopwatches of an attempt: what runs when, when it is due, and what is left (D15, D16)."""

from __future__ import annotations

import pytest

from chongming_spec.facts import CarrierView, Deadline, Facts
from chongming_spec.states import TaskStatus
from chongming_task.core.deadlines import Deadlines

LIMITS = {Deadline.START: 1_000, Deadline.ATTEMPT: 5_000, Deadline.IDLE: 2_000}
QUEUED = Facts(TaskStatus.QUEUED)
STARTING = Facts(TaskStatus.STARTING, started=True, attempt=1)
RUNNING = STARTING._replace(status=TaskStatus.RUNNING, carrier=CarrierView.LIVE)
PARKED = RUNNING._replace(status=TaskStatus.PAUSED, in_place=True, carrier=CarrierView.PARKED)


def test_start_runs_until_it_is_confirmed() -> None:
    """D15: in the queue and while starting; the others only afterwards."""
    watches = Deadlines(LIMITS)
    watches.follow(QUEUED, 100, None)
    assert watches.due(100) == {Deadline.START: 1_100}
    watches.follow(STARTING, 300, None)
    assert watches.due(300) == {Deadline.START: 1_100}
    watches.follow(RUNNING, 400, None)
    assert watches.due(400) == {Deadline.ATTEMPT: 5_400, Deadline.IDLE: 900}


def test_a_backoff_holds_the_start_back() -> None:
    """D15: the attempt could not have started before its backoff is over."""
    watches = Deadlines(LIMITS)
    watches.follow(QUEUED, 0, 500)
    assert watches.due(0) == {}
    watches.follow(QUEUED, 500, 500)
    assert watches.due(500) == {Deadline.START: 1_500}


def test_time_parked_counts_for_none() -> None:
    """D15, P-062: the attempt goes on with the rest of its time, silence begins anew."""
    watches = Deadlines(LIMITS)
    watches.follow(RUNNING, 0, None)
    watches.follow(PARKED, 1_900, None)
    assert watches.due(1_900) == {}
    assert watches.left_ms(Deadline.ATTEMPT, 600_000) == 3_100
    watches.follow(RUNNING, 600_000, None)
    assert watches.due(600_000) == {Deadline.ATTEMPT: 603_100, Deadline.IDLE: 600_500}
    assert not watches.passed(Deadline.IDLE, 601_999, (0, None))
    assert watches.passed(Deadline.IDLE, 602_000, (0, None))


def test_a_verdict_stops_the_watches() -> None:
    """D14: once an attempt is decided, no other timeout passes."""
    watches = Deadlines(LIMITS)
    watches.follow(RUNNING, 0, None)
    watches.follow(RUNNING._replace(verdict=Deadline.ATTEMPT), 5_000, None)
    assert watches.due(5_000) == {}
    assert not watches.passed(Deadline.IDLE, 60_000, (0, None))


def test_a_count_that_moved_is_a_sign_of_life_now() -> None:
    """D16: a checkpoint only counts, so its time is that of the look which saw it."""
    watches = Deadlines(LIMITS)
    watches.follow(RUNNING, 0, None)
    assert not watches.passed(Deadline.IDLE, 2_000, (1, None))
    assert not watches.passed(Deadline.IDLE, 3_999, (1, None))
    assert watches.passed(Deadline.IDLE, 4_000, (1, None))


def test_a_beat_counts_from_its_own_time() -> None:
    """D16: `heartbeat.beat()` is exact where nothing else happened."""
    watches = Deadlines(LIMITS)
    watches.follow(RUNNING, 0, None)
    assert not watches.passed(Deadline.IDLE, 1_000, (0, 400))
    assert watches.passed(Deadline.IDLE, 2_400, (0, 400))


def test_a_beat_and_a_checkpoint_together_count_from_the_look() -> None:
    """D16: nobody knows which of the two came last."""
    watches = Deadlines(LIMITS)
    watches.follow(RUNNING, 0, None)
    assert not watches.passed(Deadline.IDLE, 1_000, (3, 400))
    assert not watches.passed(Deadline.IDLE, 2_999, (3, 400))
    assert watches.passed(Deadline.IDLE, 3_000, (3, 400))


@pytest.mark.parametrize("limits", [{}, {Deadline.IDLE: 2_000}])
def test_without_a_limit_nothing_ever_passes(limits: dict[Deadline, int]) -> None:
    """P-083: no limit is no limit, at any time."""
    watches = Deadlines(limits)
    watches.follow(RUNNING, 0, None)
    assert Deadline.ATTEMPT not in watches.due(10**12)
    assert not watches.passed(Deadline.ATTEMPT, 10**12, (0, None))
    assert watches.left_ms(Deadline.ATTEMPT, 10**12) is None


def test_a_limit_of_nothing_passes_at_once() -> None:
    """P-083: 0 is a limit, and it is over as soon as it runs."""
    watches = Deadlines({Deadline.ATTEMPT: 0})
    watches.follow(RUNNING, 7, None)
    assert watches.due(7) == {Deadline.ATTEMPT: 7}
    assert watches.passed(Deadline.ATTEMPT, 7, (0, None))


def test_a_new_attempt_begins_at_nothing() -> None:
    """D4: what the last attempt used up is not the next one's."""
    watches = Deadlines(LIMITS)
    watches.follow(RUNNING, 0, None)
    watches.passed(Deadline.IDLE, 1_000, (9, None))
    watches.reset()
    assert watches.left_ms(Deadline.ATTEMPT, 4_000) == 5_000
    watches.follow(RUNNING, 4_000, None)
    assert not watches.passed(Deadline.IDLE, 5_999, (0, None))
    assert watches.passed(Deadline.IDLE, 6_000, (0, None))


def test_what_is_left_is_never_less_than_nothing() -> None:
    """D15: `ctx.deadline` of an attempt that is over its time is now, not in the past."""
    watches = Deadlines(LIMITS)
    watches.follow(RUNNING, 0, None)
    assert watches.left_ms(Deadline.ATTEMPT, 9_000) == 0
