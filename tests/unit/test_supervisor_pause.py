"""Pausing as the supervisor sees it: who waits, who takes it back, and what becomes of a body that ends meanwhile."""

from __future__ import annotations

from datetime import timedelta

import pytest

from chongming_spec.errors import InvalidTransition
from chongming_task.core import actions as act
from chongming_task.core import inputs as inp
from tests.unit.supervising import START, Policy, Rig, words


def confirmed(rig: Rig, waiter: int) -> bool:
    """What this waiter was told."""
    answer = rig.answers[waiter]
    assert isinstance(answer, act.Answer)
    return answer.confirmed


def test_a_pause_holds_once_the_body_has_parked() -> None:
    """D8: the answer waits for the parking, and the time-out of the pause is disarmed with it."""
    rig = Rig().running()
    assert words(rig.ask("pause", actor="li", reason="db")) == ["tell 1 pause", "wake pause:2 at 10000"]
    assert words(rig.parked()) == ["disarm pause:2", "answer 2: paused, changed, yes"]
    assert rig.path == "pending queued starting running pausing paused"
    snapshot = rig.machine.snapshot
    assert (snapshot.held_by, snapshot.held_reason, snapshot.paused_in_place) == ("li", "db", True)


def test_a_pause_that_times_out_is_taken_back() -> None:
    """D8, P-059: the status is swapped back first, then the body told; the caller hears no."""
    rig = Rig().running()
    rig.ask("pause", timeout=0.3)
    told = words(rig.advance(300))
    assert told == ["tell 1 resume", "answer 2: running, changed, no"]
    assert rig.path == "pending queued starting running pausing running"
    assert rig.last() == "runtime:pause_aborted by owner: not parked in time"


def test_a_body_that_parks_at_the_last_moment_has_parked() -> None:
    """D8: if `paused` won the race, the time-out finds nothing to take back and the answer was yes."""
    rig = Rig().running()
    rig.ask("pause", timeout=0.3)
    rig.pass_time(300)
    rig.parked()
    assert words(rig.tell(inp.TimerFired("pause:2"))) == []
    assert confirmed(rig, 2)
    assert rig.status == "paused"


def test_the_last_waiter_takes_the_pause_back() -> None:
    """D8, D13: who waits less long hears no and leaves; the pause stands while anybody waits for it."""
    rig = Rig().running()
    rig.ask("pause", timeout=1)
    rig.ask("pause", timeout=2)
    assert words(rig.advance(1_000)) == ["answer 2: pausing, changed, no"]
    assert rig.status == "pausing"
    assert words(rig.advance(1_000)) == ["tell 1 resume", "answer 3: running, already, no"]


def test_all_who_wait_are_answered_by_the_parking() -> None:
    """D13: the second one joins the wait; both hear yes, only the first one changed anything."""
    rig = Rig().running()
    rig.ask("pause")
    rig.ask("pause")
    told = words(rig.parked())
    assert [word for word in told if word.startswith("answer")] == [
        "answer 2: paused, changed, yes",
        "answer 3: paused, already, yes",
    ]


@pytest.mark.parametrize(("verb", "status"), [("resume", "running"), ("stop", "stopping"), ("cancel", "stopping")])
def test_whoever_ends_a_pause_under_way_answers_those_who_wait(verb: str, status: str) -> None:
    """D8, D9, P-069: resume, stop and cancel settle it at once; the pause answers no and its timer is gone."""
    rig = Rig().running()
    rig.ask("pause")
    told = words(rig.ask(verb))
    assert f"answer 2: {status}, changed, no" in told
    assert rig.status == status
    assert "pause:2" not in rig.timers


def test_resume_wakes_a_parked_body() -> None:
    """D9: in place it goes on; the record comes first, then the body is told."""
    rig = Rig().running()
    rig.ask("pause")
    rig.parked()
    told = rig.ask("resume", actor="li")
    assert isinstance(told[0], act.Save)
    assert words(told) == ["tell 1 resume", "answer 3: running, changed, yes"]
    assert rig.path.endswith("paused running")
    assert rig.last() == "user:resume by li: None"


