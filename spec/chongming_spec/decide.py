"""The decision: `decide(facts, ask)` answers from the rows, and nothing else decides.

The order is fixed, and with it the error a refused caller sees (D2, D13): unknown in this state; already so; the verb's
guards in their order; the rule whose `when` holds; the guards on the edges of its path. A refusal changes nothing.

`Lifecycle` is the whole of the tables as one value, so that a check can be run against a changed copy of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import attrs

from chongming_spec.algebra import Rule, Verb
from chongming_spec.effects import Change, Op
from chongming_spec.facts import Ask, CarrierState, Facts
from chongming_spec.guards import Guard
from chongming_spec.states import TaskStatus
from chongming_spec.transitions import EDGES, OUT_OF_BAND, Edge, OutOfBand
from chongming_spec.verbs import VERBS


class Decision(NamedTuple):
    """What will happen: the states gone through (none, one or two), and the rule (None: already so)."""

    verb: Verb
    source: TaskStatus
    rule: Rule | None
    path: tuple[TaskStatus, ...]

    @property
    def changed(self) -> bool:
        """Whether there will be a record."""
        return bool(self.path)

    @property
    def target(self) -> TaskStatus:
        """Where the task will be."""
        return self.path[-1] if self.path else self.source


class Refusal(NamedTuple):
    """Nothing will happen: the guard that said no (None: the tables have no such rule), and where it could go."""

    verb: str
    source: TaskStatus
    guard: Guard | None
    allowed: tuple[TaskStatus, ...]


@attrs.frozen(slots=False)
class Lifecycle:
    """The tables of one task's life as one value."""

    edges: tuple[Edge, ...] = EDGES
    out_of_band: tuple[OutOfBand, ...] = OUT_OF_BAND
    verbs: tuple[Verb, ...] = VERBS

    @cached_property
    def verb_of(self) -> Mapping[str, Verb]:
        """Verbs by name."""
        return {verb.name: verb for verb in self.verbs}

    @cached_property
    def edge_of(self) -> Mapping[TaskStatus, Mapping[TaskStatus, Edge]]:
        """Edges by source, then target."""
        return {source: {edge.target: edge for edge in self.edges if edge.source is source} for source in TaskStatus}

    @cached_property
    def rules_of(self) -> Mapping[str, Mapping[TaskStatus, tuple[Rule, ...]]]:
        """Rules by verb name, then source."""
        return {
            verb.name: {s: tuple(rule for rule in verb.rules if rule.source is s) for s in TaskStatus}
            for verb in self.verbs
        }

    def allowed(self, status: TaskStatus) -> tuple[TaskStatus, ...]:
        """Where the edges lead from `status`, in the order of the states."""
        targets = self.edge_of[status]
        return tuple(target for target in TaskStatus if target in targets)

    def candidates(self, facts: Facts, ask: Ask) -> tuple[Rule, ...]:
        """The rules whose `when` holds; the laws demand at most one."""
        return tuple(
            rule
            for rule in self.rules_of[ask.verb][facts.status]
            if all(guard.holds(facts, ask) for guard in rule.when)
        )

    def decide(self, facts: Facts, ask: Ask) -> Decision | Refusal:
        """D2, D13: answer one request; pure, total over coherent facts and known verbs."""
        verb = self.verb_of[ask.verb]
        source = facts.status
        rules = self.rules_of[ask.verb][source]
        if source in verb.already:
            return Decision(verb, source, None, ())
        if not rules:
            return self._refuse(verb, source, None)
        for guard in verb.guards:
            if not guard.holds(facts, ask):
                return self._refuse(verb, source, guard)
        for rule in rules:
            if all(guard.holds(facts, ask) for guard in rule.when):
                break
        else:
            return self._refuse(verb, source, _first_unmet(rules[-1], facts, ask))
        path = _path(rule, ask)
        if not rule.out_of_band:
            step = source
            for target in path:
                edge = self.edge_of[step].get(target)
                if edge is None:
                    return self._refuse(verb, source, None)
                if edge.guard is not None and not edge.guard.holds(facts, ask):
                    return self._refuse(verb, source, edge.guard)
                step = target
        return Decision(verb, source, rule, path)

    def _refuse(self, verb: Verb, source: TaskStatus, guard: Guard | None) -> Refusal:
        return Refusal(verb.name, source, guard, self.allowed(source))


def _first_unmet(rule: Rule, facts: Facts, ask: Ask) -> Guard:
    return next(guard for guard in rule.when if not guard.holds(facts, ask))


def _path(rule: Rule, ask: Ask) -> tuple[TaskStatus, ...]:
    target = ask.target if rule.asked_target else rule.target
    if target is None:
        return ()
    return (target,) if rule.via is None else (rule.via, target)


SPEC = Lifecycle()


def decide(facts: Facts, ask: Ask) -> Decision | Refusal:
    """Answer one request from the published tables; `checked.decide` is the same under contract."""
    return SPEC.decide(facts, ask)


# How a change of a column shows in the facts.
_FACT_OF = {
    "requested_action": "requested",
    "paused_in_place": "in_place",
    "started_at": "started",
    "carrier_state": "stray",
}


def changes_of(decision: Decision) -> tuple[Change, ...]:
    """All changes a decision makes, in order."""
    if decision.rule is None:
        return ()
    return tuple(change for effect in decision.rule.effects for change in effect.changes)


def advance(facts: Facts, ask: Ask, decision: Decision) -> Facts:
    """The facts after `decision`, as far as they follow from it."""
    values: dict[str, Any] = {"status": decision.target}
    for change in changes_of(decision):
        name = _FACT_OF.get(change.column, change.column)
        if name in Facts._fields:
            values[name] = _fact_value(change, name, facts, ask)
    return facts._replace(**values)


def _fact_value(change: Change, name: str, facts: Facts, ask: Ask) -> Any:
    match change.op:
        case Op.ADD_ONE:
            return getattr(facts, name) + 1
        case Op.RAISE_BUDGET:
            return max(facts.max_attempts, facts.attempt + 1) if ask.force else facts.max_attempts
        case Op.DECLARED_BUDGET | Op.ADOPTED_BUDGET:
            return max(facts.max_attempts, facts.attempt, 1)
        case Op.VERDICT:
            return ask.deadline
        case Op.NOW:
            return True
    if name == "started":
        return change.value is not None
    if name == "stray":
        return change.value is not CarrierState.NONE
    return change.value
