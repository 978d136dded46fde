"""The edge from pausing to running without its guard `carrier_unconfirmed`.

The task is called running before anybody has seen its carrier.
"""

from __future__ import annotations

from chongming_spec.states import TaskStatus
from models.mutants import without_edge_guard

SPEC = without_edge_guard(TaskStatus.PAUSING, TaskStatus.RUNNING)
KILLED_BY = "running_only_with_confirmed_carrier"
