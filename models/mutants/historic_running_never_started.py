"""Historic: a queued task goes to pausing, and an abort of that pause makes it running although it never started.

The pause of a task that holds nothing was sent through the same intermediate state as that of a running body. When
the pause timed out, the rollback led to running: without a carrier, without a slot, and without a start time.
"""

from __future__ import annotations

import attrs

from chongming_spec.decide import SPEC as PUBLISHED
from chongming_spec.effects import ASK_PAUSE
from chongming_spec.states import TaskStatus
from chongming_spec.transitions import Edge
from models.mutants import with_rules

_RULES = tuple(
    attrs.evolve(rule, target=TaskStatus.PAUSING, effects=(ASK_PAUSE,)) if rule.source is TaskStatus.QUEUED else rule
    for rule in PUBLISHED.verb_of["pause"].rules
)
_EDGE = Edge(TaskStatus.QUEUED, TaskStatus.PAUSING, "Every pause takes the same way.")

SPEC = with_rules("pause", _RULES, attrs.evolve(PUBLISHED, edges=(*PUBLISHED.edges, _EDGE)))
KILLED_BY = "coherence_is_kept"
