"""The edge from stopping to cancelled without its guard `cancel_not_asked`.

A task that a person stopped is recorded as called off by its plan.
"""

from __future__ import annotations

from chongming_spec.states import TaskStatus
from models.mutants import without_edge_guard

SPEC = without_edge_guard(TaskStatus.STOPPING, TaskStatus.CANCELLED)
KILLED_BY = "cancelled_only_when_cancel_was_asked"
