"""Each file in `models/mutants` is killed by the check it names, and the published tables pass that check."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

import pytest

from chongming_spec.decide import SPEC
from chongming_spec.states import TaskStatus
from models import mutants
from tests.spec.checks import findings

NAMES = [module.name for module in pkgutil.iter_modules(mutants.__path__)]
HISTORIC = {
    "historic_no_pause_during_launch",
    "historic_running_never_started",
    "historic_idle_judged_before_start",
    "historic_resume_by_stale_start",
}
# The edge asks the same guard, so a rule that no longer does means the same; see `survivors`.
SAID_TWICE = {
    ("mark_running", "not_paused_in_place"),
    ("mark_failed", "not_paused_in_place"),
    ("mark_stopped", "paused_in_place"),
    ("mark_cancelled", "paused_in_place"),
    ("finish", "not_paused_in_place"),
}


def load(name: str) -> ModuleType:
    return importlib.import_module(f"models.mutants.{name}")


@pytest.mark.parametrize("name", NAMES)
def test_mutant_is_killed(name: str) -> None:
    """The named check finds the fault, and has nothing against the published tables (D1-D15, D39)."""
    mutant = load(name)
    assert findings(mutant.KILLED_BY, SPEC) == []
    assert findings(mutant.KILLED_BY, mutant.SPEC) != []


def test_every_guard_and_added_edge_has_its_mutant() -> None:
    """One file per guard of a verb, of an edge, of a verb's rules; one per edge of D1; and the four historic faults."""
    wanted = set(HISTORIC)
    for verb in SPEC.verbs:
        wanted |= {f"verb_{verb.name}_without_{guard.name}" for guard in verb.guards}
        whens = {guard.name for rule in verb.rules for guard in rule.when}
        wanted |= {f"rule_{verb.name}_without_{name}" for name in whens if (verb.name, name) not in SAID_TWICE}
    wanted |= {f"edge_{edge.source}_{edge.target}_unguarded" for edge in SPEC.edges if edge.guard is not None}
    wanted |= {f"edge_{edge.source}_{edge.target}_missing" for edge in SPEC.edges if edge.added}
    assert set(NAMES) == wanted


def test_nothing_is_left_out_that_is_not_there() -> None:
    """A mutant that changes nothing would be a check that passes for no reason."""
    with pytest.raises(LookupError):
        mutants.without_verb_guard("stop", "actor_missing")
    with pytest.raises(LookupError):
        mutants.without_when("stop", "actor_missing")
    with pytest.raises(LookupError):
        mutants.without_edge_guard(TaskStatus.PENDING, TaskStatus.QUEUED)
    with pytest.raises(LookupError):
        mutants.without_edge(TaskStatus.PENDING, TaskStatus.RUNNING)
