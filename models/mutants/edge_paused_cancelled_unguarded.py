"""The edge from paused to cancelled without its guard `paused_in_place`.

A body is parked in the task, and the task moves on as if it held nothing: its slot is given away while the body still
has it.
"""

from __future__ import annotations

from chongming_spec.states import TaskStatus
from models.mutants import without_edge_guard

SPEC = without_edge_guard(TaskStatus.PAUSED, TaskStatus.CANCELLED)
KILLED_BY = "edges_guard_themselves"
