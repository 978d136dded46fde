"""The machine and the meaning of a step are held against each other over random lives.

`chongming_spec.step` says what a verb does to a frozen snapshot. The machine keeps its row mutable, prepares its
answers and folds its changes; after every step, refused ones included, it must show the very same.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chongming_spec.decide import SPEC, Refusal, decide
from chongming_spec.errors import InvalidTransition
from chongming_spec.facts import Ask, CarrierView, Deadline, EndingKind, Facts, Requested, coherent
from chongming_spec.failures import FailureKind
from chongming_spec.snapshot import Details, Failure
from chongming_spec.states import TaskStatus
from chongming_spec.step import Watch, step
from chongming_task.core._cells import CELLS, NO_PLAN, PLANS, cells_of, plan_for, planned
from chongming_task.core.asking import ask_of
from chongming_task.core.state_machine import StateMachine

START = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = [verb.name for verb in SPEC.verbs]
FAILURES = [Failure(kind, message=f"about {kind}") for kind in FailureKind]


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str | None, str | None, dict[str, Any]]:
    """A verb with parameters that may or may not make sense for it."""
    verb = draw(st.sampled_from(NAMES))
    values: dict[str, Any] = {}
    if verb == "force_transition":
        values["to"] = draw(st.sampled_from(TaskStatus))
    if verb == "finish":
        values["ending"] = draw(st.sampled_from(EndingKind))
        values["retries"] = draw(st.booleans())
    if verb == "expire":
        values["deadline"] = draw(st.sampled_from([one for one in Deadline if one is not Deadline.NONE]))
    for flag in ("force", "alongside", "gone"):
        if draw(st.integers(0, 3)) == 0:
            values[flag] = True
    if draw(st.integers(0, 3)) == 0:
        values["failure"] = draw(st.sampled_from(FAILURES))
    if draw(st.integers(0, 3)) == 0:
        values |= {"outcome": {"n": 1}, "not_before": START, "resume_at": START, "executor": "thread", "pid": 7}
    texts = st.sampled_from([None, "li", "\u200b"])
    return verb, draw(texts), draw(texts), values


WATCHED = st.fixed_dictionaries(
    {},
    optional={
        "carrier": st.sampled_from([CarrierView.LAUNCHING, CarrierView.LIVE]),
        "pausable": st.booleans(),
        "killable": st.booleans(),
        "dependencies_open": st.booleans(),
        "lease_over": st.booleans(),
    },
)


def fits(machine: StateMachine, seen: dict[str, Any]) -> bool:
    """Whether the world can show this now: only what keeps the facts coherent."""
    return coherent(machine.facts._replace(**seen))


@given(st.integers(1, 3), st.lists(st.tuples(requests(), WATCHED, st.integers(-5, 5)), max_size=25))
def test_the_machine_does_what_a_step_means(budget: int, life: list[Any]) -> None:
    """D2, D4, D5, D12, D39: same answer, same snapshot, same records, same attempts, same refusal."""
    times = [START]
    machine = StateMachine.create("t1", "job", max_attempts=budget, owner="owner", now=lambda: times[-1])
    watch = Watch()
    for (verb, actor, reason, values), seen, seconds in life:
        if fits(machine, seen):
            machine.watch(**seen)
            watch = watch._replace(**seen)
        times.append(times[-1] + timedelta(seconds=seconds))
        before, records, closed = machine.snapshot, machine.transitions, machine.attempts
        ask = ask_of(verb, actor, reason, values)
        expected = step(before, watch, ask, Details(times[-1], actor or "owner", reason, None, values))
        if isinstance(expected, Refusal):
            with pytest.raises(InvalidTransition) as refused:
                machine.step(verb, actor, reason, values)
            assert refused.value.guard == (None if expected.guard is None else expected.guard.name)
            assert (machine.snapshot, machine.transitions, machine.attempts) == (before, records, closed)
            assert Watch(**{name: getattr(machine.facts, name) for name in Watch._fields}) == watch
            continue
        decision = machine.step(verb, actor, reason, values)
        watch = expected.watch
        assert decision == expected.decision
        assert machine.snapshot == expected.snapshot
        assert machine.transitions == records + expected.transitions
        assert Watch(**{name: getattr(machine.facts, name) for name in Watch._fields}) == watch
        assert len(machine.attempts) - len(closed) == int(expected.opened)
        if expected.closed is not None:
            assert machine.attempts[-1].disposition == expected.closed


@st.composite
def facts(draw: st.DrawFn) -> Facts:
    """Facts that can be a task."""
    status = draw(st.sampled_from(TaskStatus))
    return draw(
        st.builds(
            Facts,
            status=st.just(status),
            requested=st.sampled_from(Requested),
            in_place=st.booleans(),
            started=st.booleans(),
            attempt=st.integers(0, 2),
            max_attempts=st.integers(1, 2),
            stray=st.booleans(),
            carrier=st.sampled_from(CarrierView),
            verdict=st.sampled_from(Deadline),
            abort_left=st.booleans(),
            killed=st.booleans(),
            pausable=st.booleans(),
            killable=st.booleans(),
            dependencies_open=st.booleans(),
            lease_over=st.booleans(),
        )
    )


@given(facts(), requests())
def test_the_prepared_answers_are_the_tables_answers(known: Facts, request: tuple[Any, ...]) -> None:
    """D39: what a machine runs is `decide`, only prepared."""
    ask = ask_of(*request)
    assert planned(known, ask) == decide(known, ask)


def test_each_cell_is_a_rule_that_is_alone_in_its_state() -> None:
    """The prepared part is what needs no choosing; two hops, asked targets and already-so are left to the tables."""
    for verb, cells in CELLS.items():
        for status, cell in cells.items():
            (rule,) = SPEC.rules_of[verb][status]
            assert cell.decision.rule is rule
            assert (cell.decision.verb.name, cell.decision.source) == (verb, status)
            assert not rule.asked_target
            assert rule.via is None


def test_a_rule_without_an_edge_is_left_to_the_tables() -> None:
    """D1: where the edge of a rule is missing there is nothing to prepare, and the tables refuse it."""
    spec = attrs.evolve(SPEC, edges=tuple(edge for edge in SPEC.edges if edge.target is not TaskStatus.BLOCKED))
    assert TaskStatus.PENDING in CELLS["mark_blocked"]
    assert TaskStatus.PENDING not in cells_of(spec)["mark_blocked"]


def test_verbs_that_share_a_rule_keep_their_own_trigger() -> None:
    """D43: stop and request_stop have the same rules, but a record must say which of them it was."""
    for verb in SPEC.verbs:
        for rule in verb.rules:
            assert PLANS[verb.name, id(rule)].trigger == (rule.trigger or verb.trigger)


def test_what_is_already_so_changes_nothing() -> None:
    """D13: no rule, no changes."""
    answer = decide(Facts(TaskStatus.RUNNING, started=True, attempt=1, carrier=CarrierView.LIVE), Ask("start"))
    assert not isinstance(answer, Refusal)
    assert plan_for(answer) is NO_PLAN
