"""The rules of `expire` without `timed_out`.

A timeout has decided the attempt, and something else still takes the decision back.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("expire", "timed_out")
KILLED_BY = "judges_once"
