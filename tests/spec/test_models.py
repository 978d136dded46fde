"""The spaces of the lifecycle are those pinned, nothing is broken in them, and each statement can break."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest

from chongming_spec import effects as e
from chongming_spec import guards as g
from chongming_spec.algebra import Rule
from chongming_spec.decide import SPEC, Lifecycle
from chongming_spec.effects import Change, Effect, Op
from chongming_spec.facts import CarrierView
from chongming_spec.states import TERMINAL, TaskStatus
from chongming_spec.transitions import Edge
from models import __main__ as program
from models.lifecycle import CONFIGURATIONS, OF_STATE, OF_STEP, Configuration, counts, explore, pinned

_S = TaskStatus
Changed = Callable[[Rule], Rule]


def with_rules(verb: str, change: Changed, spec: Lifecycle = SPEC) -> Lifecycle:
    """The tables with every rule of one verb changed."""
    return attrs.evolve(
        spec,
        verbs=tuple(
            attrs.evolve(one, rules=tuple(map(change, one.rules))) if one.name == verb else one for one in spec.verbs
        ),
    )


def without(effect: Effect) -> Changed:
    """A rule without one effect."""
    return lambda rule: attrs.evolve(rule, effects=tuple(one for one in rule.effects if one is not effect))


def leading(source: TaskStatus, old: TaskStatus, new: TaskStatus) -> Changed:
    """The rule from `source` to `old` leads to `new`."""

    def change(rule: Rule) -> Rule:
        return attrs.evolve(rule, target=new) if (rule.source, rule.target) == (source, old) else rule

    return change


def with_edge(source: TaskStatus, target: TaskStatus, spec: Lifecycle) -> Lifecycle:
    """The tables with one more edge."""
    return attrs.evolve(spec, edges=(*spec.edges, Edge(source, target, "a fault")))


SWAPPED = {g.CAN_KILL: g.CANNOT_KILL, g.CANNOT_KILL: g.CAN_KILL}
FORGETS = Effect("abandon", (Change("carrier", Op.SET, CarrierView.ABANDONED),), "a fault")
BROKEN: dict[str, Lifecycle] = {
    "the facts are coherent": with_rules("mark_paused", without(e.PARK)),
    "the carrier is accounted for": with_rules("finish", without(e.END)),
    "running means confirmed": with_rules("resume", without(e.UNPARK)),
    "an abandoned carrier is remembered": with_rules(
        "close_window",
        lambda rule: attrs.evolve(rule, effects=tuple(FORGETS if one is e.ABANDON else one for one in rule.effects)),
    ),
    "a task that is not over can be ended": with_rules("stop", leading(_S.RUNNING, _S.STOPPING, _S.PENDING)),
    "lost only where nothing could end it": with_rules(
        "close_window", lambda rule: attrs.evolve(rule, when=tuple(SWAPPED.get(one, one) for one in rule.when))
    ),
    "stopping never retries": with_edge(
        _S.STOPPING, _S.RETRY_WAIT, with_rules("finish", leading(_S.STOPPING, _S.FAILED, _S.RETRY_WAIT))
    ),
    "a verdict never succeeds": with_rules(
        "finish", lambda rule: attrs.evolve(rule, when=(g.RETURNED,)) if rule.when == (g.SUCCEEDS,) else rule
    ),
    "only a person revives": with_edge(
        _S.FAILED,
        _S.QUEUED,
        attrs.evolve(
            SPEC,
            verbs=tuple(
                attrs.evolve(one, rules=(*one.rules, Rule(_S.FAILED, _S.QUEUED))) if one.name == "mark_queued" else one
                for one in SPEC.verbs
            ),
        ),
    ),
    "attempt counts starts": with_rules("mark_starting", without(e.OPEN)),
    "an end is reachable": attrs.evolve(
        with_rules("force_transition", lambda rule: attrs.evolve(rule, out_of_band=False)),
        edges=tuple(edge for edge in SPEC.edges if edge.target not in TERMINAL),
    ),
}


@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=lambda one: one.name)
def test_nothing_is_broken_and_the_counts_are_those_pinned(configuration: Configuration) -> None:
    """Every reachable state and step keeps every statement; a change of the space must be meant (D1-D15)."""
    space = explore(configuration)
    assert space.broken == ()
    assert counts(space) == pinned()[configuration.name], "if the change is meant: python -m models --pin"


def test_every_statement_is_shown_able_to_break() -> None:
    """No statement is listed that no fault can break."""
    assert BROKEN.keys() == OF_STATE.keys() | OF_STEP.keys() | {
        "an end is reachable",
        "a task that is not over can be ended",
    }


@pytest.mark.parametrize("statement", BROKEN)
def test_a_fault_breaks_its_statement(statement: str) -> None:
    """A fault in the tables is found, where a carrier can be paused and killed."""
    space = explore(Configuration("process", is_node=False, max_attempts=1), BROKEN[statement])
    found = {broken.statement for broken in space.broken}
    assert statement in found


def test_the_program_compares_with_the_manifest(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`python -m models` ends with 0 when the counts agree, and says how to pin them when they do not."""
    assert program.main([]) == 0
    monkeypatch.setattr(program, "pinned", dict)
    assert program.main([]) == 1
    assert "--pin" in capsys.readouterr().out
