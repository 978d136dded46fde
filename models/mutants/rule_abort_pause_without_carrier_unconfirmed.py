"""The rules of `abort_pause` without `carrier_unconfirmed`.

The task is called running before anybody has seen its carrier.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("abort_pause", "carrier_unconfirmed")
KILLED_BY = "deterministic"
