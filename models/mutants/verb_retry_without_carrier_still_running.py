"""`retry` without its guard `carrier_still_running`.

An abandoned thread of the task still works, and a second body begins beside it on the same files.
"""

from __future__ import annotations

from models.mutants import without_verb_guard

SPEC = without_verb_guard("retry", "carrier_still_running")
KILLED_BY = "begins_again_beside_no_stray"
