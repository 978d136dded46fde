"""The supervisor on the straight road: start, confirm, end, retry, and who gets to hear of it."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest

from chongming_spec.errors import AttemptsExhausted, InvalidTransition
from chongming_spec.facts import EndingKind
from chongming_task.core import actions as act
from chongming_task.core import inputs as inp
from chongming_task.core.ports import Ending
from tests.unit.supervising import RAISED, START, Policy, Rig, saves, words


def test_a_life_from_start_to_success() -> None:
    """D5, D17: slot asked for, carrier launched, start confirmed, value recorded, slot returned."""
    rig = Rig()
    assert words(rig.ask("start")) == ["need slot 1", "answer 1: queued, changed, yes", "launch 1"]
    assert words(rig.started()) == []
    assert words(rig.ended("returned", value={"rows": 3})) == ["return slot 1", "ended returned"]
    assert rig.path == "pending queued starting running succeeded"
    assert rig.machine.snapshot.outcome == {"rows": 3}
    (attempt,) = rig.machine.attempts
    assert (attempt.attempt, attempt.disposition) == (1, "succeeded")


def test_saves_say_what_must_be_durable_first() -> None:
    """D23: creation and the start of an attempt are saved ahead, everything else behind."""
    rig = Rig()
    rig.running().ended("returned")
    assert saves(rig.log) == ["pending 1 ahead", "queued 2", "starting 3 ahead", "running 4", "succeeded 5"]


def test_only_durable_records_are_published_and_answered() -> None:
    """D13, D31: a verb is answered, and its record shown to others, once that record is durable."""
    rig = Rig(saving=False, granting=False)
    rig.tell(inp.Saved(1))
    assert words(rig.ask("start")) == ["need slot 1"]
    assert rig.answers == {}
    told = rig.tell(inp.Saved(2))
    assert words(told) == ["answer 1: queued, changed, yes"]
    (published,) = [one for one in told if isinstance(one, act.Publish)]
    assert [record.to_status for record in published.transitions] == ["queued"]


def test_each_answer_waits_for_its_own_record() -> None:
    """D13: an earlier record that became durable answers only who asked for that."""
    rig = Rig(saving=False, granting=False)
    rig.tell(inp.Saved(1))
    rig.ask("start")
    rig.ask("pause")
    assert words(rig.tell(inp.Saved(2))) == ["answer 1: queued, changed, yes"]
    assert words(rig.tell(inp.Saved(3))) == ["answer 2: paused, changed, yes"]


def test_a_later_save_covers_the_earlier_ones() -> None:
    """D31: versions that became durable together are published in order, and everybody who waited is answered."""
    rig = Rig(saving=False, granting=False)
    rig.tell(inp.Saved(1))
    rig.ask("start")
    rig.ask("pause")
    told = rig.tell(inp.Saved(3))
    assert [one.snapshot.status_version for one in told if isinstance(one, act.Publish)] == [2, 3]
    assert words(told) == ["answer 1: queued, changed, yes", "answer 2: paused, changed, yes"]


def test_a_refusal_is_answered_at_once_with_its_guard() -> None:
    """D13: a refused verb changes nothing and hands its error to who asked."""
    rig = Rig()
    assert words(rig.ask("pause")) == ["answer 1: refused None"]
    refused = rig.answers[1]
    assert isinstance(refused, InvalidTransition)
    assert refused.allowed == ("blocked", "queued", "stopped", "cancelled", "skipped")
    assert rig.path == "pending"


def test_asking_for_what_is_so_already_records_nothing() -> None:
    """D13, P-078: the second of two equal requests says changed=False and leaves no record."""
    rig = Rig()
    rig.ask("start")
    rig.ask("start")
    assert words(rig.log)[-1] == "answer 2: starting, already, no"
    rig.started()
    rig.ask("resume")
    assert words(rig.log)[-1] == "answer 3: running, already, yes"
    assert rig.path == "pending queued starting running"


def test_the_actor_is_the_owner_unless_somebody_says_who_they_are() -> None:
    """D2: a record without an actor of its own carries the owner's name."""
    rig = Rig()
    rig.ask("start")
    rig.started()
    rig.ask("stop", actor="li", reason="window")
    assert rig.last() == "user:stop by li: window"
    assert rig.machine.transitions[1].actor == "owner"


def test_a_carrier_that_ends_before_its_start_was_confirmed() -> None:
    """D8: the ending proves that the body ran, so `running` is recorded on the way, in one commit."""
    rig = Rig()
    rig.ask("start")
    told = rig.ended("returned", value=1)
    assert saves(told) == ["succeeded 5"]
    assert rig.path == "pending queued starting running succeeded"
    assert rig.machine.transitions[3].trigger == "executor:launched"


def test_news_of_another_carrier_changes_nothing() -> None:
    """D11: what a carrier says that is not the present one (and no stray) is not taken for the present one's."""
    rig = Rig().running()
    before = rig.machine.version
    assert words(rig.started(run=7)) == []
    assert words(rig.parked(run=7)) == []
    assert rig.machine.version == before


