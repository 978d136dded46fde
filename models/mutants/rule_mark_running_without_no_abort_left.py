"""The rules of `mark_running` without `no_abort_left`.

A pause is taken back that nobody took back.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("mark_running", "no_abort_left")
KILLED_BY = "aborts_at_confirmation_only_what_was_left"
