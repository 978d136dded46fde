"""Grace windows: what a body gets that is asked to end, and what may be said of one that ignores it."""

from __future__ import annotations

import pytest

from chongming_task.core import inputs as inp
from tests.unit.supervising import Policy, Rig, words


def test_a_stop_opens_a_window() -> None:
    """D6, D16: the request is recorded, the body told, the verb answered; the ending is in the carrier's hands."""
    rig = Rig().running()
    told = words(rig.ask("stop", actor="li", reason="release"))
    assert told == ["tell 1 stop", "wake window at 10000", "answer 2: stopping, changed, yes"]
    assert words(rig.ended("cancelled")) == ["return slot 1", "ended cancelled", "disarm window"]
    assert rig.path == "pending queued starting running stopping stopped"
    assert rig.last() == "executor:cancelled by owner: stop by li: release"


@pytest.mark.parametrize(
    ("kind", "stop", "cancel"),
    [
        ("cancelled", "stopped", "cancelled"),
        ("returned", "succeeded", "succeeded"),
        ("raised", "failed", "failed"),
        ("invalid", "failed", "failed"),
        ("died", "failed", "failed"),
        ("killed", "stopped", "cancelled"),
        ("launch_failed", "stopped", "cancelled"),
    ],
)
def test_how_a_body_that_was_asked_to_end_may_end(kind: str, stop: str, cancel: str) -> None:
    """D6, D7: a request is no verdict: a value counts, an error counts, the rest honours what was asked."""
    for verb, end in (("stop", stop), ("cancel", cancel)):
        rig = Rig(max_attempts=3).running()
        rig.ask(verb)
        rig.ended(kind, retries=True)
        assert rig.path == f"pending queued starting running stopping {end}"


def test_a_thread_that_ignores_its_window_is_lost() -> None:
    """D6, P-004: nobody can end it, so nobody says that it ended; it is abandoned and its slot kept."""
    rig = Rig().running()
    rig.ask("stop", actor="li")
    assert words(rig.advance(10_000)) == ["abandon 1"]
    assert rig.path.endswith("stopping lost")
    assert rig.failure.kind == "lost"
    assert rig.failure.cause is None
    assert "stop by li" in rig.failure.message
    assert rig.last() == "timer:window by owner: stop by li"
    assert (rig.supervisor.strays, rig.machine.snapshot.carrier_state) == (1, "abandoned")


def test_a_late_result_is_only_noted() -> None:
    """D5, D17, P-007: it changes no status; the slot comes back with the exit, and the row says that it is gone."""
    rig = Rig().running()
    rig.ask("stop")
    rig.advance(10_000)
    version = rig.machine.version
    assert words(rig.ended("returned", run=1, value=5)) == ["return slot 1"]
    snapshot = rig.machine.snapshot
    assert (snapshot.status, snapshot.outcome, snapshot.carrier_state) == ("lost", None, "none")
    assert rig.machine.version == version
    assert rig.machine.attempts[0].late_result == "The body returned valid JSON."
    assert rig.supervisor.strays == 0


class TestShortening:
    """D6, D16: a second request can only shorten the window, and the ending says who did."""

    def test_a_shorter_window_is_named(self) -> None:
        """D6: who shortened it stands in the reason of the ending."""
        rig = Rig().running()
        rig.ask("stop", actor="li", reason="release")
        assert words(rig.ask("stop", actor="wang", reason="now", timeout=1)) == [
            "answer 3: stopping, already, yes",
            "wake window at 1000",
        ]
        rig.advance(1_000)
        assert rig.last() == "timer:window by owner: stop by li: release; window shortened: stop by wang: now"

    def test_a_longer_one_changes_nothing(self) -> None:
        """D6: nobody gets more time by asking again."""
        rig = Rig().running()
        rig.ask("stop", timeout=2)
        assert words(rig.ask("stop", timeout=5)) == ["answer 3: stopping, already, yes"]
        assert rig.timers["window"] == 2_000

    def test_without_a_time_it_changes_nothing(self) -> None:
        """D13: asking once more is no error."""
        rig = Rig().running()
        rig.ask("stop")
        assert words(rig.ask("stop")) == ["answer 3: stopping, already, yes"]

    def test_not_graceful_is_a_window_of_nothing(self) -> None:
        """D6, P-053: graceful=False closes the window at once."""
        rig = Rig().running()
        rig.ask("stop")
        assert words(rig.ask("stop", graceful=False))[-1] == "wake window at 0"
        rig.advance(0)
        assert rig.status == "lost"

    def test_the_declared_grace_is_the_longest(self) -> None:
        """D16: `timeout` of a stop can only shorten what was declared."""
        rig = Rig(grace_ms=3_000).running()
        rig.ask("stop", timeout=60)
        assert rig.timers["window"] == 3_000

    def test_a_cancel_shortens_the_window_of_a_stop_and_changes_nothing_else(self) -> None:
        """D7: the first of the two wins; inside STOPPING nothing changes what was asked."""
        rig = Rig().running()
        rig.ask("stop", actor="li")
        rig.ask("cancel", actor="plan", timeout=1)
        rig.ended("cancelled")
        assert rig.path.endswith("stopping stopped")
        assert rig.last() == "executor:cancelled by owner: stop by li; window shortened: cancel by plan"


