"""Help for tests of the pure supervisor: a rig that plays the world, by hand and without a thread or a clock.

The rig saves at once and grants slots at once unless told not to, keeps the timers that were set, and fires them when
time is advanced. Actions are compared as short texts (`words`), so that a whole answer fits one list.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from chongming_spec.executors import EXECUTOR_OF
from chongming_spec.facts import Deadline, EndingKind
from chongming_spec.failures import FailureKind
from chongming_spec.replay import replay
from chongming_spec.snapshot import Failure
from chongming_spec.states import TaskStatus
from chongming_task.clock import Moment
from chongming_task.core import actions as act
from chongming_task.core import inputs as inp
from chongming_task.core.ports import Ending
from chongming_task.core.requests import asked
from chongming_task.core.state_machine import StateMachine
from chongming_task.core.supervisor import Supervisor
from chongming_task.core.terms import Terms

START = datetime(2026, 1, 1, tzinfo=UTC)
RAISED = Failure(FailureKind.EXCEPTION, message="boom", exception_type="ValueError")
CANCELLED = Failure(FailureKind.CANCELLED, message="cancelled")


class Policy:
    """A retry policy that answers as told; an exception given as an answer is raised."""

    def __init__(self, retries: bool | Exception = True, delay_ms: int | Exception = 0) -> None:
        self.answer, self.delay = retries, delay_ms
        self.asked_about: list[BaseException] = []

    def retries(self, error: BaseException) -> bool:
        self.asked_about.append(error)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def delay_ms(self, attempt: int, rng: random.Random) -> int:
        if isinstance(self.delay, Exception):
            raise self.delay
        return self.delay


def words(actions: Iterable[act.Action]) -> list[str]:
    """Each action as a short text; saves and publications are left out, see `saves`."""
    return [word for action in actions if (word := _word(action)) is not None]


def saves(actions: Iterable[act.Action]) -> list[str]:
    """What is to be made durable, as `status version` with `ahead` where nothing else happens before."""
    return [
        f"{one.snapshot.status} {one.snapshot.status_version}" + (" ahead" if one.ahead else "")
        for one in actions
        if isinstance(one, act.Save)
    ]


def _word(action: act.Action) -> str | None:
    match action:
        case act.Save() | act.Publish():
            return None
        case act.Launch(run):
            return f"launch {run}"
        case act.Tell(run, signal):
            return f"tell {run} {signal}"
        case act.Kill(run):
            return f"kill {run}"
        case act.Abandon(run):
            return f"abandon {run}"
        case act.WakeAt(key, mono_ms):
            return f"wake {key} at {mono_ms}"
        case act.Disarm(key):
            return f"disarm {key}"
        case act.Resolve(waiter, answer):
            return f"answer {waiter}: {_answer(answer)}"
        case act.Ended(ending):
            return f"ended {ending.kind}"
        case act.NeedSlot(run):
            return f"need slot {run}"
    return f"return slot {action.run}"


def _answer(answer: act.Answer | Exception) -> str:
    if isinstance(answer, Exception):
        return f"refused {getattr(answer, 'guard', None)}"
    return f"{answer.status}, {'changed' if answer.changed else 'already'}, {'yes' if answer.confirmed else 'no'}"


class Rig:
    """One supervisor and the world around it."""

    def __init__(
        self,
        *,
        max_attempts: int = 1,
        policy: Policy | None = None,
        executor: str = "thread",
        saving: bool = True,
        granting: bool = True,
        grace_ms: int = 10_000,
        **limits: int,
    ) -> None:
        self.policy = policy or Policy()
        self.saving, self.granting = saving, granting
        self.now = Moment(START, 0)
        self.timers: dict[str, int] = {}
        self.answers: dict[int, act.Answer | Exception] = {}
        self.log: list[act.Action] = []
        self.run = self.wanted = 0
        self.waiters = 0
        machine = StateMachine.create("t1", "job", max_attempts=max_attempts, owner="owner", now=lambda: START)
        terms = Terms(
            retry=self.policy,
            executor=EXECUTOR_OF[executor],
            limits_ms={Deadline(name): limit for name, limit in limits.items()},
            grace_ms=grace_ms,
        )
        self.supervisor = Supervisor(machine, terms, random.Random(1))
        self.machine = machine
        self.absorb(self.supervisor.created(self.now))

    # Telling it something

    def tell(self, letter: inp.Input) -> list[act.Action]:
        """Give it one input, and what the world answers at once; all actions in order."""
        return self.absorb(self.supervisor.handle(letter, self.now))

    def absorb(self, actions: list[act.Action]) -> list[act.Action]:
        letters: deque[inp.Input] = deque()
        done: list[act.Action] = []
        while True:
            for action in actions:
                done.append(action)
                letters.extend(self._world(action))
            if not letters:
                break
            actions = self.supervisor.handle(letters.popleft(), self.now)
        self.log += done
        return done

    def _world(self, action: act.Action) -> list[inp.Input]:
        match action:
            case act.Save(snapshot) if self.saving:
                return [inp.Saved(snapshot.status_version)]
            case act.NeedSlot(run):
                self.wanted = run
                if self.granting:
                    return [inp.SlotGranted(run)]
            case act.Launch(run):
                self.run = run
            case act.WakeAt(key, mono_ms):
                self.timers[key] = mono_ms
            case act.Disarm(key):
                self.timers.pop(key, None)  # one whose ringing waits for a record is gone from here already
            case act.Resolve(waiter, answer):
                assert waiter not in self.answers, "answered twice"
                self.answers[waiter] = answer
        return []

    def ask(self, verb: str, **values: Any) -> list[act.Action]:
        """A person asks; the answer lands in `answers` under the number of the ask, counted from 1."""
        self.waiters += 1
        return self.tell(asked(verb, values)._replace(waiter=self.waiters))

    def started(self, run: int | None = None) -> list[act.Action]:
        return self.tell(inp.Started(self.run if run is None else run))

    def parked(self, run: int | None = None) -> list[act.Action]:
        return self.tell(inp.Parked(self.run if run is None else run))

    def granted(self) -> list[act.Action]:
        """The slot that was asked for last is granted."""
        return self.tell(inp.SlotGranted(self.wanted))

    def ended(self, kind: str, run: int | None = None, **values: Any) -> list[act.Action]:
        """The carrier exits; kinds that fail get a failure, unless one is given."""
        if kind in ("raised", "launch_failed", "died"):
            values = {"failure": RAISED, **values}
        if kind == "cancelled":
            values = {"failure": CANCELLED, **values}
        return self.tell(inp.Exited(self.run if run is None else run, Ending(EndingKind(kind), **values)))

    def jump(self, milliseconds: int) -> None:
        """Only the wall clock jumps."""
        self.now = self.now._replace(wall=self.now.wall + timedelta(milliseconds=milliseconds))

    def pass_time(self, milliseconds: int) -> None:
        """Both clocks go on; nothing fires."""
        self.now = Moment(
            self.now.wall + timedelta(milliseconds=milliseconds),
            self.now.mono_ms + milliseconds,
        )

    def advance(self, milliseconds: int, beats: tuple[int, int | None] = (0, None)) -> list[act.Action]:
        """Both clocks go on, and timers fire in order on the way."""
        target = self.now.mono_ms + milliseconds
        done: list[act.Action] = []
        while self.timers and min(self.timers.values()) <= target:
            key = min(self.timers, key=lambda one: self.timers[one])
            self.pass_time(max(0, self.timers.pop(key) - self.now.mono_ms))
            done += self.tell(inp.TimerFired(key, beats))
        self.pass_time(target - self.now.mono_ms)
        return done

    # Shortcuts and looks

    def running(self) -> Rig:
        """Bring a new task to `running`."""
        self.ask("start")
        self.started()
        return self

    def running_to_failure(self) -> Rig:
        """Bring it to `failed`, acknowledging by hand whatever is to be saved; then acknowledge no more."""
        saving, granting = self.saving, self.granting
        self.saving = self.granting = True
        self.tell(inp.Saved(1))
        self.running().ended("raised")
        self.saving, self.granting = saving, granting
        return self

    @property
    def status(self) -> TaskStatus:
        return self.machine.status

    @property
    def path(self) -> str:
        """The states gone through, in order."""
        history = self.machine.transitions
        assert replay(history).findings == ()
        return " ".join(record.to_status for record in history)

    def last(self) -> str:
        """The newest record as `trigger by actor: reason`."""
        record = self.machine.transitions[-1]
        return f"{record.trigger} by {record.actor}: {record.reason}"

    @property
    def failure(self) -> Failure:
        failure = self.machine.snapshot.failure
        assert failure is not None
        return failure
