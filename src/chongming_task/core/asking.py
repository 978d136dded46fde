"""A call turned into an ask, and a refusal turned into the error that is raised (D13)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chongming_spec.decide import SPEC, Refusal
from chongming_spec.errors import InvalidTransition
from chongming_spec.facts import Ask, Deadline
from chongming_spec.states import TaskStatus
from chongming_spec.texts import is_blank
from chongming_task.core.names import status_named

ASKED = frozenset({"failure", "to", "force", "alongside", "gone", "retries", "ending", "deadline"})


def ask_of(verb: str, actor: str | None, reason: str | None, values: Mapping[str, Any]) -> Ask:
    """What a decision needs to know of a call. One that gives nothing of `ASKED` may be asked by `PLAIN_ASKS`."""
    failure = values.get("failure")
    target = values.get("to")
    return Ask(
        verb,
        has_actor=not is_blank(actor),
        has_reason=not is_blank(reason),
        force=bool(values.get("force", False)),
        alongside=bool(values.get("alongside", False)),
        gone=bool(values.get("gone", False)),
        retries=bool(values.get("retries", False)),
        kind=None if failure is None else failure.kind,
        target=None if target is None else status_named(target),
        ending=values.get("ending"),
        deadline=values.get("deadline", Deadline.NONE),
    )


def refusal_error(refusal: Refusal, task_id: str) -> InvalidTransition:
    """The error of a refusal, with `.guard`, `.sentence` and `.allowed` (D13)."""
    guard = refusal.guard
    verb = SPEC.verb_of[refusal.verb]
    targets = sorted({str(rule.target) for rule in verb.rules if rule.target is not None}) or ["any terminal state"]
    requested = targets[0] if len(targets) == 1 else refusal.verb
    if guard is None:
        message = (
            f"illegal transition: {refusal.source} -> {requested}; trigger {verb.trigger!r}; "
            f"{reachable(refusal.source)}"
        )
    else:
        message = f"{refusal.verb} refused while {refusal.source}: {guard.name}. Needed: {guard.sentence}"
    return (InvalidTransition if guard is None else guard.error)(
        message,
        current=refusal.source,
        requested=requested,
        allowed=refusal.allowed,
        guard=None if guard is None else guard.name,
        sentence="" if guard is None else guard.sentence,
        trigger=verb.trigger,
        task_id=task_id,
    )


def reachable(status: TaskStatus) -> str:
    """Where the edges lead from here, in words."""
    allowed = SPEC.allowed(status)
    return f"allowed now: {', '.join(allowed) if allowed else 'none (terminal state)'}"