class TestBeforeTheStartIsConfirmed:
    """D8: there is nothing to swap back to, so an abort is left behind."""

    def starting(self) -> Rig:
        rig = Rig(max_attempts=2)
        rig.ask("start")
        rig.ask("pause", timeout=1)
        return rig

    def test_the_abort_is_carried_out_at_the_confirmation(self) -> None:
        """D8: the pause answers no at its time; the confirmed body goes on instead of parking."""
        rig = self.starting()
        assert words(rig.advance(1_000)) == ["answer 2: pausing, changed, no"]
        assert rig.status == "pausing"
        assert words(rig.started()) == ["tell 1 resume"]
        assert rig.path == "pending queued starting pausing running"
        assert rig.last().startswith("runtime:pause_aborted")

    def test_a_new_pause_takes_the_abort_back(self) -> None:
        """D8: who asks again wants it held again."""
        rig = self.starting()
        rig.ask("resume")
        rig.ask("pause")
        rig.started()
        rig.parked()
        assert rig.path == "pending queued starting pausing paused"
        assert (confirmed(rig, 2), confirmed(rig, 4)) == (True, True)

    def test_a_launch_that_fails_where_it_would_be_retried(self) -> None:
        """D8: it ends paused, not in place, with the backoff kept; the pause answers yes."""
        rig = self.starting()
        rig.policy.delay = 5_000
        rig.ended("launch_failed", retries=True)
        assert rig.path == "pending queued starting pausing paused"
        snapshot = rig.machine.snapshot
        assert (snapshot.paused_in_place, snapshot.not_before) == (False, START + timedelta(seconds=5))
        assert rig.machine.attempts[0].disposition == "failed"
        assert confirmed(rig, 2)

    def test_a_launch_that_fails_after_an_abort_was_left(self) -> None:
        """D8: paused and queued in one commit; then it starts anew."""
        rig = self.starting()
        rig.advance(1_000)
        rig.ended("launch_failed", retries=True)
        assert rig.path == "pending queued starting pausing paused queued starting"

    def test_a_launch_that_fails_for_good(self) -> None:
        """D8: without budget or retry it fails, and the pause answers no."""
        rig = self.starting()
        rig.ended("launch_failed", retries=False)
        assert rig.path == "pending queued starting pausing failed"
        assert not confirmed(rig, 2)


@pytest.mark.parametrize(
    ("kind", "retries", "path"),
    [
        ("returned", False, "pausing running succeeded"),
        ("raised", True, "pausing running retry_wait starting"),
        ("raised", False, "pausing failed"),
        ("cancelled", False, "pausing cancelled"),
        ("invalid", True, "pausing failed"),
    ],
)
def test_a_body_that_ends_while_it_should_pause(kind: str, retries: bool, path: str) -> None:
    """D8, P-070: the pause never took effect and answers no; the ending is what it would have been."""
    rig = Rig(max_attempts=2).running()
    rig.ask("pause")
    rig.ended(kind, retries=retries)
    assert rig.path == f"pending queued starting running {path}"
    assert not confirmed(rig, 2)
    if "running " in path:
        assert "finished_before_quiescence" in [record.reason for record in rig.machine.transitions]


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("returned", "paused running succeeded"),
        ("cancelled", "paused running cancelled"),
        ("raised", "paused failed"),
        ("died", "paused failed"),
        ("killed", "paused failed"),
    ],
)
def test_a_body_that_ends_while_parked(kind: str, path: str) -> None:
    """D1, D8: another thread of it went on; a value passes through running, all else fails whatever the budget."""
    rig = Rig(max_attempts=3).running()
    rig.ask("pause")
    rig.parked()
    rig.ended(kind, retries=True)
    assert rig.path == f"pending queued starting running pausing {path}"


