"""What decisions depend on, and nothing else.

`Facts` is the task as a decision sees it: enums, bools and ints, no times, texts or mappings. The first block comes
from the task's row, the second from whoever watches its carrier. `Ask` is the same for a request. Texts and times
travel beside them in `Details` and are only copied. This is what lets a solver confirm a rule over all paths in
seconds.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from chongming_spec.failures import FailureKind
from chongming_spec.states import OCCUPYING, TERMINAL, TaskStatus, occupies


class Requested(StrEnum):
    """`snapshot.requested_action`: what was asked of the running body and is not settled yet (D4)."""

    NONE = "none"
    PAUSE = "pause"
    STOP = "stop"
    CANCEL = "cancel"

    @property
    def ends(self) -> bool:
        """Whether the body was asked to end."""
        return self in (Requested.STOP, Requested.CANCEL)


class CarrierView(StrEnum):
    """What the supervisor knows of the thread, process or call that carries the current attempt.

    `none` also covers a launch that is granted but not performed yet; `abandoned` one that nobody waits for any more.
    """

    NONE = "none"
    LAUNCHING = "launching"
    LIVE = "live"
    PARKED = "parked"
    ABANDONED = "abandoned"


class CarrierState(StrEnum):
    """`snapshot.carrier_state`: whether an earlier carrier of the task may still be at work (D10)."""

    NONE = "none"
    ABANDONED = "abandoned"
    ORPHANED = "orphaned"


class Deadline(StrEnum):
    """The three timeouts; also the verdict one leaves behind (D14). `none`: no verdict."""

    NONE = "none"
    START = "start"
    ATTEMPT = "attempt"
    IDLE = "idle"


class EndingKind(StrEnum):
    """How a carrier ended; the rows in `endings` say what each means."""

    RETURNED = "returned"
    INVALID = "invalid"
    RAISED = "raised"
    CANCELLED = "cancelled"
    DIED = "died"
    KILLED = "killed"
    WITHDRAWN = "withdrawn"
    LAUNCH_FAILED = "launch_failed"


class Facts(NamedTuple):
    """One task, projected. `stray` is true while `carrier_state` is not `none` (D10)."""

    status: TaskStatus
    requested: Requested = Requested.NONE
    in_place: bool = False
    started: bool = False
    attempt: int = 0
    max_attempts: int = 1
    stray: bool = False
    carrier: CarrierView = CarrierView.NONE
    verdict: Deadline = Deadline.NONE
    abort_left: bool = False
    killed: bool = False
    pausable: bool = True
    killable: bool = False
    dependencies_open: bool = False
    lease_over: bool = False


class Ask(NamedTuple):
    """One request, projected. `retries` is the retry policy's answer about this ending."""

    verb: str
    has_actor: bool = False
    has_reason: bool = False
    force: bool = False
    alongside: bool = False
    gone: bool = False
    retries: bool = False
    kind: FailureKind | None = None
    target: TaskStatus | None = None
    ending: EndingKind | None = None
    deadline: Deadline = Deadline.NONE


REQUESTS_IN: dict[TaskStatus, tuple[Requested, ...]] = dict.fromkeys(TaskStatus, (Requested.NONE,)) | {
    TaskStatus.PAUSING: (Requested.PAUSE,),
    TaskStatus.STOPPING: (Requested.STOP, Requested.CANCEL),
}

_NEW = (CarrierView.NONE, CarrierView.LAUNCHING)
CARRIERS_IN: dict[TaskStatus, tuple[CarrierView, ...]] = {
    status: (CarrierView.NONE, CarrierView.ABANDONED) if status in TERMINAL else (CarrierView.NONE,)
    for status in TaskStatus
} | {
    TaskStatus.STARTING: (*_NEW, CarrierView.LIVE),
    TaskStatus.RUNNING: (CarrierView.LIVE,),
    TaskStatus.PAUSING: (*_NEW, CarrierView.LIVE, CarrierView.PARKED),
    TaskStatus.PAUSED: (CarrierView.NONE, CarrierView.PARKED),
    TaskStatus.STOPPING: (*_NEW, CarrierView.LIVE, CarrierView.PARKED),
}

VERDICTS_IN: frozenset[TaskStatus] = OCCUPYING


def coherent(facts: Facts) -> bool:
    """Whether `facts` can be a task at all (invariants 4-8 of one task; D3, D4, D5, D14)."""
    status = facts.status
    occupied = occupies(status, facts.in_place)
    return (
        facts.requested in REQUESTS_IN[status]
        and facts.carrier in CARRIERS_IN[status]
        and (not facts.in_place or status is TaskStatus.PAUSED)
        and (status is not TaskStatus.PAUSED or facts.in_place == (facts.carrier is CarrierView.PARKED))
        and (facts.started or not occupied)
        and (occupied or status in TERMINAL or not facts.started)
        and (facts.attempt >= 1 or not facts.started)
        and 0 <= facts.attempt <= facts.max_attempts
        and facts.max_attempts >= 1
        and (facts.verdict is Deadline.NONE or status in VERDICTS_IN)
        and (not facts.abort_left or status is TaskStatus.PAUSING)
        and (not facts.killed or facts.killable)
    )
