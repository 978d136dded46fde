"""`force_transition` without its guard `target_is_current`.

A forced move that moves nothing clears what the record held.
"""

from __future__ import annotations

from models.mutants import without_verb_guard

SPEC = without_verb_guard("force_transition", "target_is_current")
KILLED_BY = "forces_only_to_another_state"
