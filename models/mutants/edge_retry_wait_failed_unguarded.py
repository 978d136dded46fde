"""The edge from retry_wait to failed without its guard `kind_needs_attempt`.

A task that waits fails with the exception of a body that did not run.
"""

from __future__ import annotations

from chongming_spec.states import TaskStatus
from models.mutants import without_edge_guard

SPEC = without_edge_guard(TaskStatus.RETRY_WAIT, TaskStatus.FAILED)
KILLED_BY = "fails_between_attempts_only_for_budget"
