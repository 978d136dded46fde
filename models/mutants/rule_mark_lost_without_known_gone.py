"""The rules of `mark_lost` without `known_gone`.

A carrier known to be gone is recorded as an orphan, and every retry is refused.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("mark_lost", "known_gone")
KILLED_BY = "an_orphan_is_left_unless_known_gone"
