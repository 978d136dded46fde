"""`force_transition` without its guard `actor_missing`.

A state is overridden and nobody knows by whom.
"""

from __future__ import annotations

from models.mutants import without_verb_guard

SPEC = without_verb_guard("force_transition", "actor_missing")
KILLED_BY = "overrides_only_by_an_actor"
