"""The machine as its users meet it: verbs as methods, permissions with reasons, refusals that change nothing."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from typing import Any

import pytest

from chongming_spec.decide import SPEC
from chongming_spec.errors import AttemptsExhausted, ConfigurationError, InternalError, InvalidTransition
from chongming_spec.replay import replay
from chongming_spec.snapshot import Failure
from chongming_spec.states import TaskStatus
from chongming_task.core import state_machine as module
from chongming_task.core.state_machine import StateMachine
from chongming_task.models import FailureKind


def machine(*verbs: str, **values: Any) -> StateMachine:
    made = StateMachine.create("t1", "job", **values)
    for verb in verbs:
        made.apply(verb)
    return made


RUNNING = ("mark_queued", "mark_starting", "mark_running")


class TestCreation:
    """What a new task is, and what it may not be."""

    def test_a_new_task(self) -> None:
        """D5, D22: pending, version 1, nothing tried, created by its owner."""
        made = machine(max_attempts=3, tags=["io", "io"], owner="me", priority=5)
        snapshot = made.snapshot
        assert (snapshot.status, snapshot.status_version, snapshot.attempt, snapshot.max_attempts) == (
            "pending", 1, 0, 3,
        )  # fmt: skip
        assert (snapshot.tags, snapshot.owner, snapshot.priority) == (frozenset({"io"}), "me", 5)
        (record,) = made.transitions
        assert (record.from_status, record.trigger, record.actor) == (None, "user:create", "me")

    @pytest.mark.parametrize(
        ("values", "said"),
        [
            ({"max_attempts": 0}, "max_attempts must be an int of at least 1, not 0"),
            ({"max_attempts": True}, "max_attempts must be an int"),
            ({"max_attempts": 1.5}, "max_attempts must be an int"),
            ({"tags": "io"}, "tags must be a collection of str, not one str; use {'io'}"),
            ({"tags": [1]}, "every tag must be a str, not int"),
            ({"owner": "a\0"}, "owner must not contain NUL"),
            ({"now": lambda: datetime(2026, 1, 1)}, "now must return aware datetimes"),  # noqa: DTZ001
            ({"color": "red"}, "create takes no color; use bucket"),
        ],
    )
    def test_bad_values_are_named(self, values: dict[str, Any], said: str) -> None:
        """Bad input: the message names the argument and the fix."""
        with pytest.raises(ConfigurationError) as caught:
            machine(**values)
        assert said in str(caught.value)

    @pytest.mark.parametrize("task_id", ["", "  ", "\u200b", "a\0b", "a\nb", "a\u2028b", "a\r", "\udc80", 5, None])
    def test_unusable_ids(self, task_id: Any) -> None:
        """D41: an id is text that can be seen, in one line, and can be kept by every store."""
        with pytest.raises(ConfigurationError, match="task_id must"):
            StateMachine.create(task_id, "job")

    @pytest.mark.parametrize("name", ["清理", "a b", "\u202ename", "e\u0301", "💡"])
    def test_names_may_be_any_text(self, name: str) -> None:
        """D41: any Unicode but NUL and lone surrogates."""
        assert StateMachine.create("t", name).snapshot.name == name


class TestReading:
    """Snapshots, histories, permissions."""

    def test_a_snapshot_is_the_same_until_something_changes(self) -> None:
        """Reading twice costs nothing and shows the same object."""
        made = machine()
        first = made.snapshot
        assert made.snapshot is first
        made.mark_queued()
        assert made.snapshot is not first
        assert first.status == "pending"

    def test_touching_makes_no_version(self) -> None:
        """D24: progress is no part of the life cycle."""
        made = machine()
        made.touch(pid=5)
        assert (made.snapshot.pid, made.version) == (5, 1)

    def test_the_history_since_a_version(self) -> None:
        """D22: what was not sent yet can be had alone."""
        made = machine(*RUNNING)
        assert [record.version for record in made.transitions_since(2)] == [3, 4]
        assert made.transitions_since(4) == ()
        assert made.transitions[:2] == made.transitions_since(0)[:2]

    def test_records_survive_pickling(self) -> None:
        """Snapshots, records and attempts are plain values."""
        made = machine(*RUNNING)
        values = (made.snapshot, made.transitions, made.attempts)
        assert pickle.loads(pickle.dumps(values)) == values

    @pytest.mark.parametrize(
        ("target", "reason"),
        [
            ("pausing", None),
            (TaskStatus.SUCCEEDED, None),
            ("finished", "unknown"),
            ("queued", "no edge leads from running to queued; allowed now: pausing, retry_wait, stopping, succeeded"),
        ],
    )
    def test_whether_an_edge_leads_there(self, target: Any, reason: str | None) -> None:
        """D43: `can` answers yes, or no with its reason; unknown names are refused."""
        made = machine(*RUNNING)
        if reason == "unknown":
            with pytest.raises(ConfigurationError, match="unknown state 'finished'"):
                made.can(target)
            return
        permission = made.can(target)
        assert bool(permission) is (reason is None)
        assert reason is None or (permission.reason or "").startswith(reason)

    def test_an_edge_whose_guard_does_not_hold(self) -> None:
        """D1, D43: the edge is there, its guard says no, and why."""
        held = machine("mark_queued", "mark_paused")
        assert held.can("queued")
        assert not held.can("running")
        assert "not_paused_in_place: " in str(held.can("running").reason)

    def test_permissions_give_reasons(self) -> None:
        """D43: the same rows answer beforehand what a verb would be told."""
        made = machine()
        assert made.can_stop
        assert not made.can_pause
        assert "illegal transition" in str(made.can_pause.reason)
        made.stop()
        assert not made.can_stop
        assert made.can_stop.reason == "it is stopped already"
        assert made.can_retry
        assert not made.can_resume

    def test_permission_to_retry_knows_the_budget(self) -> None:
        """D5: an exhausted budget is said beforehand, with the way out."""
        made = machine(*RUNNING, "mark_failed")
        assert not made.can_retry
        assert "retry(force=True)" in str(made.can_retry.reason)

    def test_a_permission_changes_nothing(self) -> None:
        """D43: asking whether is not asking for."""
        made = machine(*RUNNING)
        before = made.snapshot
        assert made.can_stop
        assert made.can_pause
        assert made.snapshot is before


class TestRefusals:
    """D13, D39: ordinary code raises, and nothing changes."""

    @pytest.mark.parametrize("verb", [verb.name for verb in SPEC.verbs if "to" not in {p.name for p in verb.params}])
    def test_a_refused_verb_changes_nothing(self, verb: str) -> None:
        """D13: for every verb, in a state that has no use for it, the snapshot stays the very same."""
        made = machine(*RUNNING, "mark_succeeded")
        before = made.snapshot
        if SPEC.verb_of[verb].already.isdisjoint({TaskStatus.SUCCEEDED}) and verb not in ("reset", "finish"):
            with pytest.raises(InvalidTransition) as caught:
                made.step(verb, "li", "because")
            assert caught.value.current == "succeeded"
            assert made.snapshot is before
        elif verb != "finish":
            assert made.step(verb, "li", "because").changed is (verb == "reset")

    def test_a_refusal_names_its_guard(self) -> None:
        """D13: guard, sentence, where it could go, and who was asked."""
        made = machine("mark_queued", "mark_paused")
        with pytest.raises(InvalidTransition) as caught:
            made.mark_running()
        error = caught.value
        assert (error.guard, error.task_id, error.trigger) == ("not_paused_in_place", "t1", "executor:launched")
        assert error.sentence in str(error)
        assert error.allowed == SPEC.allowed(TaskStatus.PAUSED)

    def test_a_refusal_by_the_table(self) -> None:
        """D13: no row, no guard; the message says where it leads from here."""
        made = machine(*RUNNING, "mark_succeeded")
        with pytest.raises(InvalidTransition) as caught:
            made.mark_running()
        assert caught.value.guard is None
        assert str(caught.value) == (
            "illegal transition: succeeded -> running; trigger 'executor:launched'; allowed now: none (terminal state)"
        )

    def test_an_exhausted_budget(self) -> None:
        """D5: a class of its own, naming the way out."""
        made = machine(*RUNNING, "mark_failed")
        with pytest.raises(AttemptsExhausted, match=r"retry\(force=True\)"):
            made.retry()
        made.retry(force=True)
        assert (made.status, made.snapshot.max_attempts) == ("queued", 2)

    @pytest.mark.parametrize(
        ("verb", "values", "said"),
        [
            ("expode", {}, "unknown verb 'expode'"),
            ("stop", {"why": 1}, "stop takes no 'why'; it takes actor, graceful, reason, timeout"),
            ("finish", {"x": 1}, "finish takes no 'x'; it takes nothing"),
            ("force_transition", {"to": "gone", "actor": "a", "reason": "b"}, "unknown state 'gone'"),
            ("stop", {"actor": "\0"}, "actor must not contain NUL"),
            ("stop", {"reason": "\ud800"}, "reason must not contain NUL or lone surrogates"),
            ("stop", {"actor": 7}, "actor must be a str, not int"),
        ],
    )
    def test_unusable_requests(self, verb: str, values: dict[str, Any], said: str) -> None:
        """Bad input: the generic entry names the verb or parameter and what it takes."""
        made = machine()
        with pytest.raises(ConfigurationError) as caught:
            made.apply(verb, **values)
        assert said in str(caught.value)
        assert made.version == 1

    def test_only_known_things_are_watched(self) -> None:
        """A slip in our own code is met at once."""
        with pytest.raises(InternalError, match="nothing like colour is watched"):
            machine().watch(colour=1)


def test_the_generic_entry_says_whether_it_changed_anything() -> None:
    """D13, D43: True where there is a record, False where it was so already."""
    made = machine()
    assert made.apply("start", actor="li", reason="now") is True
    assert made.apply("start") is False
    assert made.transitions[-1].actor == "li"


def test_a_failure_is_kept_under_the_kind_that_was_decided() -> None:
    """D18: a kind that cannot stand there is refused, one that can is recorded."""
    made = machine(*RUNNING)
    with pytest.raises(InvalidTransition) as caught:
        made.mark_failed(failure=Failure(FailureKind.CANCELLED))
    assert caught.value.guard == "kind_unfit"
    made.mark_failed(failure=Failure(FailureKind.NONZERO_EXIT, message="exit 3", exit_code=3))
    failure = made.snapshot.failure
    assert failure is not None
    assert (failure.kind, failure.exit_code, failure.retryable) == ("nonzero_exit", 3, True)


def test_a_lost_task_always_has_a_failure() -> None:
    """Guide 9.3: without one given, one of kind `lost` says why nobody knows."""
    made = machine(*RUNNING)
    made.mark_lost(reason="the machine is gone")
    failure = made.snapshot.failure
    assert failure is not None
    assert (failure.kind, failure.message) == ("lost", "the machine is gone")
    assert made.snapshot.carrier_state == "orphaned"


def test_time_never_goes_back_in_a_history() -> None:
    """D15, P-156: a wall clock that is set back does not put a record before the one it follows."""
    times = [datetime(2026, 1, 1, 12, tzinfo=UTC)]
    made = machine(now=lambda: times[-1])
    times.append(datetime(2026, 1, 1, 11, tzinfo=UTC))
    made.mark_queued()
    made.mark_starting()
    snapshot = made.snapshot
    assert snapshot.updated_at == snapshot.created_at == snapshot.started_at
    assert replay(made.transitions).ok


def test_a_snapshot_that_cannot_be_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """D39: the check on the next snapshot is ordinary code, always on."""
    monkeypatch.setattr(module, "FAILURE_REQUIRED", frozenset({TaskStatus.RUNNING}))
    with pytest.raises(InternalError, match="would be running without"):
        machine(*RUNNING)


def test_the_second_opinion_must_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """D39: where contracts are on, the contracted decision is asked too, and a difference is a defect."""
    monkeypatch.setattr(module, "ENABLED", True)
    monkeypatch.setattr(module, "decide", lambda facts, ask: None)
    with pytest.raises(InternalError, match="the plan and the decision differ for mark_queued in pending"):
        machine("mark_queued")


def test_without_contracts_no_second_opinion_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """D39: refusals stay where contracts are off."""
    monkeypatch.setattr(module, "ENABLED", False)
    monkeypatch.setattr(module, "decide", None)
    made = machine(*RUNNING)
    with pytest.raises(InvalidTransition):
        made.mark_queued()
