"""The decision under contract: a second opinion that is asked where contracts are on (D39).

Before: the facts can be a task at all. After: so can those that follow, and every guard's postcondition holds, which
is said without looking at the tables.
"""

from __future__ import annotations

import icontract

from chongming_spec.contracts import ENABLED
from chongming_spec.decide import SPEC, Decision, Refusal, advance
from chongming_spec.facts import Ask, Facts, coherent
from chongming_spec.postconditions import sound


def coherent_before(facts: Facts) -> bool:
    """The precondition of a decision."""
    return coherent(facts)


def coherent_after(facts: Facts, ask: Ask, result: Decision | Refusal) -> bool:
    """Whatever was decided leads to facts that can be a task again."""
    return isinstance(result, Refusal) or coherent(advance(facts, ask, result))


def sound_after(facts: Facts, ask: Ask, result: Decision | Refusal) -> bool:
    """No guard was lost on the way into a row."""
    return sound(facts, ask, result)


@icontract.require(coherent_before, enabled=ENABLED)
@icontract.ensure(coherent_after, enabled=ENABLED)
@icontract.ensure(sound_after, enabled=ENABLED)
def decide(facts: Facts, ask: Ask) -> Decision | Refusal:
    """The answer of the published tables; raises icontract.ViolationError where one of the three does not hold."""
    return SPEC.decide(facts, ask)
