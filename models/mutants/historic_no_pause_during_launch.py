"""Historic: no edge from starting to pausing.

A person pauses a task while its carrier is being launched. The request finds no row, is swallowed, and the body runs
on.
"""

from __future__ import annotations

from chongming_spec.states import TaskStatus
from models.mutants import without_edge

SPEC = without_edge(TaskStatus.STARTING, TaskStatus.PAUSING)
KILLED_BY = "no_dead_rule"
