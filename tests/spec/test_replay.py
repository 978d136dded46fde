"""A history is judged from its records alone: what the machine writes passes, each kind of damage is found."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from typing import Any

import attrs
import pytest

from chongming_spec.decide import SPEC, Lifecycle
from chongming_spec.errors import ConfigurationError, InvalidTransition
from chongming_spec.facts import CarrierView, Deadline, EndingKind, Requested
from chongming_spec.failures import FailureKind
from chongming_spec.replay import CHECKS, Replay, findings_between, is_out_of_band, replay
from chongming_spec.snapshot import Failure, Transition
from chongming_spec.states import TERMINAL, TaskStatus
from chongming_spec.transitions import Edge, OutOfBand
from chongming_task.core.state_machine import StateMachine

S = TaskStatus
START = datetime(2026, 1, 1, tzinfo=UTC)
SEEDS = range(20)
NAMES = [verb.name for verb in SPEC.verbs]
WEIGHTS = dict.fromkeys(("start", "retry", "reset", "mark_starting", "mark_running", "pause", "mark_paused"), 16)
WEIGHTS |= dict.fromkeys(("force_transition", "skip", "mark_skipped", "adopt"), 1)
History = tuple[Transition, ...]


class Ticks:
    """A clock that moves a second at each look."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> datetime:
        self.count += 1
        return START + timedelta(seconds=self.count)


def machine(max_attempts: int = 2) -> StateMachine:
    return StateMachine.create("t", "t", max_attempts=max_attempts, owner="o", now=Ticks())


def long_life() -> History:
    """A life with a pause in place, a retry, a stop, a revival beyond the budget, a reset, a loss and an override."""
    m = machine()
    m.start()
    m.mark_starting(executor="thread")
    m.mark_running()
    m.pause()
    m.mark_paused()
    m.resume(actor="ann")
    m.mark_retry_wait(reason="raised")
    m.mark_starting()
    m.mark_running()
    m.stop(actor="ann")
    m.mark_stopped()
    m.retry(force=True)
    m.pause(actor="bob")
    m.resume(actor="bob")
    m.mark_starting()
    m.mark_running()
    m.cancel()
    m.mark_cancelled()
    m.reset(actor="ann", reason="begin anew")
    m.start()
    m.mark_starting()
    m.mark_lost(reason="owner vanished", gone=True)
    m.force_transition(S.FAILED, actor="ann", reason="it did fail")
    m.skip(reason="not needed", actor="ann")
    return m.transitions


LIFE = long_life()


def at(source: TaskStatus, target: TaskStatus, history: History = LIFE) -> int:
    """The index of the first record of this move."""
    return next(i for i, r in enumerate(history) if r.from_status is source and r.to_status is target)


def damaged(index: int, history: History = LIFE, **columns: Any) -> Replay:
    """The replay of `history` with one record changed."""
    return replay((*history[:index], attrs.evolve(history[index], **columns), *history[index + 1 :]))


def checks_of(found: Replay) -> set[str]:
    return {finding.check for finding in found.findings}


def test_a_long_life_replays_clean() -> None:
    """D1, D2, D5: what the machine records is what the tables allow, each move by one row."""
    found = replay(LIFE)
    assert found.findings == ()
    assert found.ok
    assert len(found.steps) == len(LIFE) - 1
    verbs = [row.verb for row in found.steps if isinstance(row, OutOfBand)]
    assert verbs == ["retry", "reset", "force_transition", "skip"]


def test_two_records_of_one_commit_replay_clean() -> None:
    """D8: a body that ends while it is parked or before it parks leaves two records with the same evidence."""
    for park in (True, False):
        m = machine()
        m.start()
        m.mark_starting()
        m.mark_running()
        m.pause()
        if park:
            m.mark_paused()
        m.step("finish", values={"ending": EndingKind.RETURNED, "outcome": 1})
        assert [r.to_status for r in m.transitions[-2:]] == [S.RUNNING, S.SUCCEEDED]
        assert replay(m.transitions).findings == ()


def test_a_failed_launch_under_an_aborted_pause_replays_clean() -> None:
    """D8: it passes through paused, not in place, and is queued in the same commit."""
    m = machine()
    m.start()
    m.mark_starting()
    m.pause()
    m.resume()
    failure = Failure(FailureKind.EXCEPTION)
    m.step("finish", values={"ending": EndingKind.LAUNCH_FAILED, "retries": True, "failure": failure})
    assert [r.to_status for r in m.transitions[-2:]] == [S.PAUSED, S.QUEUED]
    assert replay(m.transitions).findings == ()


