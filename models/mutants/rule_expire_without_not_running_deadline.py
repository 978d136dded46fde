"""The rules of `expire` without `not_running_deadline`.

The start timeout is judged on a body that has started.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("expire", "not_running_deadline")
KILLED_BY = "a_running_task_has_started_in_time"