def test_a_parked_body_that_is_stopped() -> None:
    """D1, D3, D6: it holds a carrier, so it is asked to end like one that runs."""
    rig = Rig().running()
    rig.ask("pause")
    rig.parked()
    assert words(rig.ask("stop")) == ["tell 1 stop", "wake window at 10000", "answer 3: stopping, changed, yes"]
    rig.ended("cancelled")
    assert rig.path.endswith("pausing paused stopping stopped")


@pytest.mark.parametrize("verb", ["stop", "cancel"])
def test_what_holds_nothing_ends_at_once(verb: str) -> None:
    """D3, D6, D7, P-002, P-011, P-093: no window, no in-between state, no timer left, no body run."""
    end = {"stop": "stopped", "cancel": "cancelled"}[verb]
    pending = Rig()
    queued = Rig(granting=False)
    queued.ask("start")
    held = Rig(granting=False)
    held.ask("start")
    held.ask("pause")
    waiting = Rig(max_attempts=2, policy=Policy(delay_ms=3_600_000)).running()
    waiting.ended("raised", retries=True)
    for rig in (pending, queued, held, waiting):
        before = rig.path
        rig.ask(verb, reason="no more")
        assert rig.path == f"{before} {end}"
        assert rig.last() == f"user:{verb} by owner: no more"
        assert rig.timers == {}
        assert words(rig.advance(7_200_000)) == []


class TestKilling:
    """D6: what can be killed is killed after its window, and only a kill that fails leaves it lost."""

    def killed(self, verb: str = "stop") -> Rig:
        rig = Rig(executor="process", max_attempts=2).running()
        rig.ask(verb)
        assert words(rig.advance(10_000)) == ["kill 1", "wake window at 15000"]
        assert rig.status == "stopping"
        return rig

    @pytest.mark.parametrize(("verb", "end"), [("stop", "stopped"), ("cancel", "cancelled")])
    def test_a_kill_ends_as_asked(self, verb: str, end: str) -> None:
        """D6, D7: killed because it was asked to end, it ended as asked."""
        rig = self.killed(verb)
        assert words(rig.ended("killed")) == ["return slot 1", "ended killed", "disarm window"]
        assert rig.path.endswith(f"stopping {end}")

    def test_a_value_that_was_there_before_the_kill_counts(self) -> None:
        """D6: an outcome that is complete is what the body returned."""
        rig = self.killed()
        rig.ended("returned", value=1)
        assert rig.path.endswith("stopping succeeded")

    def test_a_kill_that_fails_leaves_it_lost(self) -> None:
        """D6, P-013: nobody says stopped of something that is still there."""
        rig = self.killed()
        assert words(rig.advance(5_000)) == ["abandon 1"]
        assert rig.path.endswith("stopping lost")


