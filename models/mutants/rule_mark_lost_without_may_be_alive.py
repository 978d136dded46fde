"""The rules of `mark_lost` without `may_be_alive`.

A carrier that may still be at work is recorded as gone; a retry then starts beside it.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("mark_lost", "may_be_alive")
KILLED_BY = "deterministic"
