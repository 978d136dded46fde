"""A toy spec for the tests of renderer and generator: two states, one edge, one verb."""

from __future__ import annotations

from chongming_spec import guards as g
from chongming_spec.algebra import Caller, Param, Rule, Verb
from chongming_spec.decide import Lifecycle
from chongming_spec.effects import OPEN
from chongming_spec.states import STATE_OF, State, TaskStatus
from chongming_spec.transitions import Edge

IDLE, LIT = TaskStatus.QUEUED, TaskStatus.STARTING
STATES: tuple[State, ...] = (STATE_OF[IDLE], STATE_OF[LIT])

LIGHT = Verb(
    "light",
    Caller.PERSON,
    "user:light",
    "Light the lamp.",
    rules=(Rule(IDLE, LIT, effects=(OPEN,)),),
    already=frozenset({LIT}),
    params=(
        Param("wick", "float", "1.0", "How far it is turned up."),
        Param("actor", "str | None", "None", "Who asks."),
        Param("reason", "str | None", "None", "Why."),
    ),
)
TOY = Lifecycle(edges=(Edge(IDLE, LIT, "It is dark.", g.BUDGET),), out_of_band=(), verbs=(LIGHT,))
