"""The state machine under any sequence of verbs: one generated rule per verb, held against the meaning of a step.

After each rule three things are compared or asked: the machine did what `step` does to the snapshot before it, or
raised what `step` refuses and changed nothing; the invariants hold; and what could be read of the history before is
still its beginning.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from chongming_spec.algebra import Verb
from chongming_spec.decide import SPEC, Refusal
from chongming_spec.errors import InvalidTransition
from chongming_spec.facts import CARRIERS_IN, CarrierView, Deadline, EndingKind, coherent
from chongming_spec.replay import replay
from chongming_spec.snapshot import Details, Transition
from chongming_spec.states import OCCUPYING
from chongming_spec.step import Step, step
from chongming_task.core.state_machine import StateMachine
from tests.property.invariants import complaints, occupies
from tests.property.tasks import BEGIN, PARAMETERS, WORLD, ask_of, calls, watch_of

OWNER = "me#1"
ROUND_ABOUT = ("reset", "adopt")
PICKS = st.lists(st.integers(0, 9), max_size=8)
_EXAMPLES = {"ending": EndingKind.RAISED, "deadline": Deadline.START, "retries": True, "reason": "why", "actor": "ann"}
_GIVEN = {verb.name: WORLD.get(verb.name) or tuple(param.name for param in verb.params) for verb in SPEC.verbs}
SHORT_CALLS = {
    verb: {name: value for name, value in _EXAMPLES.items() if name in names} for verb, names in _GIVEN.items()
}


class Life(RuleBasedStateMachine):
    """One task, its clock, and what was read of it before."""

    machine: StateMachine
    now: datetime
    read: tuple[Transition, ...] = ()

    @initialize(max_attempts=st.integers(1, 2), pausable=st.booleans(), killable=st.booleans(), is_node=st.booleans())
    def create(self, max_attempts: int, pausable: bool, killable: bool, is_node: bool) -> None:
        self.now = BEGIN
        self.machine = StateMachine.create("t-1", "job", max_attempts=max_attempts, owner=OWNER, now=lambda: self.now)
        self.machine.watch(pausable=pausable, killable=killable, dependencies_open=is_node)

    def meaning(self, verb: str, call: dict[str, Any]) -> Step | Refusal:
        """What the specification says of a call, asked of the frozen snapshot."""
        values = {name: value for name, value in call.items() if name not in ("actor", "reason")}
        details = Details(self.now, call.get("actor") or OWNER, call.get("reason"), values=values)
        return step(self.machine.snapshot, watch_of(self.machine.facts), ask_of(verb, call), details)

    def use(self, verb: str, call: dict[str, Any]) -> None:
        """Take a verb, and hold what comes of it against its meaning."""
        meant = self.meaning(verb, call)
        if isinstance(meant, Refusal):
            self.is_refused(verb, call, meant)
            return
        before = self.machine.version
        rest = {name: value for name, value in call.items() if name not in ("actor", "reason")}
        decision = self.machine.step(verb, call.get("actor"), call.get("reason"), rest)
        assert decision == meant.decision
        assert self.machine.snapshot == meant.snapshot
        assert watch_of(self.machine.facts) == meant.watch
        assert self.machine.transitions_since(before) == meant.transitions
        assert self.machine.attempt_count == 0 or meant.closed in (None, self.machine.attempts[-1].disposition)
        assert not meant.opened or self.machine.attempts[-1].started_at == meant.snapshot.started_at

    def is_refused(self, verb: str, call: dict[str, Any], meant: Refusal) -> None:
        """20: the error names the guard, and not a bit of the task is another one."""
        before = self.everything()
        snapshot = self.machine.snapshot
        with pytest.raises(InvalidTransition) as caught:
            self.machine.step(verb, call.get("actor"), call.get("reason"), call)
        assert caught.value.guard == (None if meant.guard is None else meant.guard.name)
        assert type(caught.value) is (InvalidTransition if meant.guard is None else meant.guard.error)
        assert caught.value.allowed == meant.allowed
        assert self.everything() == before
        assert self.machine.snapshot is snapshot

    def everything(self) -> str:
        """All that there is to the task, as text."""
        machine = self.machine
        return repr((machine.snapshot, machine.facts, machine.transitions, machine.attempts))

    def live_on(self, picks: list[int]) -> None:
        """Let happen what does not end it, one thing per pick: most verbs end a task, and lives would be short."""
        for pick in picks:
            facts = self.machine.facts
            if facts.carrier is CarrierView.NONE and facts.status in OCCUPYING:
                self.machine.watch(carrier=CarrierView.LAUNCHING)
            going = [
                verb.name
                for verb in SPEC.verbs
                if verb.name not in ROUND_ABOUT
                and isinstance(meant := self.meaning(verb.name, SHORT_CALLS[verb.name]), Step)
                and meant.decision.changed
                and not meant.snapshot.is_terminal
            ]
            if going:
                verb = going[pick % len(going)]
                self.use(verb, SHORT_CALLS[verb])
            self.nothing_is_wrong()

    @rule(data=st.data())
    def illegal(self, data: st.DataObject) -> None:
        """Something is refused in every state; it raises and changes nothing."""
        refused = [
            (verb.name, meant)
            for verb in SPEC.verbs
            if isinstance(meant := self.meaning(verb.name, SHORT_CALLS[verb.name]), Refusal)
        ]
        verb, meant = data.draw(st.sampled_from(refused))
        self.is_refused(verb, SHORT_CALLS[verb], meant)

    @rule(seconds=st.integers(-60, 3600))
    def time_passes(self, seconds: int) -> None:
        """The wall clock may also be put back."""
        self.now += timedelta(seconds=seconds)

    @rule(carrier=st.sampled_from(CarrierView), is_open=st.booleans(), lease_over=st.booleans())
    def world_changes(self, carrier: CarrierView, is_open: bool, lease_over: bool) -> None:
        """Whoever watches knows something else of the carrier, of upstream, of the owner."""
        facts = self.machine.facts
        self.machine.watch(dependencies_open=is_open, lease_over=lease_over)
        if carrier in CARRIERS_IN[facts.status] and coherent(facts._replace(carrier=carrier)):
            self.machine.watch(carrier=carrier)

    @invariant()
    def nothing_is_wrong(self) -> None:
        """1 to 12, 17 to 19, 22 to 27; and the offline replay agrees."""
        if not hasattr(self, "machine"):
            return
        history = self.machine.transitions
        assert complaints(self.machine.snapshot, history, self.machine.attempts) == []
        assert replay(history).findings == ()
        assert coherent(self.machine.facts)
        assert self.machine.snapshot.occupies is occupies(self.machine.snapshot)

    @invariant()
    def what_was_read_stays(self) -> None:
        """21: an earlier reading is the beginning of every later one."""
        if not hasattr(self, "machine"):
            return
        history = self.machine.transitions
        assert history[: len(self.read)] == self.read
        self.read = history


def _rule_of(verb: Verb) -> Callable[..., None]:
    """The rule of one verb; a shrunk program prints it by the verb's name."""

    def take(self: Life, before: list[int], call: dict[str, Any]) -> None:
        self.live_on(before)
        self.use(verb.name, call)

    take.__name__ = take.__qualname__ = f"do_{verb.name}"
    take.__doc__ = verb.meaning
    made: Callable[..., None] = rule(before=PICKS, call=calls(verb))(take)
    return made


EveryVerb = type("EveryVerb", (Life,), {f"do_{verb.name}": _rule_of(verb) for verb in SPEC.verbs})
TestEveryVerb = EveryVerb.TestCase  # type: ignore[attr-defined]


def test_there_is_a_rule_for_every_verb() -> None:
    """D39: none of the verbs is left out of the random lives, and none of their parameters."""
    assert {f"do_{verb.name}" for verb in SPEC.verbs} <= set(dir(EveryVerb))
    assert {name for names in WORLD.values() for name in names} <= PARAMETERS.keys()
