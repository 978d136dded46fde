"""The rules of `finish` without `abort_left`.

A pause that was taken back holds all the same.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("finish", "abort_left")
KILLED_BY = "holds_only_without_abort"
