"""The rules of `finish` without `not_given_up`.

An attempt is given up that is to be tried again.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("finish", "not_given_up")
KILLED_BY = "deterministic"
