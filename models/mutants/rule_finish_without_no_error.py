"""The rules of `finish` without `no_error`.

A body that honoured the request to end is recorded as failed.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("finish", "no_error")
KILLED_BY = "fails_while_stopping_only_by_its_own_error"
