"""The life in `transitions`: one shared machine, a condition on every transition, a callback that records.

Variants: `new` makes a task a model of the machine and takes it out again; `reuse` puts one model back to the start,
which leaves out what a new task costs.
"""

from __future__ import annotations

from typing import Any

from transitions import Machine

from benchmarks.stopwatch import arguments, report_lives

STATES = ["new", "pending", "queued", "starting", "running", "paused", "retry_wait", "succeeded", "failed", "cancelled"]
MOVES = (
    ("create", "new", "pending"),
    ("queue", ["pending", "retry_wait"], "queued"),
    ("start", "queued", "starting"),
    ("run", "starting", "running"),
    ("succeed", "running", "succeeded"),
    ("pause", "running", "paused"),
    ("resume", "paused", "running"),
    ("fail", "running", "failed"),
    ("retry", "failed", "retry_wait"),
    ("cancel", ["pending", "queued", "running"], "cancelled"),
)


class Task:
    """A model; the machine gives it its triggers."""

    state: str
    create: Any
    queue: Any
    start: Any
    run: Any
    succeed: Any

    def __init__(self) -> None:
        self.attempt = 0
        self.records: list[tuple[str, str]] = []

    def has_attempts(self, event: Any) -> bool:
        """The guard of every move."""
        return self.attempt < 3

    def record(self, event: Any) -> None:
        """What every move leaves behind."""
        self.records.append((event.transition.source, event.transition.dest))


machine = Machine(
    model=None,
    states=STATES,
    initial="new",
    send_event=True,
    auto_transitions=False,
    after_state_change="record",
    transitions=[{"trigger": t, "source": s, "dest": d, "conditions": "has_attempts"} for t, s, d in MOVES],
)


def _walk(task: Task) -> tuple[str, int]:
    task.create()
    task.queue()
    task.start()
    task.run()
    task.succeed()
    return task.state, len(task.records)


def live() -> tuple[str, int]:
    """One life of a new model."""
    task = Task()
    machine.add_model(task)
    result = _walk(task)
    machine.remove_model(task)
    return result


only = Task()
machine.add_model(only)


def live_again() -> tuple[str, int]:
    """One life of the same model, put back first."""
    only.state = "new"
    only.records = []
    return _walk(only)


LIVES = {"new": live, "reuse": live_again}

if __name__ == "__main__":
    variant, n = arguments(*LIVES)
    report_lives(LIVES[variant], n)
