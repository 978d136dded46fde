"""The rules of `finish` without `not_called_off`.

An attempt that did not call itself off is recorded so.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("finish", "not_called_off")
KILLED_BY = "is_called_off_only_by_cancellation"
