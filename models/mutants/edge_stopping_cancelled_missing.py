"""The edge from stopping to cancelled is missing (D1).

A task is called off, honours it, and can only be recorded as stopped by a person or as failed.
"""

from __future__ import annotations

from chongming_spec.states import TaskStatus
from models.mutants import without_edge

SPEC = without_edge(TaskStatus.STOPPING, TaskStatus.CANCELLED)
KILLED_BY = "no_dead_rule"
