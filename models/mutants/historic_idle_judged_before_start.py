"""Historic: the idle timeout is judged on a task whose start nobody has confirmed.

A launch is slow. No checkpoint is reached, since no body runs yet; the idle timeout takes that for a body that hangs.
"""

from __future__ import annotations

import attrs

from chongming_spec.decide import SPEC as PUBLISHED
from chongming_spec.guards import NO_VERDICT, RUN_OUT
from chongming_spec.states import TaskStatus
from models.mutants import with_rules

_RULES = tuple(
    attrs.evolve(rule, when=(RUN_OUT, NO_VERDICT)) if rule.source is TaskStatus.STARTING else rule
    for rule in PUBLISHED.verb_of["expire"].rules
)

SPEC = with_rules("expire", _RULES)
KILLED_BY = "judges_the_start_only_before_it"
