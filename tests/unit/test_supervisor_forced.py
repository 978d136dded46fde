"""A person's word over a living carrier, what comes late, and a retry beside what may still run."""

from __future__ import annotations

import pytest

from chongming_spec.errors import CarrierStillRunning
from chongming_task.core import inputs as inp
from tests.unit.supervising import Policy, Rig, words

FORCE = {"actor": "li", "reason": "seen by hand"}


def forced(executor: str = "thread", to: str = "succeeded") -> Rig:
    rig = Rig(executor=executor, max_attempts=3).running()
    rig.told = words(rig.ask("force_transition", to=to, **FORCE))  # type: ignore[attr-defined]
    return rig


def test_forcing_fences_the_carrier_and_asks_it_to_end() -> None:
    """D11: a new epoch, the token stopped, the stop window open; the slot stays with the carrier."""
    rig = forced()
    assert rig.told == [  # type: ignore[attr-defined]
        "tell 1 stop",
        "abandon 1",
        "wake window at 10000",
        "answer 2: succeeded, changed, yes",
    ]
    snapshot = rig.machine.snapshot
    assert (snapshot.overridden, snapshot.epoch, snapshot.carrier_state) == (True, 2, "abandoned")
    assert rig.machine.attempts[0].disposition == "orphaned"
    assert rig.last() == "admin:force by li: seen by hand"


@pytest.mark.parametrize(("to", "kind"), [("failed", "overridden"), ("lost", "lost"), ("stopped", None)])
def test_the_failure_of_a_forced_end(to: str, kind: str | None) -> None:
    """D11: a forced FAILED is `overridden`, a forced LOST keeps `lost`, others have none."""
    failure = forced(to=to).machine.snapshot.failure
    assert (None if failure is None else failure.kind) == kind


def test_what_a_fenced_body_brings_home_is_only_noted() -> None:
    """D11, P-007: it cannot overwrite the word of a person; its slot comes back, its window closes."""
    rig = forced(to="failed")
    assert words(rig.ended("returned", run=1, value=9)) == ["return slot 1", "disarm window"]
    assert rig.status == "failed"
    assert rig.machine.attempts[0].late_result == "The body returned valid JSON."
    assert rig.machine.snapshot.carrier_state == "none"


def test_a_fenced_thread_that_ignores_its_window() -> None:
    """D11: it counts as a zombie; nothing more can be done and nothing more is recorded."""
    rig = forced()
    version = rig.machine.version
    assert words(rig.advance(10_000)) == []
    assert (rig.machine.version, rig.supervisor.strays) == (version, 1)


def test_a_fenced_process_is_killed() -> None:
    """D11: its window over, it is killed like after a stop."""
    rig = forced("process")
    assert words(rig.advance(10_000)) == ["kill 1", "wake window at 15000"]
    assert words(rig.ended("killed", run=1)) == ["return slot 1", "disarm window"]


def test_a_fenced_process_that_survives_its_kill() -> None:
    """D6, D11: tried once; the task is over already, and the carrier is kept in the books."""
    rig = forced("process")
    assert words(rig.advance(15_000)) == ["kill 1", "wake window at 15000"]
    assert rig.supervisor.strays == 1


def test_forcing_while_the_launch_waits_for_its_record() -> None:
    """D11, D23: no carrier exists, so none is told; nothing is launched afterwards."""
    rig = Rig(saving=False, granting=False)
    rig.tell(inp.Saved(1))
    rig.ask("start")
    rig.tell(inp.Saved(2))
    rig.granted()
    rig.ask("force_transition", to="stopped", **FORCE)
    rig.saving = True
    told = words(rig.tell(inp.Saved(3)))
    assert told == ["return slot 1", "answer 2: stopped, changed, yes"]
    assert rig.supervisor.strays == 0


def test_forcing_a_second_time_over_a_zombie() -> None:
    """D2, D11: terminal to another terminal state, with a carrier that still lives: it stays in the books."""
    rig = forced()
    rig.advance(10_000)
    rig.ask("force_transition", to="failed", **FORCE)
    assert (rig.status, rig.machine.snapshot.epoch, rig.supervisor.strays) == ("failed", 3, 1)
    assert words(rig.ended("cancelled", run=1)) == ["return slot 1"]


