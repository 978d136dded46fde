"""`retry` without its guard `attempts_exhausted`.

The budget is overdrawn: an attempt begins that nobody allowed.
"""

from __future__ import annotations

from models.mutants import without_verb_guard

SPEC = without_verb_guard("retry", "attempts_exhausted")
KILLED_BY = "revives_only_within_budget_or_forced"
