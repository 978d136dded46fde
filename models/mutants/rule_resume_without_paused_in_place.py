"""The rules of `resume` without `paused_in_place`.

A body is parked in the task, and the task moves on as if it held nothing: its slot is given away while the body still
has it.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("resume", "paused_in_place")
KILLED_BY = "deterministic"
