"""Every small fault of the tables is noticed by a law or by the oracle, but for a few that are no faults (D39)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from chongming_spec.laws import LAW_OF
from models.mutate import edge_mutants, mutants, out_of_band_mutants, rule_mutants, verb_mutants
from tests.spec.score import count, killer
from tests.spec.survivors import SURVIVORS

ROOT = Path(__file__).resolve().parents[2]
AT_LEAST = 0.99


def test_mutation_score(capsys: pytest.CaptureFixture[str]) -> None:
    """At least 99 % of the mutants are killed, and each survivor is a known one with its reason (D39).

    The count runs in a process of its own: nothing there needs the coverage tracer, which would double the time.
    """
    path = os.pathsep.join(str(ROOT / part) for part in (".", "spec", "src"))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.spec.score"],
        env={**os.environ, "PYTHONPATH": path},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    killed = sum(found["kills"].values())
    total = killed + len(found["survivors"])
    with capsys.disabled():
        sys.stdout.write(
            f"\n{killed} of {total} table mutants killed, {len(found['survivors'])} survive: {found['kills']}\n"
        )
    assert sorted(found["survivors"]) == sorted(SURVIVORS)
    assert killed / total >= AT_LEAST


def test_a_survivor_is_counted_as_one() -> None:
    """The counter tells the living from the dead: one known survivor between two mutants that are killed."""
    name = next(iter(SURVIVORS))
    sample = [*islice(edge_mutants(), 2), *(mutant for mutant in mutants() if mutant.name == name)]
    kills, survivors = count(sample)
    assert kills.total() == 2
    assert survivors == [name]


@pytest.mark.parametrize("kind", [edge_mutants, out_of_band_mutants, rule_mutants, verb_mutants])
def test_each_kind_of_fault_is_killed(kind: object) -> None:
    """The first and a later mutant of each kind meet their killer, which is a law or the matrix."""
    assert callable(kind)
    for mutant in islice(kind(), 0, 60, 30):
        assert killer(mutant.spec) in {*LAW_OF, "matrix"}


def test_names_of_mutants_are_unique() -> None:
    """A survivor is argued for by name, so a name means one mutant."""
    names = [mutant.name for mutant in mutants()]
    assert len(names) == len(set(names))
