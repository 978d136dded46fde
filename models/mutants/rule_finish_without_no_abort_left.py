"""The rules of `finish` without `no_abort_left`.

A pause is taken back that nobody took back.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("finish", "no_abort_left")
KILLED_BY = "deterministic"
