"""The rules of `finish` without `no_valid_result`.

An attempt without a valid value succeeds.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("finish", "no_valid_result")
KILLED_BY = "succeeds_only_by_a_value"
