"""What a supervisor wants done. A driver hands these on and never waits; what the world answers is the next input."""

from __future__ import annotations

from typing import NamedTuple

from chongming_spec.snapshot import TaskSnapshot, Transition
from chongming_spec.states import TaskStatus
from chongming_task.core.ports import Ending, Signal


class Answer(NamedTuple):
    """What came of a verb (D13). `confirmed`: for a pause, that the task is paused; else that the request stands."""

    task_id: str
    verb: str
    status: TaskStatus
    changed: bool
    confirmed: bool
    persisted: bool


class Save(NamedTuple):
    """Make these records durable. `ahead`: nothing else happens to the task until they are (D23)."""

    snapshot: TaskSnapshot
    transitions: tuple[Transition, ...]
    ahead: bool


class Publish(NamedTuple):
    """These records are durable: let everybody see them (D31)."""

    snapshot: TaskSnapshot
    transitions: tuple[Transition, ...]


class NeedSlot(NamedTuple):
    """It is ready to start the carrier that will be `run`; the answer names that number."""

    run: int


class ReturnSlot(NamedTuple):
    """The slot of `run` is not held or not wanted any more: exactly one for each `NeedSlot` (D17)."""

    run: int


class Launch(NamedTuple):
    """Start a carrier for the open attempt."""

    run: int
    snapshot: TaskSnapshot


class Tell(NamedTuple):
    """Signal a carrier."""

    run: int
    signal: Signal
    reason: str


class Kill(NamedTuple):
    """End a carrier by force."""

    run: int


class Abandon(NamedTuple):
    """Nobody waits for this carrier any more; it keeps its slot until it exits (D17)."""

    run: int


class WakeAt(NamedTuple):
    """Set the timer of this name, replacing an earlier one."""

    key: str
    mono_ms: int


class Disarm(NamedTuple):
    """Forget the timer of this name."""

    key: str


class Resolve(NamedTuple):
    """Answer a waiter: with an answer, or with the error to raise."""

    waiter: int
    answer: Answer | Exception


class Ended(NamedTuple):
    """How the carrier of the attempt ended, for those who ask for the exception itself."""

    ending: Ending


Action = Save | Publish | NeedSlot | ReturnSlot | Launch | Tell | Kill | Abandon | WakeAt | Disarm | Resolve | Ended
