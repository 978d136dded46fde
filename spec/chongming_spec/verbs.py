"""All verbs, by name."""

from __future__ import annotations

from chongming_spec.algebra import Verb
from chongming_spec.verbs_control import CONTROL_VERBS
from chongming_spec.verbs_machine import MACHINE_VERBS
from chongming_spec.verbs_world import WORLD_VERBS

VERBS: tuple[Verb, ...] = (*CONTROL_VERBS, *MACHINE_VERBS, *WORLD_VERBS)
VERB_OF: dict[str, Verb] = {verb.name: verb for verb in VERBS}
