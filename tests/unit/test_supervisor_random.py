"""Random sequences of everything a supervisor can be told, in any order, held against a few plain promises.

The world here is slow and impolite: saves are acknowledged late, slots granted late or denied, carriers confirm, park
and exit when they like, and old timers ring. After each input:

- the slots add up: each is asked for once, and returned once, by the exit of its carrier or before there is one (D17);
- no carrier is told anything before it was launched or after it has exited;
- the history is one a task could have lived, and the facts are coherent;
- timers that ring are timers that were set, and nobody is answered twice.

At the end the world is made quiet: what is still there is told to end, and then nothing is left over.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from chongming_spec.facts import EndingKind, coherent
from chongming_spec.replay import replay
from chongming_task.core import actions as act
from chongming_task.core import inputs as inp
from chongming_task.core.ports import Ending, Signal
from tests.unit.supervising import RAISED, Policy, Rig

ADMIN = {"actor": "li", "reason": "because"}
ASKS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("start", {}),
    ("stop", {}),
    ("stop", {"graceful": False}),
    ("stop", {"timeout": 1}),
    ("cancel", {}),
    ("pause", {"timeout": 1}),
    ("pause", {}),
    ("resume", {}),
    ("retry", {}),
    ("retry", {"force": True}),
    ("retry", {"force": True, "alongside": True}),
    ("skip", {}),
    ("reset", {**ADMIN, "alongside": True}),
    ("reset", ADMIN),
    ("force_transition", {**ADMIN, "to": "failed"}),
    ("force_transition", {**ADMIN, "to": "stopped"}),
)


class Scheduler:
    """Whose slots are they? Raises AssertionError where one is asked for or returned twice."""

    def __init__(self) -> None:
        self.wanted: list[int] = []
        self.held: list[int] = []
        self.gone: set[int] = set()

    def hear(self, action: act.Action) -> None:
        match action:
            case act.NeedSlot(run):
                assert run not in (*self.wanted, *self.held, *self.gone), f"slot {run} was asked for twice"
                assert not self.wanted, "a second slot was asked for while the first is not granted"
                self.wanted.append(run)
            case act.ReturnSlot(run):
                assert run in (*self.wanted, *self.held), f"slot {run} was returned without being held"
                self.gone.add(run)
                for slots in (self.wanted, self.held):
                    if run in slots:
                        slots.remove(run)
            case act.Launch(run):
                assert run in self.held, f"run {run} was launched without a slot"

    def grant(self) -> inp.SlotGranted | None:
        if not self.wanted:
            return None
        self.held.append(self.wanted.pop())
        return inp.SlotGranted(self.held[-1])


class World:
    """The rig, the scheduler, and the carriers that live; each carrier has confirmed or not, and was told things."""

    def __init__(self, executor: str) -> None:
        self.scheduler = Scheduler()
        self.live: dict[int, bool] = {}
        self.abandoned: list[int] = []
        self.unsaved: deque[int] = deque()
        self.grants: deque[inp.SlotGranted] = deque()
        self.rig = Rig(
            executor=executor,
            max_attempts=2,
            policy=Policy(delay_ms=200),
            saving=False,
            granting=False,
            grace_ms=1_000,
            start=2_000,
            attempt=3_000,
            idle=1_500,
        )
        self.heard = 0
        self.check()

    def check(self) -> None:
        for action in self.rig.log[self.heard :]:
            self.scheduler.hear(action)
            match action:
                case act.Save(snapshot):
                    self.unsaved.append(snapshot.status_version)
                case act.Launch(run):
                    self.live[run] = False
                case act.Tell(run) | act.Kill(run):
                    assert run in self.live, f"{action} but that carrier is not there"
                case act.Abandon(run):
                    assert run not in self.abandoned
                    self.abandoned.append(run)
        self.heard = len(self.rig.log)
        machine = self.rig.machine
        assert replay(machine.transitions).findings == ()
        assert coherent(machine.facts), machine.facts
        closed = [one.disposition is not None for one in machine.attempts]
        assert all(closed[:-1])
        assert not closed or closed[-1] is not machine.snapshot.occupies
        if not self.unsaved:  # else an exit may be waiting for a record
            strays = [run for run in self.abandoned if run in self.live]
            assert self.rig.supervisor.strays == len(strays)
            assert machine.snapshot.carrier_state == ("abandoned" if strays else "none")

    def tell(self, letter: inp.Input) -> None:
        self.rig.tell(letter)
        self.check()

    def save(self) -> None:
        if self.unsaved:
            self.tell(inp.Saved(self.unsaved.popleft()))

    def grant(self) -> None:
        """The scheduler grants; the letter may be on its way for a while."""
        letter = self.scheduler.grant()
        if letter is not None:
            self.grants.append(letter)

    def deliver(self) -> None:
        if self.grants:
            self.tell(self.grants.popleft())

    def deny(self) -> None:
        if self.scheduler.wanted:
            self.tell(inp.SlotDenied())

    def confirm(self, which: int) -> None:
        runs = [run for run, confirmed in self.live.items() if not confirmed]
        if runs:
            run = runs[which % len(runs)]
            self.live[run] = True
            self.tell(inp.Started(run))

    def park(self, which: int) -> None:
        runs = [run for run, confirmed in self.live.items() if confirmed]
        if runs:
            self.tell(inp.Parked(runs[which % len(runs)]))

    def exit(self, which: int, kind: EndingKind, retries: bool) -> None:
        runs = list(self.live)
        if runs:
            run = runs[which % len(runs)]
            del self.live[run]
            failure = None if kind is EndingKind.RETURNED else RAISED
            self.tell(inp.Exited(run, Ending(kind, failure=failure, retries=retries)))

    def ask(self, number: int) -> None:
        verb, values = ASKS[number % len(ASKS)]
        self.rig.ask(verb, **values)
        self.check()

    def advance(self, milliseconds: int) -> None:
        self.rig.advance(milliseconds)
        self.check()

    def ring(self, key: str) -> None:
        """A timer that was replaced or disarmed rings all the same: its callback was on its way already."""
        if key not in self.rig.timers:
            self.tell(inp.TimerFired(key))

    def finish(self) -> None:
        """Let everything become durable, end what lives, and see that nothing is left."""
        self.settle()
        self.rig.ask("stop", graceful=False)
        self.check()
        self.settle()
        for _ in range(3):
            while self.live:
                self.exit(0, EndingKind.CANCELLED, retries=False)
            self.settle()
            self.advance(20_000)
        assert self.rig.machine.snapshot.is_terminal, self.rig.path
        assert (self.scheduler.wanted, self.scheduler.held, self.rig.timers) == ([], [], {})
        assert len(self.rig.answers) == self.rig.waiters
        assert self.rig.supervisor.strays == 0
        assert self.rig.machine.snapshot.carrier_state == "none"

    def settle(self) -> None:
        while self.unsaved or self.grants:
            self.save()
            self.deliver()


def small(top: int) -> st.SearchStrategy[int]:
    return st.integers(0, top)


STEPS = st.one_of(
    st.tuples(st.just("ask"), small(len(ASKS) - 1)),
    st.tuples(st.sampled_from(["save", "save", "grant", "deliver", "deny"])),
    st.tuples(st.just("confirm"), small(2)),
    st.tuples(st.just("park"), small(2)),
    st.tuples(st.just("exit"), small(2), st.sampled_from(EndingKind), st.booleans()),
    st.tuples(st.just("advance"), st.sampled_from([0, 1, 100, 250, 1_000, 2_000, 6_000])),
    st.tuples(st.just("ring"), st.sampled_from(["window", "backoff", "resume", "start", "attempt", "idle", "pause:1"])),
)
FIRST: list[tuple[Any, ...]] = [("save",), ("ask", 0), ("save",), ("grant",), ("deliver",)]


def live(executor: str, steps: list[tuple[Any, ...]]) -> World:
    world = World(executor)
    for name, *values in steps:
        getattr(world, name)(*values)
    world.finish()
    return world


@settings(max_examples=settings().max_examples * 3)
@given(st.sampled_from(["thread", "process"]), st.sampled_from([[], FIRST]), st.lists(STEPS, min_size=1, max_size=25))
def test_any_sequence_keeps_its_promises(executor: str, first: list[Any], steps: list[Any]) -> None:
    """D3, D5, D17, D18, P-075, P-128, P-154: slots add up, histories are true, and everything can be ended."""
    live(executor, first + steps)


def test_a_grant_that_crosses_a_pause_is_returned_once() -> None:
    """D17: the slot was given back while its grant was on its way; the late letter changes nothing."""
    live("thread", [("save",), ("ask", 0), ("grant",), ("ask", 6), ("deliver",)])


def test_an_old_grant_is_not_taken_for_a_new_one() -> None:
    """D17: paused and resumed meanwhile, it waits for the slot that it asked for last."""
    steps = [("save",), ("ask", 0), ("grant",), ("ask", 6), ("ask", 7), ("deliver",)]
    world = live("thread", steps)
    assert "starting" not in world.rig.path


def test_the_exit_of_a_stray_does_not_take_back_what_is_wanted() -> None:
    """D10, D17: each slot is known by its carrier, so an old one's exit leaves the new one's request alone."""
    world = World("thread")
    steps: list[tuple[Any, ...]] = [
        ("save",),
        ("confirm", 0),
        ("save",),
        ("ask", 2),
        ("save",),
        ("advance", 0),
        ("save",),
    ]
    for name, *values in [*FIRST, *steps]:
        getattr(world, name)(*values)
    world.ask(10)
    world.settle()
    assert (world.scheduler.wanted, world.scheduler.held) == ([2], [1])
    world.exit(0, EndingKind.CANCELLED, False)
    assert (world.scheduler.wanted, world.scheduler.held) == ([2], [])
    assert Signal.STOP in [one.signal for one in world.rig.log if isinstance(one, act.Tell)]
    world.finish()
