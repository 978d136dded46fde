"""Every small fault of the tables is noticed by a law or by the oracle, but for a few that are no faults (D39)."""

from __future__ import annotations

from collections import Counter

import pytest

from chongming_spec.cells import survey
from chongming_spec.decide import SPEC, Lifecycle
from chongming_spec.laws import LAWS, Law
from models.mutate import mutants
from tests.spec import matrix
from tests.spec.survivors import SURVIVORS

AT_LEAST = 0.99
_CELL_LAWS = {"complete", "deterministic", "no_dead_rule", "coherence_is_kept", "failures_fit", "sound"}
_MOVE_LAWS = {"no_dead_edge", "no_dead_out_of_band", "inside_the_tables", "no_way_back", "end_in_reach"}
_LATE = _CELL_LAWS | _MOVE_LAWS
_FIRST: tuple[Law, ...] = tuple(law for law in LAWS if law.name not in _LATE)
_LAST: tuple[Law, ...] = tuple(law for law in LAWS if law.name in _LATE)


def killer(spec: Lifecycle) -> str | None:
    """Who notices first: the laws about rows, the oracle, the laws about cells. Only changed blocks are decided anew."""
    for law in _FIRST:
        if law.check(spec):
            return law.name
    if next(matrix.differences(spec), ""):
        return "matrix"
    return next((law.name for law in _LAST if law.check(spec)), None)


def test_mutation_score(capsys: pytest.CaptureFixture[str]) -> None:
    """At least 99 % of the mutants are killed, and each survivor is a known one with its reason (D39)."""
    assert killer(SPEC) is None
    kills: Counter[str] = Counter()
    survivors = []
    for mutant in mutants():
        by = killer(mutant.spec)
        if by is None:
            survivors.append(mutant.name)
        else:
            kills[by] += 1
    killed = kills.total()
    total = killed + len(survivors)
    with capsys.disabled():
        print(f"\n{killed} of {total} table mutants killed, {len(survivors)} survivors: {dict(kills.most_common())}")  # noqa: T201
    assert sorted(survivors) == sorted(SURVIVORS)
    assert killed / total >= AT_LEAST


def test_survivors_would_be_found_with_a_blunter_check() -> None:
    """The score means something: without the oracle, over a thousand mutants would live (architecture of the checks)."""
    lost = 0
    for number, mutant in enumerate(mutants()):
        if number % 20 == 0 and mutant.name not in SURVIVORS:
            lost += not any(law.check(mutant.spec) for law in LAWS if law.name not in _CELL_LAWS)
    assert lost > 50
    assert survey(SPEC).blocks
