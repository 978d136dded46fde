"""The rules of `mark_running` without `abort_left`.

A pause that was taken back holds all the same.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("mark_running", "abort_left")
KILLED_BY = "deterministic"
