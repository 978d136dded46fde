"""The rules of `mark_paused` without `timed_out`.

A timeout has decided the attempt, and something else still takes the decision back.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("mark_paused", "timed_out")
KILLED_BY = "pauses_only_before_a_verdict"
