"""The rules of `expire` without `carrier_confirmed`.

A body that did run is treated as a launch that never came up.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("expire", "carrier_confirmed")
KILLED_BY = "start_is_judged_only_unconfirmed"
