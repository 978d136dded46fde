"""The rules of `pause` without `abort_left`.

A pause that was taken back holds all the same.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("pause", "abort_left")
KILLED_BY = "deterministic"
