"""What each kind of carrier can do, and so what "stopped" may mean for it.

The odd column is `killable`: where it is false, nothing can end a body that ignores its window, and the only true
word left is `lost` (D6, D14). `pausable` false means that a pause is refused at once (D8).
"""

from __future__ import annotations

import attrs


@attrs.frozen
class ExecutorRow:
    """One kind of carrier. `control_latency_ms` bounds how late a signal may reach it."""

    name: str
    pausable: bool
    killable: bool
    runs_in: str
    control_latency_ms: int
    after_the_window: str


EXECUTORS: tuple[ExecutorRow, ...] = (
    ExecutorRow(
        "inline",
        pausable=False,
        killable=False,
        runs_in="the thread that calls start()",
        control_latency_ms=0,
        after_the_window="lost: the call goes on, and holds its caller",
    ),
    ExecutorRow(
        "thread",
        pausable=True,
        killable=False,
        runs_in="a daemon thread of this process",
        control_latency_ms=0,
        after_the_window="lost: the thread goes on and is counted as abandoned",
    ),
    ExecutorRow(
        "process",
        pausable=True,
        killable=True,
        runs_in="a child process",
        control_latency_ms=20,
        after_the_window="killed: stopped, cancelled or the timeout's failure; lost only if even that fails",
    ),
)

EXECUTOR_OF: dict[str, ExecutorRow] = {row.name: row for row in EXECUTORS}
