"""The rules of `request_cancel` without `not_paused_in_place`.

A task that only waited, held back, is treated as if a body were parked in it: a carrier that does not exist is woken,
asked or mourned.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("request_cancel", "not_paused_in_place")
KILLED_BY = "deterministic"
