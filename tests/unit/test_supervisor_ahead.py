"""While a record must be durable first (D23), everything else waits; what was asked meanwhile is done in order."""

from __future__ import annotations

import pytest

from chongming_task.core import inputs as inp
from tests.unit.supervising import Policy, Rig, saves, words


def held() -> Rig:
    """A task whose `starting` (version 3) is not durable yet."""
    rig = Rig(saving=False, granting=False, max_attempts=2)
    rig.tell(inp.Saved(1))
    rig.ask("start")
    rig.tell(inp.Saved(2))
    assert words(rig.granted()) == []
    return rig


def test_nothing_is_launched_before_the_start_is_durable() -> None:
    """D23: an attempt whose record is lost must never have run."""
    rig = held()
    assert words(rig.tell(inp.Saved(3))) == ["launch 1"]


def test_an_older_record_does_not_release_what_waits() -> None:
    """D23: only the very version that was saved ahead opens the door."""
    rig = Rig(saving=False, granting=False)
    rig.ask("start")
    rig.tell(inp.Saved(0))
    assert rig.path == "pending"
    rig.tell(inp.Saved(1))
    assert rig.path == "pending queued"


def test_a_creation_that_is_not_durable_holds_everything_back() -> None:
    """D22, D23: the first verb waits for the creation."""
    rig = Rig(saving=False)
    assert words(rig.ask("start")) == []
    assert rig.path == "pending"
    assert words(rig.tell(inp.Saved(1))) == ["need slot 1"]


@pytest.mark.parametrize(("verb", "end"), [("stop", "stopped"), ("cancel", "cancelled")])
def test_a_request_that_comes_meanwhile_withdraws_the_launch(verb: str, end: str) -> None:
    """D6, D7: what finds the launch not performed ends the task without one, and the slot is returned once."""
    rig = held()
    assert words(rig.ask(verb)) == []
    rig.saving = True
    told = rig.tell(inp.Saved(3))
    assert [word for word in words(told) if "slot" in word or "launch" in word] == ["return slot 1"]
    assert rig.path.startswith("pending queued starting")
    assert rig.path.endswith(end)
    assert words(rig.log).count("return slot 1") == 1


def test_a_verdict_that_comes_meanwhile_withdraws_the_launch() -> None:
    """D6, D14: the start timeout passes before the launch; the attempt fails without a carrier and is retried."""
    rig = Rig(saving=False, granting=False, max_attempts=2, start=1_000, policy=Policy(delay_ms=50))
    rig.tell(inp.Saved(1))
    rig.ask("start")
    rig.tell(inp.Saved(2))
    rig.granted()
    rig.advance(1_000)
    rig.saving = True
    told = words(rig.tell(inp.Saved(3)))
    assert "launch 1" not in told
    assert told.count("return slot 1") == 1
    assert rig.path == "pending queued starting retry_wait"
    assert rig.failure.kind == "timeout_start"
    assert rig.machine.attempts[0].late_result is None


def test_what_waited_is_done_in_order() -> None:
    """D23: a pause and a resume asked one after the other leave the task as if nobody had asked."""
    rig = held()
    rig.ask("pause")
    rig.ask("resume")
    told = rig.tell(inp.Saved(3))
    assert words(told) == ["wake pause:2 at 10000", "launch 1", "tell 1 pause"]
    rig.saving = True
    rig.tell(inp.Saved(4))
    rig.started()
    assert rig.path == "pending queued starting pausing running"
    assert rig.last().startswith("runtime:pause_aborted")


def test_what_waits_may_itself_have_to_be_durable_first() -> None:
    """D23: the catching up halts at the next record that is saved ahead, and goes on after it."""
    rig = Rig(saving=False, granting=False).running_to_failure()
    rig.ask("retry", force=True)
    rig.ask("force_transition", to="stopped", actor="li", reason="enough")
    rig.ask("reset", actor="li", reason="again")
    assert rig.path.endswith("failed queued")
    assert saves(rig.tell(inp.Saved(6))) == ["stopped 7 ahead"]
    assert saves(rig.tell(inp.Saved(7))) == ["pending 8 ahead"]
    rig.tell(inp.Saved(8))
    assert sorted(rig.answers) == [1, 2, 3, 4]


def test_a_pause_before_the_launch_is_told_at_the_launch() -> None:
    """D8: the launch is performed all the same, and the body parks at its first checkpoint."""
    rig = held()
    rig.ask("pause")
    rig.saving = True
    told = words(rig.tell(inp.Saved(3)))
    assert told == ["wake pause:2 at 10000", "launch 1", "tell 1 pause"]
    rig.started()
    rig.parked()
    assert rig.path == "pending queued starting pausing paused"
