"""The rules of `pause` without `timed_out`.

A timeout has decided the attempt, and something else still takes the decision back.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("pause", "timed_out")
KILLED_BY = "pauses_only_before_a_verdict"
