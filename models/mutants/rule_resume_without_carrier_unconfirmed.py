"""The rules of `resume` without `carrier_unconfirmed`.

The task is called running before anybody has seen its carrier.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("resume", "carrier_unconfirmed")
KILLED_BY = "deterministic"
