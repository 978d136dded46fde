"""The rules of `close_window` without `can_kill`.

A process that could be killed is given up as lost.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("close_window", "can_kill")
KILLED_BY = "deterministic"
