"""The rules of `force_transition` without `carrier_exists`.

The launch was performed, yet the task ends at once: a body runs that no record knows of.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("force_transition", "carrier_exists")
KILLED_BY = "deterministic"
