"""The edge from starting to cancelled without its guard `carrier_exists`.

The launch was performed, yet the task ends at once: a body runs that no record knows of.
"""

from __future__ import annotations

from chongming_spec.states import TaskStatus
from models.mutants import without_edge_guard

SPEC = without_edge_guard(TaskStatus.STARTING, TaskStatus.CANCELLED)
KILLED_BY = "cancelled_from_starting_only_without_carrier"
