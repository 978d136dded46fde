"""The edge from paused to failed is missing (D1).

A parked process dies: there is nowhere to go.
"""

from __future__ import annotations

from chongming_spec.states import TaskStatus
from models.mutants import without_edge

SPEC = without_edge(TaskStatus.PAUSED, TaskStatus.FAILED)
KILLED_BY = "no_dead_rule"
