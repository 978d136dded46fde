"""The rules of `expire` without `not_start`.

A timeout of the run is judged on a task that has not started.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("expire", "not_start")
KILLED_BY = "judges_the_start_only_before_it"
