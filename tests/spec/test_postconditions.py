"""Each postcondition can fail: among made-up answers there is one that it rejects."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from chongming_spec.algebra import Rule, Tell
from chongming_spec.cells import coherent_facts
from chongming_spec.decide import SPEC, Decision
from chongming_spec.facts import Ask, Deadline, EndingKind, Facts
from chongming_spec.failures import FailureKind
from chongming_spec.postconditions import ALL, sound
from chongming_spec.states import TaskStatus


def asks(verb: str) -> Iterator[Ask]:
    if verb == "finish":
        yield from (Ask(verb, ending=ending) for ending in EndingKind)
    elif verb == "expire":
        yield from (Ask(verb, deadline=deadline) for deadline in Deadline)
    elif verb == "force_transition":
        yield from (Ask(verb, target=target) for target in TaskStatus)
    else:
        yield Ask(verb)
        yield Ask(verb, gone=True)
        yield from (Ask(verb, kind=kind) for kind in FailureKind if verb.startswith("mark_"))


def tasks(status: TaskStatus) -> Iterator[Facts]:
    for facts in coherent_facts(status)[::7]:
        yield facts
        yield facts._replace(stray=True, pausable=False, dependencies_open=True)


def made_up() -> Iterator[tuple[Facts, Ask, Decision]]:
    """Every verb leading from everywhere to everywhere, telling everything."""
    verbs = sorted(SPEC.verbs, key=lambda verb: len(list(asks(verb.name))))
    for verb, source, target in product(verbs, TaskStatus, (None, *TaskStatus)):
        path = () if target is None else (target,)
        decision = Decision(verb, source, Rule(source, target, tells=tuple(Tell)), path)
        for ask in asks(verb.name):
            yield from ((facts, ask, decision) for facts in tasks(source))


def test_every_postcondition_can_fail() -> None:
    """A postcondition that no answer breaks guards nothing (D39)."""
    unbroken = set(ALL)
    for facts, ask, decision in made_up():
        broken = {holds for holds in unbroken if not holds(facts, ask, decision)}
        if broken:
            assert not sound(facts, ask, decision)
            unbroken -= broken
        if not unbroken:
            break
    assert {holds.__name__ for holds in unbroken} == set()
