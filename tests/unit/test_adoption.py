"""Taking a task over: what is given is taken, what is not given is kept, and a reason is always on record (D2, D5,
D28).
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from chongming_spec.errors import ConfigurationError
from chongming_spec.facts import Ask
from chongming_spec.replay import replay
from chongming_spec.snapshot import Details
from chongming_spec.step import Step, Watch, step
from chongming_task.core.state_machine import StateMachine


def orphan() -> StateMachine:
    """A queued task whose owner's lease is over."""
    machine = StateMachine.create("t", "name", max_attempts=3, owner="old#1")
    machine.mark_queued()
    machine.watch(lease_over=True)
    return machine


def test_adoption_keeps_what_it_is_not_given() -> None:
    """D5: without a registration of its own, the budget and the owner stay."""
    machine = orphan()
    machine.adopt(actor="li")
    assert (machine.snapshot.owner, machine.snapshot.max_attempts) == ("old#1", 3)
    assert machine.transitions[-1].reason == "its owner is gone"
    assert replay(machine.transitions).ok


def test_adoption_takes_the_budget_of_the_new_registration() -> None:
    """D5: never below the attempts that were started."""
    machine = orphan()
    machine.adopt(actor="li", owner="new#1", declared_attempts=1)
    assert (machine.snapshot.owner, machine.snapshot.max_attempts, machine.snapshot.epoch) == ("new#1", 1, 2)


def test_lost_is_never_recorded_without_a_reason() -> None:
    """Nobody may be left to guess why a result is unknown."""
    machine = orphan()
    machine.mark_starting()
    machine.mark_lost()
    assert machine.transitions[-1].reason
    assert replay(machine.transitions).ok


def test_an_owner_that_nobody_can_see_is_refused() -> None:
    """D2: every record names somebody."""
    with pytest.raises(ConfigurationError, match="owner"):
        StateMachine.create("t", "name", owner="\u200b")


def test_the_meaning_of_a_step_gives_the_same_reason() -> None:
    """What a step means on a frozen snapshot and what the machine records agree about the reason, too (D2)."""
    machine = orphan()
    meant = step(machine.snapshot, Watch(lease_over=True), Ask("adopt"), Details(datetime.now(UTC), actor="li"))
    assert isinstance(meant, Step)
    machine.adopt(actor="li")
    assert meant.transitions[-1].reason == machine.transitions[-1].reason