def test_a_second_confirmation_changes_nothing() -> None:
    """D8: what comes too late is not an error of anybody; the table refuses it and the task goes on."""
    rig = Rig().running()
    assert words(rig.started()) == []
    assert rig.path == "pending queued starting running"


def test_a_launch_that_fails_is_an_attempt_that_failed() -> None:
    """D5, P-097: the attempt that never got a carrier is on record, with its failure."""
    rig = Rig()
    rig.ask("start")
    rig.ended("launch_failed")
    assert rig.path == "pending queued starting failed"
    (attempt,) = rig.machine.attempts
    assert (attempt.disposition, attempt.failure) == ("failed", rig.failure)


class TestRetries:
    """Budget, backoff, and policies that misbehave."""

    def test_a_failure_waits_for_its_backoff_and_tries_again(self) -> None:
        """D17, P-088: nothing happens before the backoff is over, then a slot is asked for like at any start."""
        rig = Rig(max_attempts=2, policy=Policy(delay_ms=10_000)).running()
        assert words(rig.ended("raised", retries=True)) == ["return slot 1", "ended raised", "wake backoff at 10000"]
        assert rig.machine.snapshot.not_before == START + timedelta(seconds=10)
        assert words(rig.advance(9_999)) == []
        assert words(rig.advance(1)) == ["need slot 2", "launch 2"]
        assert rig.path == "pending queued starting running retry_wait starting"

    def test_a_backoff_counts_on_the_monotonic_clock(self) -> None:
        """D15, P-156: a wall clock set back an hour does not make a backoff longer."""
        rig = Rig(max_attempts=2, policy=Policy(delay_ms=10_000)).running()
        rig.ended("raised", retries=True)
        rig.jump(-3_600_000)
        assert words(rig.advance(10_000)) == ["need slot 2", "launch 2"]

    def test_without_a_free_slot_it_queues_and_keeps_its_place(self) -> None:
        """D17: a backoff that ends while nothing is free leads to the queue; no second slot is asked for."""
        rig = Rig(max_attempts=2, policy=Policy(delay_ms=10)).running()
        rig.granting = False
        rig.ended("raised", retries=True)
        assert words(rig.advance(10)) == ["need slot 2"]
        assert words(rig.tell(inp.SlotDenied())) == []
        assert rig.path.endswith("retry_wait queued")
        assert words(rig.granted()) == ["launch 2"]

    def test_a_denial_in_the_queue_changes_nothing(self) -> None:
        """D17: it waits in the queue already."""
        rig = Rig(granting=False)
        rig.ask("start")
        assert words(rig.tell(inp.SlotDenied())) == []
        assert rig.path == "pending queued"

    def test_the_budget_ends_it(self) -> None:
        """D5, P-096: the last attempt that is allowed fails for good, whatever the policy says."""
        rig = Rig(max_attempts=2).running()
        rig.ended("raised", retries=True)
        rig.started()
        rig.ended("raised", retries=True)
        assert rig.path.endswith("retry_wait starting running failed")
        assert [one.attempt for one in rig.machine.attempts] == [1, 2]

    def test_what_the_policy_gives_up_on_is_not_tried_again(self) -> None:
        """D18: the answer came with the ending, from where the exception object was."""
        rig = Rig(max_attempts=5).running()
        rig.ended("raised", retries=False)
        assert rig.path.endswith("running failed")

    def test_a_backoff_that_raises_gives_up_and_says_so(self) -> None:
        """D18: a raising backoff cannot keep a task alive; the failure names it."""
        rig = Rig(max_attempts=3, policy=Policy(delay_ms=KeyError("no"))).running()
        rig.ended("raised", retries=True)
        assert rig.path.endswith("running failed")
        assert rig.failure.message == "boom (the backoff raised KeyError)"

    def test_a_backoff_that_raises_where_no_failure_came_along(self) -> None:
        """D18: a failure is made up from the note alone."""
        rig = Rig(max_attempts=3, policy=Policy(delay_ms=KeyError("no"))).running()
        rig.tell(inp.Exited(1, Ending(EndingKind.DIED, retries=True)))
        assert rig.failure.message == "the backoff raised KeyError"

    def test_a_negative_backoff_is_none(self) -> None:
        """D15: a policy of a stranger cannot put the next attempt into the past."""
        rig = Rig(max_attempts=2, policy=Policy(delay_ms=-5)).running()
        rig.granting = False
        rig.ended("raised", retries=True)
        assert rig.machine.snapshot.not_before == START
        assert rig.granted()
        assert rig.path.endswith("retry_wait starting")

    def test_each_attempt_has_its_own_time(self) -> None:
        """D4, D14: what the first attempt used up is not taken from the second."""
        rig = Rig(max_attempts=2, attempt=1_000).running()
        rig.advance(900)
        rig.ended("raised", retries=True)
        rig.started()
        assert words(rig.advance(999)) == []
        assert words(rig.advance(1))[0] == "tell 2 stop"

    def test_a_budget_that_shrank_in_the_queue(self) -> None:
        """D1, D5: granted a slot without an attempt left, it fails as exhausted and gives the slot back."""
        rig = Rig(max_attempts=2, policy=Policy(delay_ms=10)).running()
        rig.granting = False
        rig.ended("raised", retries=True)
        rig.machine.watch(lease_over=True)
        rig.tell(inp.Asked("adopt", "li", "node is gone", {"owner": "other", "declared_attempts": 1}))
        rig.advance(10)
        assert words(rig.granted()) == ["return slot 2"]
        assert rig.path.endswith("running retry_wait retry_wait failed")
        assert rig.failure.kind == "attempts_exhausted"

    def test_a_person_revives_what_failed(self) -> None:
        """D5: an exhausted budget is refused by name; with force one attempt more is allowed and recorded."""
        rig = Rig().running()
        rig.ended("raised", retries=True)
        rig.ask("retry")
        assert isinstance(rig.answers[2], AttemptsExhausted)
        assert saves(rig.ask("retry", force=True)) == ["queued 6 ahead", "starting 7 ahead"]
        assert (rig.machine.snapshot.max_attempts, rig.machine.snapshot.epoch) == (2, 2)
        rig.started()
        rig.ended("returned")
        assert rig.path.endswith("failed queued starting running succeeded")

    def test_no_ending_leaves_jitter_outside_its_range(self) -> None:
        """The supervisor hands its own random source to the policy, so a run can be repeated."""
        seen: list[random.Random] = []

        class Nosy(Policy):
            def delay_ms(self, attempt: int, rng: random.Random) -> int:
                seen.append(rng)
                return attempt

        rig = Rig(max_attempts=2, policy=Nosy()).running()
        rig.ended("raised", retries=True)
        assert seen[0].random() == random.Random(1).random()


