"""The edge from paused to stopping without its guard `not_paused_in_place`.

A task that only waited, held back, is treated as if a body were parked in it: a carrier that does not exist is woken,
asked or mourned.
"""

from __future__ import annotations

from chongming_spec.states import TaskStatus
from models.mutants import without_edge_guard

SPEC = without_edge_guard(TaskStatus.PAUSED, TaskStatus.STOPPING)
KILLED_BY = "edges_guard_themselves"
