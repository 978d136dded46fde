"""The rules of `finish` without `not_cancelled_itself`.

A body that left while it was parked is called off whatever it did.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("finish", "not_cancelled_itself")
KILLED_BY = "is_called_off_only_by_cancellation"