def _random_request(rng: random.Random) -> tuple[str, dict[str, Any]]:
    verb = rng.choices(NAMES, [WEIGHTS.get(name, 4) for name in NAMES])[0]
    values: dict[str, Any] = {
        "ending": rng.choice(tuple(EndingKind)) if verb == "finish" else None,
        "retries": rng.random() < 0.5,
        "force": rng.random() < 0.5,
        "gone": rng.random() < 0.5,
        "alongside": True,
        "to": rng.choice(sorted(TERMINAL)),
        "owner": "p",
        "declared_attempts": rng.choice((1, 3, 5)),
    }
    if verb == "expire":
        values["deadline"] = rng.choice([d for d in Deadline if d is not Deadline.NONE])
    if verb in ("expire", "finish"):
        values["failure"] = Failure(FailureKind.EXCEPTION)
    if verb == "mark_failed":
        values["failure"] = Failure(rng.choice((FailureKind.EXCEPTION, FailureKind.ATTEMPTS_EXHAUSTED)))
    return verb, values


@cache
def random_life(seed: int) -> History:
    """The history of a machine that was asked 1000 verbs at random."""
    rng = random.Random(seed)
    m = machine(max_attempts=3)
    m.watch(killable=seed % 2 == 0)
    for _ in range(1000):
        verb, values = _random_request(rng)
        m.watch(dependencies_open=rng.random() < 0.1, lease_over=rng.random() < 0.3)
        with suppress(InvalidTransition):
            m.step(verb, "ann", "because", values)
    return m.transitions


@pytest.mark.parametrize("seed", SEEDS)
def test_every_random_life_replays_clean(seed: int) -> None:
    """D1-D12: whatever verbs a machine is asked in whatever order, its history stands on its own."""
    life = random_life(seed)
    assert len(life) > 20
    assert replay(life).findings == ()


def test_the_random_lives_take_most_rows() -> None:
    """The walk above is worth something: together twenty lives take at least 50 of the edges and every override."""
    rows = {row for seed in SEEDS for row in replay(random_life(seed)).steps}
    assert len([row for row in rows if isinstance(row, Edge)]) >= 50
    assert {row.verb for row in rows if isinstance(row, OutOfBand)} == {row.verb for row in SPEC.out_of_band}


def test_the_timer_and_the_reconciler_stand_for_a_verb() -> None:
    """D43: a time that came resumes, and the one that settles dead owners' tasks marks lost and retries."""
    m = machine()
    m.start()
    m.pause()
    m.step("resume", "timer", "resume_at has come", trigger="timer:resume")
    m.mark_starting()
    m.mark_running()
    m.step("mark_lost", "reconciler", "its lease is over", {"gone": True}, trigger="reconciler:lease_expired")
    m.step("retry", "reconciler", "idempotent", trigger="reconciler:lease_expired")
    assert replay(m.transitions).findings == ()


DAMAGE: list[tuple[str, Callable[[], Replay]]] = [
    ("versions", lambda: damaged(3, version=9)),
    ("chain", lambda: damaged(3, from_status=S.PENDING)),
    ("chain", lambda: damaged(3, task_id="another")),
    ("move", lambda: damaged(at(S.PENDING, S.QUEUED), to_status=S.RUNNING)),
    ("move", lambda: damaged(3, from_status=None)),
    ("move", lambda: damaged(at(S.LOST, S.FAILED), trigger="admin:reset")),
    ("move", lambda: damaged(at(S.LOST, S.FAILED), to_status=S.LOST)),
    ("move", lambda: damaged(at(S.STOPPED, S.QUEUED), trigger="user:start")),
    ("trigger", lambda: damaged(3, trigger="user:wish")),
    ("trigger", lambda: damaged(at(S.PENDING, S.QUEUED), trigger="admin:reset")),
    ("trigger", lambda: damaged(at(S.STARTING, S.RUNNING), trigger="user:resume")),
    ("guard", lambda: damaged(at(S.STARTING, S.RUNNING), carrier=CarrierView.NONE)),
    ("guard", lambda: damaged(at(S.STOPPING, S.STOPPED), requested_action=Requested.CANCEL)),
    ("guard", lambda: damaged(at(S.STOPPING, S.CANCELLED), requested_action=Requested.STOP)),
    ("guard", lambda: damaged(at(S.PAUSED, S.RUNNING), paused_in_place=False)),
    ("guard", lambda: damaged(at(S.PAUSED, S.QUEUED), paused_in_place=True)),
    ("evidence", lambda: damaged(at(S.PAUSED, S.RUNNING), paused_in_place=False)),
    ("evidence", lambda: damaged(at(S.PAUSING, S.PAUSED), carrier=CarrierView.LIVE)),
    ("attempts", lambda: damaged(at(S.QUEUED, S.STARTING), attempt=0)),
    ("attempts", lambda: damaged(at(S.STARTING, S.RUNNING), attempt=2)),
    ("attempts", lambda: damaged(at(S.STARTING, S.RUNNING), max_attempts=7)),
    ("attempts", lambda: damaged(at(S.CANCELLED, S.PENDING), attempt=3)),
    ("attempts", lambda: damaged(at(S.CANCELLED, S.PENDING), generation=1)),
    ("epoch", lambda: damaged(at(S.STARTING, S.RUNNING), epoch=2)),
    ("epoch", lambda: damaged(at(S.STOPPED, S.QUEUED), epoch=1)),
    ("times", lambda: damaged(3, at=START)),
    ("times", lambda: damaged(3, at=START.replace(year=2030, tzinfo=None))),
    ("failure", lambda: damaged(at(S.LOST, S.FAILED), failure_kind=None)),
    ("failure", lambda: damaged(at(S.RUNNING, S.RETRY_WAIT), failure_kind=FailureKind.LOST)),
    ("actor", lambda: damaged(3, actor="")),
    ("actor", lambda: damaged(0, actor="")),
    ("reason", lambda: damaged(at(S.LOST, S.FAILED), reason="\u200b ")),
    ("reason", lambda: damaged(at(S.CANCELLED, S.PENDING), reason=None)),
    ("reason", lambda: damaged(at(S.STARTING, S.LOST), reason=None)),
    ("versions", lambda: damaged(0, version=0)),
    ("creation", lambda: damaged(0, to_status=S.QUEUED)),
    ("creation", lambda: damaged(0, trigger="user:start")),
    ("creation", lambda: replay(LIFE[1:])),
    ("creation", lambda: replay(())),
    ("attempts", lambda: damaged(0, attempt=1)),
    ("times", lambda: damaged(0, at=START.replace(tzinfo=None))),
]


