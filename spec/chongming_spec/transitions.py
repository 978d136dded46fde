"""Every edge a task may take, and the few moves outside them.

Rules of this file. An edge that is not here cannot be taken by anything, with one exception: the `OUT_OF_BAND` rows,
which only persons take (and the reconciler, for `adopt` and an idempotent `retry`). Each of those begins a new epoch,
so whoever still acts for the old one is fenced. A guard on an edge binds whoever takes it, whatever verb they use.
`why` says what would go wrong without the edge.

D1: the 48 edges of the published table and five guarded ones, which are marked.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import attrs

from chongming_spec import guards as g
from chongming_spec.guards import Guard
from chongming_spec.states import REVIVABLE, TERMINAL, TaskStatus


@attrs.frozen
class Edge:
    """One edge, the guard that binds it (if any), and why it exists. `added`: not in the published table (D1)."""

    source: TaskStatus
    target: TaskStatus
    why: str
    guard: Guard | None = None
    added: bool = False


@attrs.frozen
class OutOfBand:
    """One move outside the edges: the verb that may make it, from where, to where (None: the same status)."""

    verb: str
    sources: frozenset[TaskStatus]
    targets: frozenset[TaskStatus] | None
    why: str


_S = TaskStatus

EDGES: tuple[Edge, ...] = (
    Edge(_S.PENDING, _S.BLOCKED, "Started while upstream tasks are open."),
    Edge(_S.PENDING, _S.QUEUED, "Started with nothing to wait for."),
    Edge(_S.PENDING, _S.SKIPPED, "Not needed after all."),
    Edge(_S.PENDING, _S.CANCELLED, "Called off before it was asked to run."),
    Edge(_S.PENDING, _S.STOPPED, "A person ended it before it was asked to run."),
    Edge(_S.BLOCKED, _S.QUEUED, "Its join holds."),
    Edge(_S.BLOCKED, _S.SKIPPED, "Its join can never hold, or its condition is false."),
    Edge(_S.BLOCKED, _S.CANCELLED, "Called off while it waited for upstream."),
    Edge(_S.BLOCKED, _S.STOPPED, "A person ended it while it waited for upstream."),
    Edge(_S.QUEUED, _S.STARTING, "A slot is granted: an attempt begins.", g.BUDGET),
    Edge(_S.QUEUED, _S.PAUSED, "Held back before it ran; nothing to wait for."),
    Edge(_S.QUEUED, _S.SKIPPED, "Not needed after all."),
    Edge(_S.QUEUED, _S.STOPPED, "A person ended it; it holds nothing, so at once."),
    Edge(_S.QUEUED, _S.CANCELLED, "Called off; it holds nothing, so at once."),
    Edge(_S.QUEUED, _S.FAILED, "It can fail without an attempt.", g.FAILS_QUEUED, added=True),
    Edge(_S.STARTING, _S.RUNNING, "The carrier confirms the start.", g.CONFIRMED),
    Edge(_S.STARTING, _S.RETRY_WAIT, "The launch failed and will be tried again."),
    Edge(_S.STARTING, _S.PAUSING, "A pause asked for during the launch."),
    Edge(_S.STARTING, _S.STOPPING, "A stop or cancel during the launch."),
    Edge(_S.STARTING, _S.FAILED, "The launch failed for good."),
    Edge(_S.STARTING, _S.CANCELLED, "Called off before a carrier existed.", g.NO_CARRIER),
    Edge(_S.STARTING, _S.LOST, "Its owner vanished, or the launch hangs and cannot be killed."),
    Edge(_S.RUNNING, _S.SUCCEEDED, "The body returned a valid value."),
    Edge(_S.RUNNING, _S.FAILED, "It failed for good."),
    Edge(_S.RUNNING, _S.RETRY_WAIT, "It failed and will be tried again."),
    Edge(_S.RUNNING, _S.PAUSING, "A pause is asked for."),
    Edge(_S.RUNNING, _S.STOPPING, "A stop or cancel is asked for."),
    Edge(_S.RUNNING, _S.CANCELLED, "The body raised TaskCancelled unprompted."),
    Edge(_S.RUNNING, _S.LOST, "Its owner vanished, or it ignores its window and cannot be killed."),
    Edge(_S.PAUSING, _S.PAUSED, "The body parked, or a launch that failed waits for its retry."),
    Edge(_S.PAUSING, _S.RUNNING, "The pause is aborted.", g.CONFIRMED),
    Edge(_S.PAUSING, _S.STOPPING, "A stop or cancel supersedes the pause."),
    Edge(_S.PAUSING, _S.FAILED, "It failed for good before it parked."),
    Edge(_S.PAUSING, _S.CANCELLED, "The body raised TaskCancelled unprompted."),
    Edge(_S.PAUSING, _S.LOST, "Its owner vanished, or it ignores its window and cannot be killed."),
    Edge(_S.PAUSED, _S.QUEUED, "Resumed where it had held nothing.", g.LIFTED),
    Edge(_S.PAUSED, _S.RUNNING, "Resumed in place, or the body went on by itself.", g.IN_PLACE),
    Edge(_S.PAUSED, _S.STOPPED, "A person ended it; it holds nothing, so at once.", g.LIFTED),
    Edge(_S.PAUSED, _S.CANCELLED, "Called off; it holds nothing, so at once.", g.LIFTED),
    Edge(_S.PAUSED, _S.LOST, "The owner of a parked body vanished.", g.IN_PLACE, added=True),
    Edge(_S.PAUSED, _S.STOPPING, "A parked body must unwind first.", g.IN_PLACE, added=True),
    Edge(_S.PAUSED, _S.FAILED, "A parked carrier died.", g.IN_PLACE, added=True),
    Edge(_S.RETRY_WAIT, _S.STARTING, "The backoff is over and a slot is granted.", g.BUDGET),
    Edge(_S.RETRY_WAIT, _S.QUEUED, "The backoff is over and no slot is free."),
    Edge(_S.RETRY_WAIT, _S.PAUSED, "Held back between attempts."),
    Edge(_S.RETRY_WAIT, _S.STOPPED, "A person ended it between attempts."),
    Edge(_S.RETRY_WAIT, _S.FAILED, "The budget shrank while it waited.", g.FAILS_BUDGET),
    Edge(_S.RETRY_WAIT, _S.CANCELLED, "Called off between attempts."),
    Edge(_S.STOPPING, _S.STOPPED, "It honoured the stop.", g.STOP_ASKED),
    Edge(_S.STOPPING, _S.SUCCEEDED, "It finished first: a request is no verdict."),
    Edge(_S.STOPPING, _S.FAILED, "It failed by itself while it was asked to end."),
    Edge(_S.STOPPING, _S.LOST, "Its owner vanished, or it ignores its window and cannot be killed."),
    Edge(_S.STOPPING, _S.CANCELLED, "It honoured the cancel.", g.CANCEL_ASKED, added=True),
)

_UNOCCUPIED = frozenset({_S.PENDING, _S.BLOCKED, _S.QUEUED, _S.PAUSED, _S.RETRY_WAIT})

OUT_OF_BAND: tuple[OutOfBand, ...] = (
    OutOfBand("retry", REVIVABLE, frozenset({_S.QUEUED}), "A person revives a task that ended."),
    OutOfBand("reset", TERMINAL | _UNOCCUPIED - {_S.PENDING}, frozenset({_S.PENDING}), "A person begins anew."),
    OutOfBand("skip", frozenset({_S.FAILED}), frozenset({_S.SKIPPED}), "A person lets the rest go on."),
    OutOfBand("adopt", REVIVABLE | _UNOCCUPIED, None, "Another owner takes over a task whose owner is gone."),
    OutOfBand("force_transition", frozenset(_S), TERMINAL, "A person records what they know to be so."),
)


def view(edges: tuple[Edge, ...]) -> Mapping[TaskStatus, frozenset[TaskStatus]]:
    """`edges` as a read-only map from each state to the states it may go to."""
    return MappingProxyType({s: frozenset(edge.target for edge in edges if edge.source is s) for s in TaskStatus})


TRANSITIONS: Mapping[TaskStatus, frozenset[TaskStatus]] = view(EDGES)
