"""The rules of `mark_paused` without `not_parked`.

A body that goes on working is recorded as parked.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("mark_paused", "not_parked")
KILLED_BY = "parks_only_a_parked_carrier"
