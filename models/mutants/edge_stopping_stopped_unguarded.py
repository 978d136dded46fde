"""The edge from stopping to stopped without its guard `stop_not_asked`.

A task that was called off is recorded as stopped by a person; nobody can tell any more who answers for it.
"""

from __future__ import annotations

from chongming_spec.states import TaskStatus
from models.mutants import without_edge_guard

SPEC = without_edge_guard(TaskStatus.STOPPING, TaskStatus.STOPPED)
KILLED_BY = "stopped_only_when_stop_was_asked"
