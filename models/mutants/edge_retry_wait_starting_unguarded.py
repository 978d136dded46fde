"""The edge from retry_wait to starting without its guard `attempts_exhausted`.

The budget is overdrawn: an attempt begins that nobody allowed.
"""

from __future__ import annotations

from chongming_spec.states import TaskStatus
from models.mutants import without_edge_guard

SPEC = without_edge_guard(TaskStatus.RETRY_WAIT, TaskStatus.STARTING)
KILLED_BY = "starts_only_within_budget"
