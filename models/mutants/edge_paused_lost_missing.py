"""The edge from paused to lost is missing (D1).

Its owner dies while the body is parked: the task stays paused for ever, and a resume makes it running with nothing in
it.
"""

from __future__ import annotations

from chongming_spec.states import TaskStatus
from models.mutants import without_edge

SPEC = without_edge(TaskStatus.PAUSED, TaskStatus.LOST)
KILLED_BY = "no_dead_rule"
