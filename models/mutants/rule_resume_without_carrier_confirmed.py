"""The rules of `resume` without `carrier_confirmed`.

A body that did run is treated as a launch that never came up.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("resume", "carrier_confirmed")
KILLED_BY = "deterministic"
