"""The rules of `finish` without `no_value_kept`.

A value that came after a verdict, or no value at all, counts as success.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("finish", "no_value_kept")
KILLED_BY = "succeeds_only_by_a_value"
