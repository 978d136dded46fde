"""The edge from paused to stopping is missing (D1).

A parked task is stopped: it would read stopped while its body still unwinds and holds the slot.
"""

from __future__ import annotations

from chongming_spec.states import TaskStatus
from models.mutants import without_edge

SPEC = without_edge(TaskStatus.PAUSED, TaskStatus.STOPPING)
KILLED_BY = "no_dead_rule"
