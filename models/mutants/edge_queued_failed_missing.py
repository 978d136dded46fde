"""The edge from queued to failed is missing (D1).

The start timeout passes in the queue, or the budget has shrunk: the dispatcher picks the task for ever and is refused
for ever.
"""

from __future__ import annotations

from chongming_spec.states import TaskStatus
from models.mutants import without_edge

SPEC = without_edge(TaskStatus.QUEUED, TaskStatus.FAILED)
KILLED_BY = "no_dead_rule"
