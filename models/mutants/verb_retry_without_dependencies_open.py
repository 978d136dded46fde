"""`retry` without its guard `dependencies_open`.

A task runs before what it depends on.
"""

from __future__ import annotations

from models.mutants import without_verb_guard

SPEC = without_verb_guard("retry", "dependencies_open")
KILLED_BY = "leaves_blocked_for_the_queue_only_when_closed"
