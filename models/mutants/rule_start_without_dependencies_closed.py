"""The rules of `start` without `dependencies_closed`.

A task with nothing to wait for waits.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("start", "dependencies_closed")
KILLED_BY = "deterministic"
