"""The plan a machine runs: for each verb and state, the rules' answer prepared as far as it can be.

Where a state has one rule for a verb, its decision and its changes are ready, and only its guards are left to be
asked, in their order. Anything else, a refusal included, is left to `decide`. `planned` is the whole of it as a
function; it is shown to be the same as `decide` by the exhaustive matrix and by a solver.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from chongming_spec.decide import SPEC, Decision, Lifecycle, Refusal
from chongming_spec.facts import Ask, CarrierView, Facts
from chongming_spec.guards import Guard
from chongming_spec.states import OCCUPYING, TaskStatus
from chongming_spec.step import Plan, plan_of

_TEXTS = frozenset({"has_actor", "has_reason"})


@attrs.frozen
class Cell:
    """One verb in one state: what a call says of the carrier, and the decision with its changes if all guards hold."""

    guards: tuple[Guard, ...]
    says: CarrierView | None
    answer: tuple[Decision, Plan]

    @property
    def decision(self) -> Decision:
        """The decision without its changes."""
        return self.answer[0]


def _cell(spec: Lifecycle, verb: str, status: TaskStatus) -> Cell | None:
    row = spec.verb_of[verb]
    rules = spec.rules_of[verb][status]
    if status in row.already or len(rules) != 1 or rules[0].asked_target or rules[0].via is not None:
        return None
    rule = rules[0]
    path = () if rule.target is None else (rule.target,)
    edge = None if rule.target is None or rule.out_of_band else spec.edge_of[status].get(rule.target)
    if edge is None and path and not rule.out_of_band:
        return None
    on_edge = (edge.guard,) if edge is not None and edge.guard is not None else ()
    decision = Decision(row, status, rule, path)
    says = row.testifies if status in OCCUPYING else None
    return Cell((*row.guards, *rule.when, *on_edge), says, (decision, plan_of(decision)))


def cells_of(spec: Lifecycle) -> Mapping[str, Mapping[TaskStatus, Cell]]:
    """All prepared cells of a spec, by verb and status."""
    return {
        verb.name: {s: cell for s in TaskStatus if (cell := _cell(spec, verb.name, s)) is not None}
        for verb in spec.verbs
    }


CELLS = cells_of(SPEC)


# Rules are compared by identity: hashing one would hash the whole of its effects. Verbs share rules, but not triggers.
PLANS: Mapping[tuple[str, int], Plan] = {
    (verb.name, id(rule)): plan_of(Decision(verb, rule.source, rule, (rule.source,) if rule.changes else ()))
    for verb in SPEC.verbs
    for rule in verb.rules
}
NO_PLAN = plan_of(Decision(SPEC.verbs[0], TaskStatus.PENDING, None, ()))


def plan_for(decision: Decision) -> Plan:
    """The folded changes of a decision that no cell holds ready."""
    return NO_PLAN if decision.rule is None else PLANS[decision.verb.name, id(decision.rule)]


def says_of(spec: Lifecycle) -> Mapping[str, Mapping[TaskStatus, CarrierView]]:
    """What a call testifies of the carrier, by verb and state; verbs that testify nothing are left out."""
    return {
        verb.name: {s: verb.testifies for s in OCCUPYING if verb.testifies is not None and spec.rules_of[verb.name][s]}
        for verb in spec.verbs
    }


SAYS = says_of(SPEC)


def text_readers_of(spec: Lifecycle) -> frozenset[str]:
    """The verbs whose guards ask for an actor or a reason; for the others no text needs to be looked at."""
    return frozenset(verb.name for verb in spec.verbs for guard in verb.guards if not _TEXTS.isdisjoint(guard.reads))


TEXT_READERS = text_readers_of(SPEC)
PLAIN_ASKS: Mapping[str, Ask] = {verb.name: Ask(verb.name) for verb in SPEC.verbs if verb.name not in TEXT_READERS}


def planned(facts: Facts, ask: Ask) -> Decision | Refusal:
    """What a machine decides: the prepared cell if its guards hold, else what `decide` says."""
    cell = CELLS[ask.verb].get(facts.status)
    if cell is not None and all(guard.holds(facts, ask) for guard in cell.guards):
        return cell.decision
    return SPEC.decide(facts, ask)
