"""Historic: the start time of an attempt outlives it, and a resume takes it for proof that a body is parked.

The first attempt fails, the task waits for its retry and is paused there. It was started once, so the resume makes it
running: no carrier, no slot. Here the end of an attempt no longer clears its start time, and resume asks just for
that.
"""

from __future__ import annotations

import attrs

from chongming_spec.decide import SPEC as PUBLISHED
from chongming_spec.decide import Lifecycle
from chongming_spec.effects import CLOSE
from chongming_spec.facts import Ask, Facts
from chongming_spec.guards import IN_PLACE, LIFTED, Guard
from models.mutants import with_rules


def _has_started(facts: Facts, ask: Ask) -> bool:
    return facts.started


def _never_started(facts: Facts, ask: Ask) -> bool:
    return not facts.started


_STARTED = Guard("never_started", _has_started, ("started",), "It has a start time.")
_UNSTARTED = Guard("was_started", _never_started, ("started",), "It has no start time.")
_KEEPS_START = attrs.evolve(CLOSE, changes=tuple(c for c in CLOSE.changes if c.column != "started_at"))
_INSTEAD = {IN_PLACE: _STARTED, LIFTED: _UNSTARTED}


def _faulty() -> Lifecycle:
    spec = PUBLISHED
    for verb in PUBLISHED.verbs:
        rules = tuple(
            attrs.evolve(rule, effects=tuple(_KEEPS_START if effect == CLOSE else effect for effect in rule.effects))
            for rule in verb.rules
        )
        if verb.name == "resume":
            rules = tuple(attrs.evolve(r, when=tuple(_INSTEAD.get(guard, guard) for guard in r.when)) for r in rules)
        spec = with_rules(verb.name, rules, spec)
    return spec


SPEC = _faulty()
KILLED_BY = "coherence_is_kept"
