"""`force_transition` without its guard `target_not_terminal`.

A task is forced into a live state in which nothing carries it.
"""

from __future__ import annotations

from models.mutants import without_verb_guard

SPEC = without_verb_guard("force_transition", "target_not_terminal")
KILLED_BY = "forces_only_to_an_end"
