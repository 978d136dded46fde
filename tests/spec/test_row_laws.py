"""A row that contradicts itself is refused before it is written (invariants 2-9)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import attrs
import pytest

from chongming_spec.audit_rows import row_problem
from chongming_spec.errors import StoreCorruption
from chongming_spec.facts import Requested
from chongming_spec.snapshot import TaskSnapshot
from chongming_spec.store_rules import records_error, was_saved
from chongming_spec.stores import SaveRequest
from chongming_task.core.state_machine import StateMachine


def running() -> StateMachine:
    """A task whose body runs."""
    machine = StateMachine.create("t", "name")
    machine.mark_queued()
    machine.mark_starting()
    machine.mark_running()
    return machine


def lies(row: TaskSnapshot) -> dict[str, dict[str, Any]]:
    """Columns that cannot stand in the row of a running task."""
    return {
        "ended": {"ended_at": row.updated_at},
        "times": {"queued_at": row.created_at - timedelta(seconds=1)},
        "occupied": {"started_at": None},
        "budget": {"max_attempts": 0},
        "requested": {"requested_action": Requested.STOP},
        "in_place": {"paused_in_place": True},
    }


def test_the_rows_of_a_life_contradict_nothing() -> None:
    """What a machine makes is sound at each step."""
    machine = running()
    assert row_problem(machine.snapshot) is None
    machine.mark_failed()
    assert row_problem(machine.snapshot) is None


@pytest.mark.parametrize("lie", ["ended", "times", "occupied", "budget", "requested", "in_place"])
def test_a_lie_of_a_row_is_found_and_refused(lie: str) -> None:
    """The store is asked to write it, and says why not; nothing of the records is wrong."""
    machine = running()
    row = attrs.evolve(machine.snapshot, **lies(machine.snapshot)[lie])
    assert row_problem(row)
    assert records_error(machine.snapshot, None, machine.transitions) is None
    assert isinstance(records_error(row, None, machine.transitions), StoreCorruption)


def test_a_save_is_known_only_by_its_record() -> None:
    """D22: without a stored record of its version, or without records of its own, nothing was saved before."""
    machine = running()
    request = SaveRequest(machine.snapshot, 3, machine.transitions[-1:])
    assert was_saved(machine.transitions[-1], request)
    assert not was_saved(None, request)
    assert not was_saved(machine.transitions[-1], SaveRequest(machine.snapshot, 3, ()))
