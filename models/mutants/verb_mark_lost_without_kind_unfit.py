"""`mark_lost` without its guard `kind_unfit`.

A failure is recorded in a state that contradicts it, such as `stopped` for an exception.
"""

from __future__ import annotations

from models.mutants import without_verb_guard

SPEC = without_verb_guard("mark_lost", "kind_unfit")
KILLED_BY = "given_kind_can_stand_there"
