"""The rules of `close_window` without `not_timed_out`.

The window of a carrier is closed that nobody asked to end.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("close_window", "not_timed_out")
KILLED_BY = "gives_up_a_carrier_only_after_a_verdict"
