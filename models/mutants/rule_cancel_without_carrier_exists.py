"""The rules of `cancel` without `carrier_exists`.

The launch was performed, yet the task ends at once: a body runs that no record knows of.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("cancel", "carrier_exists")
KILLED_BY = "deterministic"
