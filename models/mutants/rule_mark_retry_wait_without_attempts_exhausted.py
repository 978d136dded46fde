"""The rules of `mark_retry_wait` without `attempts_exhausted`.

The budget is overdrawn: an attempt begins that nobody allowed.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("mark_retry_wait", "attempts_exhausted")
KILLED_BY = "waits_for_retry_only_within_budget"
