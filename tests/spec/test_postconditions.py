"""Each postcondition can fail: among all made-up answers there is one that it rejects."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from chongming_spec.algebra import Rule, Tell
from chongming_spec.cells import coherent_facts
from chongming_spec.decide import SPEC, Decision
from chongming_spec.facts import Ask, Deadline, EndingKind, Facts
from chongming_spec.failures import FailureKind
from chongming_spec.postconditions import ALL, Postcondition, sound
from chongming_spec.states import TaskStatus


def asks(verb: str) -> Iterator[Ask]:
    yield Ask(verb)
    yield Ask(verb, gone=True)
    yield from (Ask(verb, ending=ending) for ending in EndingKind)
    yield from (Ask(verb, kind=kind) for kind in FailureKind)
    yield from (Ask(verb, deadline=deadline) for deadline in Deadline)
    yield from (Ask(verb, target=target) for target in TaskStatus)


def tasks(status: TaskStatus) -> Iterator[Facts]:
    for facts in coherent_facts(status):
        yield facts
        yield facts._replace(stray=True, pausable=False, dependencies_open=True)


def made_up() -> Iterator[tuple[Facts, Ask, Decision]]:
    """Every verb leading from everywhere to everywhere, telling everything."""
    for verb, source, target in product(SPEC.verbs, TaskStatus, (None, *TaskStatus)):
        path = () if target is None else (target,)
        decision = Decision(verb, source, Rule(source, target, tells=tuple(Tell)), path)
        for ask in asks(verb.name):
            yield from ((facts, ask, decision) for facts in tasks(source))


@pytest.mark.parametrize("holds", ALL, ids=lambda holds: holds.__name__)
def test_postcondition_can_fail(holds: Postcondition) -> None:
    """A postcondition that no answer breaks guards nothing (D39)."""
    facts, ask, decision = next(case for case in made_up() if not holds(*case))
    assert not sound(facts, ask, decision)