@pytest.mark.parametrize(("check", "found"), DAMAGE, ids=[f"{i}-{check}" for i, (check, _) in enumerate(DAMAGE)])
def test_damage_is_found_by_its_check(check: str, found: Callable[[], Replay]) -> None:
    """D1-D5, D12, D18: each kind of damage is found, and the check that names it is among the findings."""
    result = found()
    assert not result.ok
    assert check in checks_of(result)


def test_every_check_is_shown_to_find_something() -> None:
    """No check is without a kind of damage above."""
    assert set(CHECKS) | {"creation"} == {check for check, _ in DAMAGE}


def test_the_budget_is_judged_before_the_step() -> None:
    """D5: a start beyond the budget breaks the guard, although the record shows the attempt already counted."""
    m = machine(max_attempts=1)
    m.start()
    m.mark_starting()
    assert replay(m.transitions).ok
    found = damaged(2, m.transitions, max_attempts=0)
    assert any(f.check == "guard" and f.text.startswith("attempts_exhausted") for f in found.findings)


def test_a_missing_record_is_found() -> None:
    """An append-only history cannot lose a record unnoticed."""
    for index in range(1, len(LIFE) - 1):
        assert {"versions"} <= checks_of(replay(LIFE[:index] + LIFE[index + 1 :])), index


def test_an_edge_pair_taken_by_force_needs_a_new_epoch() -> None:
    """D2: queued -> stopped is an edge, yet who forces it fences the old epoch all the same."""
    m = machine()
    m.start()
    m.force_transition(S.STOPPED, actor="ann", reason="it is over")
    assert replay(m.transitions).ok
    assert checks_of(damaged(2, m.transitions, epoch=1)) == {"epoch"}


def test_other_tables_judge_otherwise() -> None:
    """A changed copy of the tables can be asked: without an edge, the move along it cannot be."""
    edges = tuple(edge for edge in SPEC.edges if (edge.source, edge.target) != (S.STARTING, S.RUNNING))
    found = replay(LIFE, Lifecycle(edges=edges))
    assert checks_of(found) == {"move"}


def test_findings_name_the_record() -> None:
    """A finding can be looked up: it has the version of the record it is about, and a sentence."""
    found = damaged(at(S.STARTING, S.RUNNING), carrier=CarrierView.NONE)
    assert [(f.version, f.check) for f in found.findings] == [(4, "guard")]
    assert "carrier_unconfirmed" in found.findings[0].text


def test_a_history_may_be_any_sequence() -> None:
    """A list read from somewhere is as good as the machine's own tuple."""
    as_list: Sequence[Transition] = list(LIFE)
    assert replay(as_list).ok


def test_a_blank_actor_is_refused_before_it_is_recorded() -> None:
    """D2: what the reason check demands of a history, the verb demands of its caller."""
    m = machine()
    m.start()
    with pytest.raises((InvalidTransition, ConfigurationError)):
        m.reset(actor="\u200b", reason="x")
    assert replay(m.transitions).ok


def test_two_records_can_be_judged_by_themselves() -> None:
    """Whoever holds a record and the one before it, a store for instance, judges the pair like a whole history."""
    for before, record in pairwise(LIFE):
        assert findings_between(before, record) == []
    before, record = LIFE[1], attrs.evolve(LIFE[2], epoch=7)
    assert {finding.check for finding in findings_between(before, record)} == {"epoch"}


def test_a_move_out_of_band_is_told_by_its_trigger_and_its_states() -> None:
    """`skip` is out of band only from where no edge leads; a creation never is (D2)."""
    one = machine()
    one.mark_queued()
    one.skip()
    another = machine(1)
    another.mark_queued()
    another.mark_starting()
    another.mark_failed()
    another.skip()
    assert [is_out_of_band(record) for record in one.transitions] == [False, False, False]
    assert is_out_of_band(another.transitions[-1])