def test_a_defect_ends_as_lost_and_leaves_nothing_armed() -> None:
    """D18: where the supervisor itself breaks, nobody can know what the task does; it is lost, and named so."""
    rig = Rig(attempt=5_000).running()
    rig.ask("pause")
    told = rig.absorb(rig.supervisor.give_up(RuntimeError("oops"), rig.now))
    assert words(told) == ["disarm attempt", "disarm pause:2", "answer 2: lost, changed, no"]
    assert rig.status == "lost"
    assert (rig.failure.cause, rig.timers) == ("supervisor_error", {})
    assert "RuntimeError" in rig.failure.message


def test_a_defect_after_the_end_changes_nothing() -> None:
    """D18: what is over stays as it was recorded."""
    rig = Rig().running()
    rig.ended("returned")
    rig.absorb(rig.supervisor.give_up(RuntimeError("oops"), rig.now))
    assert rig.status == "succeeded"


def test_a_carrier_that_outlives_a_defect_still_returns_its_slot() -> None:
    """D17, D18: the task is lost and nobody watches the carrier; its slot comes back with its exit all the same."""
    rig = Rig().running()
    rig.absorb(rig.supervisor.give_up(RuntimeError("oops"), rig.now))
    assert words(rig.ended("returned")) == ["return slot 1"]
    assert rig.status == "lost"


def test_what_it_does_not_know_changes_nothing() -> None:
    """D18: an input from a newer world is no reason to break."""
    rig = Rig().running()
    assert words(rig.tell("hello")) == []  # type: ignore[arg-type]
    assert rig.status == "running"


def test_when_the_time_of_the_attempt_will_be_over() -> None:
    """D15: computed from what is left, so a pause moves it; None without a limit."""
    rig = Rig(attempt=5_000).running()
    rig.pass_time(1_000)
    assert rig.supervisor.attempt_ends_at(rig.now) == START + timedelta(seconds=5)
    rig.ask("pause")
    rig.parked()
    rig.pass_time(60_000)
    assert rig.supervisor.attempt_ends_at(rig.now) == START + timedelta(seconds=65)
    assert Rig().supervisor.attempt_ends_at(rig.now) is None


def test_actions_are_data() -> None:
    """P-128: the machine hands out values; nothing in them is shared with what it does next."""
    rig = Rig()
    assert rig.supervisor.machine is rig.machine
    (save,) = [one for one in rig.log if isinstance(one, act.Save)]
    rig.running()
    assert (save.snapshot.status, save.ahead) == ("pending", True)


@pytest.mark.parametrize("kind", [kind for kind in EndingKind if kind is not EndingKind.WITHDRAWN])
def test_every_ending_of_a_running_body_ends_the_attempt(kind: EndingKind) -> None:
    """D18: whatever a carrier reports, an attempt that runs is over, its slot returned and its record closed."""
    rig = Rig().running()
    told = rig.tell(inp.Exited(1, Ending(kind, failure=None if kind is EndingKind.RETURNED else RAISED)))
    assert words(told)[0] == "return slot 1"
    assert rig.machine.snapshot.is_terminal
    assert rig.machine.attempts[0].disposition is not None
