"""Questions about a task that the machines above the spec need answered, so that none of them names a status.

Each is a plain function of facts or status; the state tables stay in one place.
"""

from __future__ import annotations

from chongming_spec.algebra import Tell
from chongming_spec.decide import Decision
from chongming_spec.effects import CLOSE, END, OPEN, REVIVE
from chongming_spec.facts import CarrierView, Deadline, Facts
from chongming_spec.states import OCCUPYING, TaskStatus

_MOVING = OCCUPYING | {TaskStatus.QUEUED, TaskStatus.RETRY_WAIT}
_STANDS: dict[str, frozenset[TaskStatus]] = {
    "stop": frozenset({TaskStatus.STOPPING, TaskStatus.STOPPED}),
    "cancel": frozenset({TaskStatus.STOPPING, TaskStatus.CANCELLED}),
    "pause": frozenset({TaskStatus.PAUSED}),
    "resume": frozenset({TaskStatus.QUEUED, TaskStatus.STARTING, TaskStatus.RUNNING, TaskStatus.PAUSING}),
}


def launch_pending(facts: Facts) -> bool:
    """Whether an attempt is open whose carrier is still to be launched (D6, D23)."""
    return facts.status in OCCUPYING and facts.carrier is CarrierView.NONE and not facts.requested.ends


def awaits_slot(facts: Facts) -> bool:
    """Whether it will start as soon as its backoff is over and a slot is granted (D17)."""
    return facts.status in (TaskStatus.QUEUED, TaskStatus.RETRY_WAIT)


def awaits_backoff(facts: Facts) -> bool:
    """Whether it waits between attempts, so that a slot that is not free sends it to the queue (D17)."""
    return facts.status is TaskStatus.RETRY_WAIT


def awaits_parking(facts: Facts) -> bool:
    """Whether a pause is under way and not settled."""
    return facts.status is TaskStatus.PAUSING


def is_held(facts: Facts) -> bool:
    """Whether it is on hold, in place or not."""
    return facts.status is TaskStatus.PAUSED


def succeeded(status: TaskStatus) -> bool:
    """Whether this is the one good end."""
    return status is TaskStatus.SUCCEEDED


def timed_out(facts: Facts) -> bool:
    """Whether a timeout has decided the attempt and nobody asked it to end (D14)."""
    return facts.verdict is not Deadline.NONE and not facts.requested.ends


def request_stands(verb: str, status: TaskStatus) -> bool:
    """D13: whether a request that changed nothing is nevertheless what is the case."""
    return status in _STANDS.get(verb, frozenset())


def saved_ahead(decision: Decision) -> bool:
    """D23: whether this record must be durable before anything else happens to the task."""
    rule = decision.rule
    return rule is not None and (rule.out_of_band or OPEN in rule.effects)


def tells(decision: Decision) -> tuple[Tell, ...]:
    """What the carrier must be told after a decision."""
    return () if decision.rule is None else decision.rule.tells


def is_abandoned(facts: Facts) -> bool:
    """Whether the carrier lives on and nobody waits for it."""
    return facts.carrier is CarrierView.ABANDONED


def clears_attempt(decision: Decision) -> bool:
    """Whether what belonged to an attempt is over with this record, so that the next one's time begins at nothing
    (D4).
    """
    return decision.rule is not None and any(effect in decision.rule.effects for effect in (CLOSE, END, REVIVE))


def is_confirmed(verb: str, status: TaskStatus, changed: bool) -> bool:
    """D13: for a pause, whether the task is paused; for any other verb, whether its request stands."""
    if verb == "pause":
        return status is TaskStatus.PAUSED
    return changed or request_stands(verb, status)


def moves_by_itself(status: TaskStatus) -> bool:
    """Whether something will happen to it without anybody asking: an attempt is under way or will be."""
    return status in _MOVING
