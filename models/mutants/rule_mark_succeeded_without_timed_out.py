"""The rules of `mark_succeeded` without `timed_out`.

A timeout has decided the attempt, and something else still takes the decision back.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("mark_succeeded", "timed_out")
KILLED_BY = "succeeds_only_without_verdict"