class TestBesideAStray:
    """D10: what may still be at work is not run twice, unless a person says so on the record."""

    def lost(self, executor: str = "thread") -> Rig:
        rig = Rig(executor=executor, max_attempts=3).running()
        rig.ask("stop")
        rig.advance(20_000)
        assert rig.status == "lost"
        return rig

    @pytest.mark.parametrize("verb", ["retry", "reset"])
    def test_it_is_refused(self, verb: str) -> None:
        """D10, P-095: the refusal names what may still run; force of a retry lifts only the budget."""
        rig = self.lost()
        rig.ask(verb, **FORCE, **({"force": True} if verb == "retry" else {}))
        refused = rig.answers[3]
        assert isinstance(refused, CarrierStillRunning)
        assert refused.guard == "carrier_still_running"

    def test_alongside_says_so(self) -> None:
        """D10: a second carrier beside the first; each has its own slot and each returns its own."""
        rig = self.lost()
        assert "launch 2" in words(rig.ask("retry", alongside=True))
        rig.started()
        assert words(rig.ended("returned", run=1)) == ["return slot 1"]
        assert rig.status == "running"
        assert rig.machine.attempts[0].late_result is not None
        assert words(rig.ended("returned", run=2)) == ["return slot 2", "ended returned"]
        assert rig.status == "succeeded"

    def test_the_row_remembers_a_stray_until_it_is_gone(self) -> None:
        """D10: while the new attempt runs, and after it has ended, the old carrier still stands in the row."""
        rig = self.lost()
        rig.ask("retry", alongside=True)
        rig.started()
        assert rig.machine.snapshot.carrier_state == "abandoned"
        rig.ended("raised", run=2)
        assert rig.machine.snapshot.carrier_state == "abandoned"
        rig.ask("retry", force=True)
        assert isinstance(rig.answers[4], CarrierStillRunning)
        rig.ended("cancelled", run=1)
        assert rig.machine.snapshot.carrier_state == "none"
        assert "launch 3" in words(rig.ask("retry", force=True))

    def test_two_strays_at_once(self) -> None:
        """D10, D17: the row says so until the last of them is gone."""
        rig = self.lost()
        rig.ask("retry", alongside=True)
        rig.started()
        rig.ask("stop")
        rig.advance(10_000)
        assert rig.supervisor.strays == 2
        rig.ended("cancelled", run=2)
        assert rig.machine.snapshot.carrier_state == "abandoned"
        rig.ended("cancelled", run=1)
        assert rig.machine.snapshot.carrier_state == "none"

    def test_after_a_stray_is_gone_a_retry_is_plain(self) -> None:
        """D10: nothing is in the way any more."""
        rig = self.lost()
        rig.ended("cancelled", run=1)
        rig.ask("retry")
        assert rig.path.endswith("lost queued starting")

    def test_a_window_that_outlives_its_attempt(self) -> None:
        """D11: forced and retried beside it, the old process is still killed when its window ends."""
        rig = forced("process", to="failed")
        rig.ask("retry", alongside=True)
        rig.started()
        assert words(rig.advance(10_000)) == ["kill 1"]
        assert rig.status == "running"
        assert rig.machine.transitions[-1].to_status == "running"

    def test_a_window_of_a_thread_that_outlives_its_attempt(self) -> None:
        """D11: nothing can be killed, and the attempt beside it is not touched."""
        rig = forced("thread", to="failed")
        rig.ask("retry", alongside=True)
        rig.started()
        assert words(rig.advance(10_000)) == []
        assert rig.status == "running"


def test_a_reset_keeps_the_history() -> None:
    """D12: a new generation with the declared budget; no record and no attempt is lost."""
    rig = Rig(max_attempts=1, policy=Policy()).running()
    rig.ended("raised")
    rig.ask("retry", force=True)
    rig.started()
    rig.ended("raised", retries=True)
    records, attempts = rig.machine.version, rig.machine.attempts
    rig.ask("reset", **FORCE)
    snapshot = rig.machine.snapshot
    assert (snapshot.generation, snapshot.attempt, snapshot.max_attempts) == (2, 0, 1)
    assert rig.machine.version == records + 1
    assert rig.machine.attempts == attempts


@pytest.mark.parametrize("verb", ["force_transition", "reset"])
@pytest.mark.parametrize("blank", [None, "", "  \t", "\u200b\u2060", "\u3164"])
@pytest.mark.parametrize("which", ["actor", "reason"])
def test_overrides_demand_a_name_and_a_reason(verb: str, blank: str | None, which: str) -> None:
    """D2, P-098: what can be seen of them must not be empty."""
    rig = Rig().running()
    rig.ended("raised")
    values = {**FORCE, which: blank, **({"to": "succeeded"} if verb == "force_transition" else {})}
    rig.ask(verb, **values)
    assert getattr(rig.answers[2], "guard", None) == f"{which}_missing"
    assert rig.status == "failed"


@pytest.mark.parametrize(("to", "guard"), [("running", "target_not_terminal"), ("failed", "target_is_current")])
def test_where_force_may_not_lead(to: str, guard: str) -> None:
    """D2: never to a live state, never to the present one."""
    rig = Rig().running()
    rig.ended("raised")
    rig.ask("force_transition", to=to, **FORCE)
    assert getattr(rig.answers[2], "guard", None) == guard
