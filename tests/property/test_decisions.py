"""Properties of single decisions: the machine's plan is the decision, and facts are a true picture of a snapshot."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from chongming_spec.backoff import ONE, backoff_ms
from chongming_spec.decide import SPEC, Refusal, advance, decide
from chongming_spec.effects import Op
from chongming_spec.facts import Ask, Facts
from chongming_spec.snapshot import Details
from chongming_spec.step import as_testified, project, step
from chongming_task.core._cells import planned
from tests.property.tasks import ASKS, BEGIN, FACTS, PARAMETERS, SPEC_VERBS, ask_of, calls, snapshots, watch_of


@given(FACTS, ASKS)
def test_the_plan_is_the_decision(facts: Facts, ask: Ask) -> None:
    """D39: what a machine runs is what the tables decide."""
    assert planned(facts, ask) == SPEC.decide(facts, ask)


@given(FACTS, ASKS)
def test_the_contracted_decision_is_the_decision(facts: Facts, ask: Ask) -> None:
    """D39: with its contracts on, `decide` answers the same and no contract is broken."""
    assert decide(facts, ask) == SPEC.decide(facts, ask)


@given(st.data(), FACTS)
def test_a_snapshot_projects_to_its_facts(data: st.DataObject, facts: Facts) -> None:
    """D3, D10: nothing that a decision depends on is lost on the way through the row."""
    assert project(data.draw(snapshots(facts)), watch_of(facts)) == facts


@given(st.data(), FACTS, st.sampled_from(SPEC_VERBS))
def test_a_step_and_an_advance_agree(data: st.DataObject, facts: Facts, verb: str) -> None:
    """D39: the facts of the next snapshot are the next facts, so what is proved of facts is true of tasks."""
    call = data.draw(calls(SPEC.verb_of[verb]))
    ask = ask_of(verb, call)
    snapshot = data.draw(snapshots(facts))
    heard = as_testified(facts, ask)
    now = BEGIN + timedelta(seconds=data.draw(st.integers(-5, 5)))
    taken = step(snapshot, watch_of(facts), ask, Details(now, "ann", None, values=call))
    answer = SPEC.decide(heard, ask)
    if isinstance(taken, Refusal) or isinstance(answer, Refusal):
        assert taken == answer
        return
    expected = advance(heard if answer.rule else facts, ask, answer)
    found = project(taken.snapshot, taken.watch)
    if answer.rule is not None and any(
        change.op in (Op.DECLARED_BUDGET, Op.ADOPTED_BUDGET)
        for effect in answer.rule.effects
        for change in effect.changes
    ):  # a budget that comes from elsewhere is no fact; any that holds the attempts made will do
        assert found.max_attempts >= max(found.attempt, 1)
        found = found._replace(max_attempts=expected.max_attempts)
    assert found == expected


@given(st.integers(1, 300), st.integers(0, 10**6), st.integers(ONE, 9 * ONE), st.integers(0, 10**7))
def test_a_backoff_never_shrinks(attempt: int, base_ms: int, factor_milli: int, max_ms: int) -> None:
    """D16: between nothing and the ceiling, never less than after an earlier attempt, beyond what is proved too."""
    waits = [backoff_ms(number, base_ms, factor_milli, max_ms) for number in (attempt, attempt + 1)]
    assert 0 <= waits[0] <= waits[1] <= max_ms


def test_every_parameter_of_a_verb_is_generated() -> None:
    """A parameter that a verb gains must be given by these tests too."""
    assert {param.name for verb in SPEC.verbs for param in verb.params} <= PARAMETERS.keys()
