"""`adopt` without its guard `owner_alive`.

Two owners answer for one task.
"""

from __future__ import annotations

from models.mutants import without_verb_guard

SPEC = without_verb_guard("adopt", "owner_alive")
KILLED_BY = "adopts_only_from_a_lease_that_is_over"
