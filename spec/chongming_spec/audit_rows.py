"""The invariants that one row keeps by itself: each a function that says why a snapshot cannot be, or None."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise

from chongming_spec.audit_view import Flaw, View
from chongming_spec.buckets import bucket_for
from chongming_spec.facts import REQUESTS_IN
from chongming_spec.failures import FAILURE_OF, failure_fits
from chongming_spec.snapshot import Failure, TaskSnapshot
from chongming_spec.states import TaskStatus, is_terminal, occupies
from chongming_spec.texts import is_blank

_TIMES = ("created_at", "queued_at", "started_at", "ended_at")
_FIRST_START = ("created_at", "first_started_at", "started_at")
_CHANGED = ("created_at", "updated_at"), ("ended_at", "updated_at")


def ended(row: TaskSnapshot) -> str | None:
    """2."""
    if is_terminal(row.status) is (row.ended_at is not None):
        return None
    return f"it is {row.status} and ended_at is {'missing' if row.ended_at is None else 'set'}"


def times(row: TaskSnapshot) -> str | None:
    """3."""
    for chain in (_TIMES, _FIRST_START, *_CHANGED):
        known = [(name, getattr(row, name)) for name in chain if getattr(row, name) is not None]
        for name, at in known:
            if at.utcoffset() != timedelta(0):
                return f"{name} is not in UTC"
        for (earlier, first), (later, second) in pairwise(known):
            if second < first:
                return f"{later} is before {earlier}"
    return None


def occupied(row: TaskSnapshot) -> str | None:
    """4."""
    if not occupies(row.status, row.paused_in_place) or (row.started_at is not None and row.attempt >= 1):
        return None
    return f"it is {row.status} without an attempt that was started"


def unoccupied(row: TaskSnapshot) -> str | None:
    """5."""
    if occupies(row.status, row.paused_in_place) or is_terminal(row.status) or row.started_at is None:
        return None
    return f"it is {row.status} and started_at is set"


def budget(row: TaskSnapshot) -> str | None:
    """6."""
    if 0 <= row.attempt <= row.max_attempts and row.max_attempts >= 1:
        return None
    return f"attempt {row.attempt} of {row.max_attempts}"


def requested(row: TaskSnapshot) -> str | None:
    """7."""
    if row.requested_action in REQUESTS_IN[row.status]:
        return None
    return f"it is {row.status} and requested_action is {row.requested_action}"


def in_place(row: TaskSnapshot) -> str | None:
    """8."""
    if not row.paused_in_place or row.status is TaskStatus.PAUSED:
        return None
    return f"it is {row.status} and paused in place"


def failure(row: TaskSnapshot) -> str | None:
    """9."""
    kind = None if row.failure is None else row.failure.kind
    if failure_fits(row.status, kind):
        return None
    return f"it is {row.status} and its failure is {kind or 'missing'}"


def misjudged(found: Failure | None) -> str | None:
    """Why the `retryable` of a failure is not that of its kind."""
    if found is None or found.retryable is FAILURE_OF[found.kind].retryable:
        return None
    return f"a failure of kind {found.kind} says retryable={found.retryable}"


def retryable(view: View) -> Iterator[Flaw]:
    """10."""
    for row in view.rows.tasks or ():
        problem = misjudged(row.failure)
        if problem is not None:
            yield Flaw(row.task_id, row.status_version, problem)
    for one in view.rows.attempts or ():
        problem = misjudged(one.failure)
        if problem is not None:
            yield Flaw(one.task_id, None, f"attempt {one.attempt}: {problem}")


def outcome(row: TaskSnapshot) -> str | None:
    """11."""
    if row.outcome is None:
        return None
    if row.status is not TaskStatus.SUCCEEDED:
        return f"it is {row.status} and has an outcome"
    try:
        same = json.loads(json.dumps(row.outcome, allow_nan=False)) == row.outcome
    except (TypeError, ValueError, RecursionError) as error:
        return f"its outcome is not JSON: {error}"
    return None if same else "its outcome does not survive JSON"


def owned(row: TaskSnapshot) -> str | None:
    """12."""
    if occupies(row.status, row.paused_in_place) and is_blank(row.owner):
        return f"it is {row.status} and names no owner"
    if is_terminal(row.status) and (row.lease_owner is not None or row.lease_until is not None):
        return f"it is {row.status} and still holds a lease"
    return None


def bucketed(view: View) -> Iterator[Flaw]:
    """13."""
    buckets = view.rows.num_buckets
    for row in view.rows.tasks or ():
        if row.bucket is None and row.bucket_key is None:
            continue
        if row.bucket is None or row.bucket_key is None:
            yield Flaw(row.task_id, row.status_version, "it has only one of bucket and bucket_key")
        elif buckets is None or row.bucket != bucket_for(row.bucket_key, buckets):
            yield Flaw(row.task_id, row.status_version, f"bucket {row.bucket} is not that of its key in {buckets}")


def heartbeat(row: TaskSnapshot) -> str | None:
    """14."""
    if row.started_at is None or row.last_heartbeat_at is None or row.last_heartbeat_at >= row.started_at:
        return None
    return "its last heartbeat is older than its attempt"


ROW_LAWS = (ended, times, occupied, unoccupied, budget, requested, in_place, failure)


def row_problem(row: TaskSnapshot) -> str | None:
    """Why a row contradicts itself; None if it does not. A store asks this before it writes."""
    for law in ROW_LAWS:
        problem = law(row)
        if problem is not None:
            return problem
    return None
