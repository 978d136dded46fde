"""The rules of `finish` without `not_stopped`.

An error, or a value, is swept under a stop.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("finish", "not_stopped")
KILLED_BY = "deterministic"
