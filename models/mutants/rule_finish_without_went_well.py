"""The rules of `finish` without `went_well`.

A body that returned its value while it was parked is recorded as failed.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("finish", "went_well")
KILLED_BY = "deterministic"