class TestTimeouts:
    """D14: a timeout is a verdict; the body gets a window, and every exit is decided by it."""

    def late(self, **values: object) -> Rig:
        rig = Rig(attempt=1_000, **values).running()  # type: ignore[arg-type]
        assert words(rig.advance(1_000)) == ["tell 1 stop", "wake window at 11000"]
        assert rig.status == "running"
        return rig

    @pytest.mark.parametrize("kind", ["returned", "cancelled", "raised", "invalid", "died", "killed"])
    def test_every_exit_is_decided_by_the_verdict(self, kind: str) -> None:
        """D14: whatever it did, it was too late; what it did is kept beside the attempt."""
        rig = self.late()
        rig.policy.answer = False
        rig.ended(kind, retries=True)
        assert rig.path.endswith("running failed")
        assert rig.failure.kind == "timeout_attempt"
        assert rig.machine.attempts[0].late_result is not None
        assert "the per_attempt timeout of 1 s passed" in rig.failure.message

    def test_the_policy_is_asked_about_the_timeout(self) -> None:
        """D14: not about what the body raised meanwhile."""
        rig = self.late(max_attempts=2)
        rig.ended("cancelled")
        assert rig.path.endswith("running retry_wait starting")
        (error,) = rig.policy.asked_about
        assert (type(error).__name__, error.__dict__["scope"]) == ("TaskTimeout", "attempt")

    def test_a_policy_that_raises_does_not_retry(self) -> None:
        """D18: its error is noted, the timeout stands."""
        rig = self.late(max_attempts=2, policy=Policy(retries=OSError("db")))
        rig.ended("cancelled")
        assert rig.path.endswith("running failed")
        assert rig.failure.message.endswith("(the retry policy raised OSError)")

    def test_a_thread_that_ignores_the_window(self) -> None:
        """D14, P-080: lost, and the cause names the timeout."""
        rig = self.late()
        assert words(rig.advance(10_000)) == ["abandon 1"]
        assert rig.path.endswith("running lost")
        assert (rig.failure.kind, rig.failure.cause) == ("lost", "timeout_attempt")

    def test_a_process_is_killed_and_retried(self) -> None:
        """D14, P-081: killed after its window, it failed by the timeout, and may be tried again."""
        rig = self.late(executor="process", max_attempts=2)
        assert words(rig.advance(10_000)) == ["kill 1", "wake window at 16000"]
        rig.ended("killed")
        assert rig.path.endswith("running retry_wait starting")
        assert rig.machine.attempts[0].failure is not None
        assert rig.machine.attempts[0].failure.kind == "timeout_attempt"

    @pytest.mark.parametrize(
        ("kind", "end"),
        [("returned", "stopped"), ("invalid", "stopped"), ("cancelled", "stopped"), ("raised", "failed")],
    )
    def test_a_stop_after_a_verdict(self, kind: str, end: str) -> None:
        """D14: the verdict takes success away and no more; what a person asked decides."""
        rig = self.late(max_attempts=3)
        rig.ask("stop", actor="li")
        rig.ended(kind, retries=True)
        assert rig.path.endswith(f"running stopping {end}")

    def test_a_pause_after_a_verdict_is_refused(self) -> None:
        """D14: stop and cancel come before a timeout, a timeout before a pause."""
        rig = self.late()
        assert words(rig.ask("pause")) == ["answer 2: refused timed_out"]

    def test_a_verdict_while_pausing(self) -> None:
        """D14, D15: the body that does not park has its time go on; a parking after the verdict is none."""
        rig = Rig(attempt=1_000).running()
        rig.ask("pause", timeout=5)
        assert "tell 1 stop" in words(rig.advance(1_000))
        assert words(rig.parked()) == []
        rig.ended("cancelled")
        assert rig.path.endswith("running pausing failed")

    def test_a_start_that_takes_too_long_in_the_queue(self) -> None:
        """D1, D15, P-084: it fails straight from the queue; no slot is taken, no attempt counted."""
        rig = Rig(granting=False, start=5_000)
        rig.ask("start")
        assert words(rig.advance(5_000)) == ["return slot 1"]
        assert rig.path == "pending queued failed"
        assert (rig.failure.kind, rig.machine.attempts) == ("timeout_start", ())

    def test_a_carrier_that_is_never_confirmed(self) -> None:
        """D14, D15: the start counts until it is confirmed; late confirmation makes it run, the verdict stays."""
        rig = Rig(start=5_000)
        rig.ask("start")
        assert words(rig.advance(5_000)) == ["tell 1 stop", "wake window at 15000"]
        rig.started()
        assert rig.status == "running"
        rig.ended("cancelled")
        assert rig.path.endswith("starting running failed")
        assert rig.failure.kind == "timeout_start"

    def test_a_withdrawn_launch_after_a_verdict_has_no_late_result(self) -> None:
        """D6, D14: nothing ran, so nothing came late."""
        rig = Rig(start=5_000)
        rig.ask("start")
        rig.advance(5_000)
        rig.ended("withdrawn")
        assert rig.path.endswith("starting failed")
        assert rig.machine.attempts[0].late_result is None

    def test_the_first_verdict_stands(self) -> None:
        """D14: a second timeout cannot change what was decided."""
        rig = Rig(attempt=1_000, idle=1_000).running()
        rig.advance(1_000)
        verdict = rig.machine.facts.verdict
        rig.tell(inp.TimerFired("idle"))
        rig.tell(inp.TimerFired("attempt"))
        assert rig.machine.facts.verdict == verdict


class TestSilence:
    """D16: the counter of checkpoints is sampled."""

    def test_a_body_that_beats_is_not_silent(self) -> None:
        """D16, P-086: as long as the count moves between two looks, nothing passes."""
        rig = Rig(idle=1_000).running()
        for count in range(1, 40):
            rig.advance(250, beats=(count, None))
        assert rig.status == "running"

    def test_a_silence_is_seen_within_a_quarter_more(self) -> None:
        """D16: at the latest 1.25 times the limit after the last sign of life."""
        rig = Rig(idle=1_000).running()
        rig.advance(250, beats=(1, None))
        rig.advance(1_000, beats=(1, None))
        assert rig.machine.facts.verdict == "idle"

    def test_an_exact_beat_counts_from_its_own_time(self) -> None:
        """D16: a beat is stamped by the body, not by the look that saw it."""
        rig = Rig(idle=1_000).running()
        rig.advance(250, beats=(0, 100))
        assert rig.timers["idle"] <= 500
        rig.advance(850, beats=(0, 100))
        assert rig.machine.facts.verdict == "idle"
        assert rig.now.mono_ms == 1_100
