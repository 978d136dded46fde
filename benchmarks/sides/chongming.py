"""The life of a `StateMachine`; the variant says how often its frozen snapshot is read."""

from __future__ import annotations

from benchmarks.stopwatch import arguments, report_lives
from chongming_task.core.state_machine import StateMachine


def live() -> tuple[str, int]:
    """One life, and no snapshot is read."""
    machine = StateMachine.create("job", "work")
    machine.mark_queued()
    machine.mark_starting()
    machine.mark_running()
    machine.mark_succeeded()
    return machine.status, machine.version


def live_read_at_the_end() -> tuple[str, int]:
    """One life, whose last snapshot is read."""
    machine = StateMachine.create("job", "work")
    machine.mark_queued()
    machine.mark_starting()
    machine.mark_running()
    machine.mark_succeeded()
    snapshot = machine.snapshot
    return snapshot.status, snapshot.status_version


def live_read_at_each_step() -> tuple[str, int]:
    """One life, every version of which is read."""
    machine = StateMachine.create("job", "work")
    snapshot = machine.snapshot
    machine.mark_queued()
    snapshot = machine.snapshot
    machine.mark_starting()
    snapshot = machine.snapshot
    machine.mark_running()
    snapshot = machine.snapshot
    machine.mark_succeeded()
    snapshot = machine.snapshot
    return snapshot.status, snapshot.status_version


LIVES = {"none": live, "end": live_read_at_the_end, "step": live_read_at_each_step}

if __name__ == "__main__":
    variant, n = arguments(*LIVES)
    report_lives(LIVES[variant], n)
