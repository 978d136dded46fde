"""The whole decision under contract, for a verb that is chosen by the solver too; and the short precondition.

`is_task` stands before every other contract here, so that it says what `coherent` says is proved first.
"""

from __future__ import annotations

import icontract

from chongming_spec.decide import SPEC
from chongming_spec.facts import Ask, coherent
from tests.prove.tasks import Answer, Task, answered, facts_of, kept
from tests.prove.tasks import is_task as short_form

NAMES = tuple(verb.name for verb in SPEC.verbs)


def means_coherent(task: Task, result: bool) -> bool:
    """The short form and the long one agree on every task."""
    return result is coherent(facts_of(task))


@icontract.ensure(means_coherent)
def is_task(task: Task) -> bool:
    return short_form(task)


def named(verb: int) -> str:
    """The verb at a place, found by halving; a place out of range counts as the nearest."""
    low, high = 0, len(NAMES)
    while high - low > 1:
        middle = (low + high) // 2
        if verb < middle:
            high = middle
        else:
            low = middle
    return NAMES[low]


def is_kept(task: Task, verb: int, result: Answer) -> bool:
    """Whatever is asked, without anything beside the verb: the answer is kept."""
    return kept(facts_of(task), Ask(named(verb)), result)


@icontract.require(short_form)
@icontract.ensure(is_kept)
def decide(task: Task, verb: int) -> Answer:
    return answered(task, Ask(named(verb)))
