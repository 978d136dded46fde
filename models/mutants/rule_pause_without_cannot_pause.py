"""The rules of `pause` without `cannot_pause`.

A pause is promised for a body that can never park.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("pause", "cannot_pause")
KILLED_BY = "pauses_only_what_can_be_paused"
