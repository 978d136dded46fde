"""The rules of `close_window` without `cannot_kill`.

A kill is tried again and again, or on a thread, which cannot be killed.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("close_window", "cannot_kill")
KILLED_BY = "kills_only_once_and_what_can_be_killed"
