"""What the proof gate rests on, checked without a solver: that nothing is left out and nothing is assumed too much."""

from __future__ import annotations

import inspect
from itertools import product

import pytest

from chongming_spec.decide import SPEC
from chongming_spec.facts import Ask, CarrierView, Deadline, Facts, Requested, coherent
from chongming_spec.guards import GUARDS
from chongming_spec.states import TaskStatus
from tests.prove import gate
from tests.prove.tasks import SITUATIONS, Situation, Task, asking, facts_of, is_so, is_task, situation_at

NUMBERS = {"spent_ms", "started", "stopped", "due_ms", "shortened", "sample_ms", "grown_ms", "backoff_ms"}
CONTRACTED = {name for module in gate.contract_modules() for name in gate.contracted(module)}
BLANK = Task(0, 0, 1, False, False, False, True, False, False, False)


def test_every_verb_has_a_contract() -> None:
    """D39: a verb that is added must be proved too."""
    assert {verb.name for verb in SPEC.verbs} <= CONTRACTED


def test_every_guard_has_a_contract() -> None:
    """D39: and so must each predicate of a guard, under its own name."""
    assert {guard.holds.__name__ for guard in GUARDS} <= CONTRACTED


def test_the_decision_and_the_arithmetic_have_contracts() -> None:
    """D14, D16, D39: the whole decision, the kind an ending leaves, deadlines and backoff."""
    assert {"decide", "is_task", "failure_kind"} | NUMBERS <= CONTRACTED


def test_no_two_contracts_share_a_name() -> None:
    """One name, one line in the table: the second of two would hide the first."""
    modules = gate.contract_modules()
    assert sum(len(gate.contracted(module)) for module in modules) == len(CONTRACTED)


def test_exceptions_are_contracts_and_have_reasons() -> None:
    """An exception that names nothing would go unseen for ever."""
    plans = {f"plan of {verb.name}" for verb in SPEC.verbs}
    assert gate.UNCONFIRMED.keys() <= CONTRACTED | plans
    assert all(len(reason) > 20 for reason in gate.UNCONFIRMED.values())


def test_the_situations_are_all_there_are() -> None:
    """D3, D4, D14: each combination of the tied columns is listed if and only if some coherent task has it."""
    listed = set(SITUATIONS)
    assert len(listed) == len(SITUATIONS)
    for columns in product(TaskStatus, Requested, (False, True), (False, True), CarrierView, Deadline):
        situation = Situation(*columns)
        facts = Facts(**situation._asdict(), killable=True)
        occurs = any(
            coherent(facts._replace(attempt=attempt, abort_left=abort_left, killed=killed))
            for attempt, abort_left, killed in product((0, 1), (False, True), (False, True))
        )
        assert (situation in listed) is occurs, situation


def test_each_situation_is_found_at_its_place() -> None:
    """A search that missed one would prove nothing about it; places out of range count as the nearest."""
    assert tuple(situation_at(place) for place in range(len(SITUATIONS))) == SITUATIONS
    assert (situation_at(-5), situation_at(10**6)) == (SITUATIONS[0], SITUATIONS[-1])


def test_the_short_precondition_is_coherence() -> None:
    """The solver proves it; here the small numbers are gone through, so that a test run sees it too."""
    for place, attempt, budget, abort, killed, killable in product(
        range(len(SITUATIONS)), (-1, 0, 1, 2), (0, 1, 2), (False, True), (False, True), (False, True)
    ):
        task = BLANK._replace(
            place=place, attempt=attempt, max_attempts=budget, abort_left=abort, killed=killed, killable=killable
        )
        assert is_task(task) is coherent(facts_of(task))


def test_a_plan_is_asked_by_the_parameters_of_its_contract() -> None:
    """Each parameter after the task is a column of the request."""
    for module in gate.contract_modules():
        for name, function in gate.contracted(module).items():
            columns = tuple(inspect.signature(function).parameters)[1:]
            if name in SPEC.verb_of:
                assert set(columns) <= set(Ask._fields)
                asked = asking(name, columns, lambda facts, ask: SPEC.decide(facts, ask._replace(verb="wait")))
                assert is_so(asked(BLANK, *(None for _ in columns)))


@pytest.mark.parametrize("verdict", ["cannot_confirm", "pre_unsat", "post_fail", "not checked", "differ", ""])
def test_the_gate_passes_only_what_is_confirmed(verdict: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Any other verdict refuses, also that there is none."""
    assert not gate.report(gate.Verdict("stop", verdict, 1, 0.0))
    assert gate.report(gate.Verdict("stop", gate.CONFIRMED, 1, 0.0))
    assert capsys.readouterr().out.count("\n") == 2


def test_an_exception_that_is_confirmed_must_leave_the_list(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The list of exceptions can only get shorter."""
    monkeypatch.setitem(gate.UNCONFIRMED, "stop", "a reason")
    assert gate.report(gate.Verdict("stop", "cannot_confirm", 1, 0.0))
    assert not gate.report(gate.Verdict("stop", gate.CONFIRMED, 1, 0.0))
    assert "a reason" in capsys.readouterr().out
