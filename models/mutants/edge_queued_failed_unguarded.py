"""The edge from queued to failed without its guard `kind_needs_attempt`.

A task that waits fails with the exception of a body that did not run.
"""

from __future__ import annotations

from chongming_spec.states import TaskStatus
from models.mutants import without_edge_guard

SPEC = without_edge_guard(TaskStatus.QUEUED, TaskStatus.FAILED)
KILLED_BY = "fails_in_the_queue_only_for_its_three_kinds"
