"""The shapes of verb rows: rules, parameters, verbs.

A verb is a decision table. Its rules are grouped by source state; of the rules for one state, at most one has all its
`when` guards true (the laws check that over the whole matrix). A rule leads to a target in one hop, or in two by way of
`via`: two records in one commit. A rule without a target changes no status; if it has no effects either, the verb is
*already so* there. `tells` is what the carrier must be told, after the record.
"""

from __future__ import annotations

from enum import StrEnum

import attrs

from chongming_spec.effects import Effect
from chongming_spec.facts import CarrierView
from chongming_spec.failures import FailureKind
from chongming_spec.guards import Guard
from chongming_spec.states import TaskStatus


class Tell(StrEnum):
    """What a carrier must be told. `stop` opens the grace window, `shorten` can only shorten it (D6)."""

    STOP = "stop"
    SHORTEN = "shorten"
    PAUSE = "pause"
    RESUME = "resume"
    KILL = "kill"


class Caller(StrEnum):
    """Who may use a verb: a person, the machine that records facts, or the world that reports them."""

    PERSON = "person"
    MACHINE = "machine"
    WORLD = "world"


@attrs.frozen
class Rule:
    """From `source`, when all of `when` hold: go to `target` (by way of `via`) with `effects`, and tell the carrier.

    `asked_target`: the target is the one asked for; `trigger` overrides the verb's own, `via_trigger` and `via_reason`
    stand in the first of two records.
    """

    source: TaskStatus
    target: TaskStatus | None = None
    when: tuple[Guard, ...] = ()
    effects: tuple[Effect, ...] = ()
    via: TaskStatus | None = None
    via_reason: str | None = None
    via_trigger: str | None = None
    tells: tuple[Tell, ...] = ()
    trigger: str | None = None
    out_of_band: bool = False
    asked_target: bool = False

    @property
    def changes(self) -> bool:
        """Whether the rule leads to a record."""
        return self.target is not None or self.asked_target


@attrs.frozen
class Param:
    """One keyword parameter: its Python type and default as text, and its meaning; generates signatures and options."""

    name: str
    type: str
    default: str
    meaning: str


@attrs.frozen
class Verb:
    """One verb. `guards` are refused in this order, after the look-up and before a rule is chosen.

    `already`: states in which it is done before it is asked (D13). `kind`: the failure recorded when none is given.
    `testifies`: what the very call says of the carrier ("it runs", "it is parked"). `reason`: the one recorded when
    none is given, for verbs whose record must not be without (D2).
    """

    name: str
    caller: Caller
    trigger: str
    meaning: str
    rules: tuple[Rule, ...]
    guards: tuple[Guard, ...] = ()
    already: frozenset[TaskStatus] = frozenset()
    params: tuple[Param, ...] = ()
    kind: FailureKind | None = None
    testifies: CarrierView | None = None
    reason: str | None = None


def each(
    sources: frozenset[TaskStatus] | tuple[TaskStatus, ...],
    target: TaskStatus | None,
    *,
    when: tuple[Guard, ...] = (),
    effects: tuple[Effect, ...] = (),
    tells: tuple[Tell, ...] = (),
    out_of_band: bool = False,
    asked_target: bool = False,
) -> tuple[Rule, ...]:
    """The same rule for each of `sources`, in the order of the states."""
    return tuple(
        Rule(
            source,
            target,
            when=when,
            effects=effects,
            tells=tells,
            out_of_band=out_of_band,
            asked_target=asked_target,
        )
        for source in TaskStatus
        if source in sources
    )
