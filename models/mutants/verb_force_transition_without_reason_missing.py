"""`force_transition` without its guard `reason_missing`.

A state is overridden and nobody knows why.
"""

from __future__ import annotations

from models.mutants import without_verb_guard

SPEC = without_verb_guard("force_transition", "reason_missing")
KILLED_BY = "overrides_only_for_a_reason"
