"""The rows of the lease protocol speak of what there is, and of all of it (D24-D28)."""

from __future__ import annotations

import inspect

from chongming_spec import store_rules
from chongming_spec.leases import COMMAND_MOVES, LEASE_LAWS, RIGHTS
from chongming_spec.store_model import METHODS
from chongming_spec.stores import STORE_METHODS, CommandState, DataClass


def test_each_right_names_a_method_and_a_judgement() -> None:
    """A row that names nothing would bind nobody."""
    for right in RIGHTS:
        assert right.method in METHODS
        assert inspect.isfunction(getattr(store_rules, right.judge))
        assert right.rule
        assert right.condition


def test_every_method_of_leases_and_commands_has_a_row() -> None:
    """What changes an owner's lease or a command is somebody's right."""
    written = {row.name for row in STORE_METHODS if row.data in (DataClass.COMMAND, DataClass.OWNER, DataClass.BYPASS)}
    assert written - {right.method for right in RIGHTS} == {"owners"} & written


def test_command_moves_are_each_said_once_and_done_is_final() -> None:
    """D27: no move leads out of done, every state is reached, and no pair is said twice."""
    pairs = [(move.source, move.target) for move in COMMAND_MOVES]
    assert len(pairs) == len(set(pairs))
    assert CommandState.DONE not in {source for source, _ in pairs}
    assert {target for _, target in pairs} == set(CommandState)
    assert all(method in METHODS for move in COMMAND_MOVES for method in move.by)


def test_laws_have_names_of_their_own() -> None:
    """A law is cited by its name."""
    assert len({law.name for law in LEASE_LAWS}) == len(LEASE_LAWS)


def test_the_model_has_every_method() -> None:
    """Each row of STORE_METHODS is a pure function of the reference model."""
    assert {row.name for row in STORE_METHODS} <= METHODS.keys()
