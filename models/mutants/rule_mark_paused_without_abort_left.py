"""The rules of `mark_paused` without `abort_left`.

A pause that was taken back holds all the same.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("mark_paused", "abort_left")
KILLED_BY = "holds_only_without_abort"
