"""The rules of `finish` without `no_retry`.

An attempt is tried again that succeeded, or that neither policy nor budget allows.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("finish", "no_retry")
KILLED_BY = "retries_only_what_is_due"
