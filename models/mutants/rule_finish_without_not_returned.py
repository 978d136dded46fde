"""The rules of `finish` without `not_returned`.

A body that left while it was parked succeeds without a value.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("finish", "not_returned")
KILLED_BY = "succeeds_only_by_a_value"
