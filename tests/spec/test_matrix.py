"""The whole verb × state × guard matrix of the published tables against the independent oracle."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import attrs

from chongming_spec.cells import cells, decided, survey
from chongming_spec.decide import SPEC, Decision, Lifecycle, Refusal, advance, decide
from chongming_spec.facts import Ask, Facts, coherent
from chongming_spec.laws import LAW_OF
from chongming_spec.states import TaskStatus
from tests.spec import matrix, oracle

ROOT = Path(__file__).resolve().parents[2]
CELLS = 173_235


def test_every_cell_agrees_with_the_oracle() -> None:
    """Answer, facts that follow, stamped columns, what is told, triggers and recorded kinds (D1-D16, D19)."""
    assert list(matrix.differences(SPEC)) == []
    assert matrix.size(SPEC) == CELLS


def test_every_cell_is_coherent_and_every_verb_has_cells() -> None:
    """The matrix asks only what can be asked, and asks everything: each verb in each state."""
    for verb in SPEC.verbs:
        seen = set()
        for facts, ask in cells(SPEC, verb.name):
            assert coherent(facts)
            assert ask.verb == verb.name
            seen.add(facts.status)
        assert seen == set(TaskStatus)


def test_the_oracle_knows_every_verb() -> None:
    """No verb is left to the tables alone."""
    assert set(oracle.OPINION_OF) == set(SPEC.verb_of)


def test_the_contracted_decision_is_the_decision() -> None:
    """`decide` is `SPEC.decide` under contract, which lets every coherent cell pass (D39)."""
    for block in survey(SPEC).blocks:
        for cell in block.cells[::97]:
            assert decide(cell.facts, cell.ask) == cell.answer


def test_the_matrix_holds_without_asserts() -> None:
    """Refusals are ordinary code: the same matrix under `python -O` (D39)."""
    path = os.pathsep.join(str(ROOT / part) for part in (".", "spec", "src"))
    done = subprocess.run(
        [sys.executable, "-O", "-W", "error", "-m", "tests.spec.matrix"],
        env={**os.environ, "PYTHONPATH": path},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.splitlines() == [f"{CELLS} cells, optimize 1"], done.stdout + done.stderr
    assert done.returncode == 0


def test_a_raising_guard_is_a_finding() -> None:
    """A cell that raises is reported as such, not skipped (D18)."""

    def boom(facts: Facts, ask: Ask) -> bool:
        raise RuntimeError("boom")

    guard = attrs.evolve(SPEC.verb_of["retry"].guards[0], holds=boom)
    verb = attrs.evolve(SPEC.verb_of["retry"], guards=(guard,))
    spec = attrs.evolve(SPEC, verbs=tuple(verb if row.name == "retry" else row for row in SPEC.verbs))
    cell = decided(spec, Facts(TaskStatus.FAILED), Ask("retry"))
    assert cell.answer is None
    assert "boom" in matrix.difference(cell)
    assert LAW_OF["complete"].check(spec)


def test_decisions_say_where_they_lead() -> None:
    """A decision knows its target and whether there will be a record; a refusal where it could go (D13)."""
    queued = SPEC.decide(Facts(TaskStatus.PENDING), Ask("start"))
    assert isinstance(queued, Decision)
    assert (queued.changed, queued.target) == (True, TaskStatus.QUEUED)
    already = SPEC.decide(Facts(TaskStatus.SUCCEEDED), Ask("stop"))
    assert isinstance(already, Decision)
    assert (already.changed, already.target) == (False, TaskStatus.SUCCEEDED)
    refused = SPEC.decide(Facts(TaskStatus.PENDING), Ask("pause"))
    assert isinstance(refused, Refusal)
    assert refused.allowed == SPEC.allowed(TaskStatus.PENDING)
    assert Lifecycle() == SPEC


def test_reset_begins_a_new_generation() -> None:
    """D12: a reset counts attempts from nought in a new generation and clears nothing of the history."""
    ask = Ask("reset", has_actor=True, has_reason=True)
    for block in survey(SPEC).blocks:
        for facts, asked, decision in block.decisions:
            if asked == ask and decision.changed:
                changed = matrix.actual_stamps(facts, decision)
                assert changed["generation"] == "plus one"
                assert advance(facts, ask, decision).attempt == 0
                assert not {"status_version", "created_at", "first_started_at"} & set(changed)
