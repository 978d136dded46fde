"""The matrix of verb and state says what `decide` answers over all cases."""

from __future__ import annotations

import attrs

from chongming_spec import guards as g
from chongming_spec.algebra import Caller, Rule
from chongming_spec.decide import SPEC
from chongming_spec.facts import Deadline
from chongming_spec.render.matrix import Cell, cells, changed_by
from chongming_spec.render.verb_pages import cell_text, refused_everywhere
from chongming_spec.states import TERMINAL, TaskStatus
from tests.unit.gen_toy import IDLE, LIGHT, LIT, TOY

_S = TaskStatus


def test_a_cell_of_the_toy_has_target_and_guard() -> None:
    """The one verb leads along the one edge, whose guard can refuse it; elsewhere it is unknown."""
    assert cells(TOY)["light"][IDLE] == Cell(targets=(LIT,), refused=("attempts_exhausted",))
    assert cells(TOY)["light"][LIT] == Cell(already=True)
    assert cells(TOY)["light"][_S.LOST].unknown


def test_a_rule_without_its_edge_is_refused_without_a_guard() -> None:
    """A move that the tables do not hold has no guard to name, and leads nowhere."""
    torn = attrs.evolve(TOY, edges=())
    assert cells(torn)["light"][IDLE] == Cell(refused=("",))
    assert cell_text(cells(torn)["light"][IDLE], IDLE) == "✗ no such edge"


def test_guards_that_only_choose_are_not_shown_as_refusing() -> None:
    """D3: resume of a paused task goes one way or the other, and neither condition ever refuses."""
    assert cells(SPEC)["resume"][_S.PAUSED] == Cell(targets=(_S.QUEUED, _S.RUNNING))


def test_refusals_stand_in_the_order_in_which_they_are_met() -> None:
    """D2: a retry is refused for a living carrier first, then for open dependencies, then for the budget."""
    found = cells(SPEC)["retry"][_S.FAILED]
    assert found.refused == ("carrier_still_running", "dependencies_open", "attempts_exhausted")


def test_an_override_goes_where_it_is_asked_to() -> None:
    """D2: force_transition reaches the terminal states and no other."""
    found = cells(SPEC)["force_transition"][_S.RUNNING]
    assert found.as_asked
    assert set(found.targets) == TERMINAL
    assert "target_not_terminal" in found.refused


def test_what_a_call_testifies_counts() -> None:
    """D8: whoever marks a task running says that its carrier is live, so no confirmation is missing."""
    assert cells(SPEC)["mark_running"][_S.STARTING] == Cell(targets=(_S.RUNNING,))


def test_a_timeout_brings_its_own_failure() -> None:
    """D1: a start timeout may fail a queued task; no other kind is reported together with it."""
    assert cells(SPEC)["expire"][_S.QUEUED] == Cell(targets=(_S.FAILED,), refused=("not_start",))


def test_a_verdict_changes_no_status() -> None:
    """D14: a timeout that passes while it runs is noted, and the status stays."""
    found = cells(SPEC)["expire"][_S.RUNNING]
    assert found.stays
    assert not found.changes


def test_only_the_world_reports_endings_and_deadlines() -> None:
    """A verb of the world that is no report is asked without an ending or a deadline."""
    verb = attrs.evolve(LIGHT, name="dim", caller=Caller.WORLD, rules=(Rule(IDLE, LIT, when=(g.START_OUT,)),))
    spec = attrs.evolve(TOY, verbs=(verb,))
    assert cells(spec)["dim"][IDLE] == Cell(refused=("not_start",))
    assert Deadline.NONE in Deadline


def test_the_verbs_that_can_change_a_state() -> None:
    """D6: nothing but an override changes a task that was asked to end."""
    assert changed_by(SPEC, (Caller.PERSON,), _S.STOPPING) == ["force_transition"]
    assert changed_by(TOY, (Caller.MACHINE,), IDLE) == []


def test_cells_read_as_the_legend_says() -> None:
    """Targets, same, as asked, stays, already, refusals and the dash are each their own word."""
    assert cell_text(Cell(), IDLE) == "–"
    assert cell_text(Cell(already=True), IDLE) == "already"
    assert cell_text(Cell(targets=(LIT, IDLE), stays=True, refused=("a", "b")), IDLE, ("b",)) == (
        "starting<br>same<br>stays<br>✗ a"
    )
    assert cell_text(Cell(targets=(LIT,), as_asked=True), IDLE) == "as asked"


def test_guards_met_everywhere_are_named_once() -> None:
    """Only a guard that can refuse in each of several states moves to the head of its row."""
    one, two = Cell(targets=(LIT,), refused=("a", "b")), Cell(targets=(LIT,), refused=("c", "a"))
    assert refused_everywhere([one, Cell(), two, Cell(already=True)]) == ("a",)
    assert refused_everywhere([one, Cell()]) == ()
