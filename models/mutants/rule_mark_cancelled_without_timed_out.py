"""The rules of `mark_cancelled` without `timed_out`.

A timeout has decided the attempt, and something else still takes the decision back.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("mark_cancelled", "timed_out")
KILLED_BY = "calls_itself_off_only_without_verdict"
