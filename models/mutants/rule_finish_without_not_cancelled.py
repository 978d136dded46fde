"""The rules of `finish` without `not_cancelled`.

An error, or a value, is swept under a cancel.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("finish", "not_cancelled")
KILLED_BY = "deterministic"
