"""What the gate must refuse: known bugs under the very contracts, and contracts that no solver can judge.

No part of the specification; `gate.py` reads this file before it believes any of its other verdicts.
"""

from __future__ import annotations

import icontract

from chongming_spec.decide import SPEC, Lifecycle
from chongming_spec.facts import Ask, Facts
from chongming_spec.states import TaskStatus
from models.mutants import without_edge_guard, without_verb_guard, without_when
from tests.prove.contracts_control import pauses, revives
from tests.prove.contracts_machine import opens_an_attempt
from tests.prove.tasks import Answer, Task, facts_of, is_task


def _ready(spec: Lifecycle) -> Lifecycle:
    """Compute what is computed once, so that each path runs the same lines."""
    assert spec.verb_of
    assert spec.edge_of
    assert spec.rules_of
    return spec


NO_BUDGET = _ready(without_edge_guard(TaskStatus.QUEUED, TaskStatus.STARTING))
NO_STRAY = _ready(without_verb_guard("retry", "carrier_still_running"))
NO_VERDICT = _ready(without_when("pause", "timed_out"))
SEEDED = 6


@icontract.require(is_task)
@icontract.ensure(opens_an_attempt)
def starts_beyond_the_budget(task: Task) -> Answer:
    return NO_BUDGET.decide(facts_of(task), Ask("mark_starting"))


@icontract.require(is_task)
@icontract.ensure(revives)
def revives_beside_a_stray(task: Task, force: bool, alongside: bool) -> Answer:
    return NO_STRAY.decide(facts_of(task), Ask("retry", force=force, alongside=alongside))


@icontract.require(is_task)
@icontract.ensure(pauses)
def pauses_past_a_verdict(task: Task) -> Answer:
    return NO_VERDICT.decide(facts_of(task), Ask("pause"))


@icontract.require(lambda number: number > 0 and number < 0)
@icontract.ensure(lambda result: result > 0)
def is_never_reached(number: int) -> int:
    return number


@icontract.ensure(lambda number, result: result != 977)
def is_wrong_once(number: int) -> int:
    return number


def right(task: Task) -> Answer:
    """The decision."""
    return SPEC.decide(facts_of(task), Ask("resume"))


def wrong(task: Task) -> Answer:
    """A plan that forgets to ask whether a body is parked."""
    facts: Facts = facts_of(task)
    return SPEC.decide(facts._replace(in_place=True), Ask("resume"))