class TestHeldBackBeforeItRuns:
    """D8, D9: nothing is parked, the task just does not start."""

    def test_queued_and_held(self) -> None:
        """P-064: it never starts while held; its request for a slot is taken back, and made again on resume."""
        rig = Rig(granting=False)
        rig.ask("start")
        assert words(rig.ask("pause")) == ["return slot 1", "answer 2: paused, changed, yes"]
        assert not rig.machine.snapshot.paused_in_place
        assert words(rig.ask("resume")) == ["need slot 2", "answer 3: queued, changed, yes"]
        rig.granted()
        assert rig.path == "pending queued paused queued starting"

    def test_a_slot_that_comes_too_late_is_returned(self) -> None:
        """D17, P-075: a grant that crossed the pause leads to no start."""
        rig = Rig(granting=False)
        rig.ask("start")
        rig.ask("pause")
        rig.granted()
        assert rig.path == "pending queued paused"

    def test_a_paused_backoff_is_kept(self) -> None:
        """D9, P-070: paused between attempts it goes back to the queue, but not before its time."""
        rig = Rig(max_attempts=2, policy=Policy(delay_ms=60_000)).running()
        rig.ended("raised", retries=True)
        assert words(rig.ask("pause")) == ["disarm backoff", "answer 2: paused, changed, yes"]
        rig.pass_time(10_000)
        assert words(rig.ask("resume")) == ["wake backoff at 60000", "answer 3: queued, changed, yes"]
        assert words(rig.advance(49_999)) == []
        assert words(rig.advance(1)) == ["need slot 2", "launch 2"]
        assert rig.path.endswith("retry_wait paused queued starting")

    def test_a_backoff_that_ended_during_the_pause(self) -> None:
        """D9: resumed after its time, it starts at once."""
        rig = Rig(max_attempts=2, policy=Policy(delay_ms=1_000)).running()
        rig.ended("raised", retries=True)
        rig.ask("pause")
        rig.advance(5_000)
        assert "launch 2" in words(rig.ask("resume"))


class TestResumeAt:
    """P-061: a time at which it goes on by itself."""

    def paused(self, minutes: int = 30) -> Rig:
        rig = Rig().running()
        rig.ask("pause", actor="li", reason="db", resume_at=START + timedelta(minutes=minutes))
        rig.parked()
        return rig

    def test_it_goes_on_by_itself(self) -> None:
        """P-061, D43: at its time it resumes, with actor and trigger of the timer; the hold is cleared."""
        rig = self.paused()
        assert rig.machine.snapshot.resume_at == START + timedelta(minutes=30)
        assert words(rig.advance(1_799_999)) == []
        assert words(rig.advance(1)) == ["tell 1 resume"]
        assert rig.last() == "timer:resume by timer: resume_at has come"
        snapshot = rig.machine.snapshot
        assert (snapshot.held_by, snapshot.held_reason, snapshot.resume_at) == (None, None, None)

    def test_a_stop_before_it_wins(self) -> None:
        """P-061, D6: a stopped task is not resumed by an old timer."""
        rig = self.paused()
        assert "disarm resume" in words(rig.ask("stop"))
        assert words(rig.tell(inp.TimerFired("resume"))) == []
        assert rig.status == "stopping"

    def test_a_wall_clock_that_jumps_meanwhile(self) -> None:
        """D15, P-156: how long to hold is computed once; a jump of the wall clock neither hastens nor delays it."""
        rig = self.paused()
        rig.jump(-3_600_000)
        rig.ask("pause")
        assert rig.timers["resume"] == 1_800_000
        rig.jump(7_200_000)
        assert words(rig.advance(1_799_999)) == []
        assert words(rig.advance(1)) == ["tell 1 resume"]

    def test_a_time_that_is_past(self) -> None:
        """P-061: it goes on as soon as it has parked."""
        rig = self.paused(minutes=-5)
        assert rig.timers["resume"] == 0
        rig.advance(0)
        assert rig.status == "running"

    def test_held_in_the_queue_until_a_time(self) -> None:
        """D9, P-061: without a body it goes back to the queue."""
        rig = Rig(granting=False)
        rig.ask("start")
        rig.ask("pause", resume_at=START + timedelta(seconds=5))
        rig.advance(5_000)
        assert rig.path == "pending queued paused queued"


def test_an_inline_carrier_refuses_a_pause_at_once() -> None:
    """D8: what cannot park says so; the guard has a name."""
    rig = Rig(executor="inline").running()
    rig.ask("pause")
    refused = rig.answers[2]
    assert isinstance(refused, InvalidTransition)
    assert refused.guard == "cannot_pause"


def test_parking_without_a_pause_changes_nothing() -> None:
    """D8: a parking that crossed the resume is no parking."""
    rig = Rig().running()
    assert words(rig.parked()) == []
    assert rig.status == "running"
