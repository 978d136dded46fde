"""What the fault tests have in common: how often, which lives, and the verdict on what is left in a file.

Every count has a small value for a test run and a large one for a campaign (`CHONGMING_FAULTS=campaign`); a single one
is set by its own variable, such as `CHONGMING_FAULTS_KILLS=20000`. Random choices begin with `CHONGMING_FAULTS_SEED`.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from chongming_spec.audit import Finding, audit
from chongming_spec.snapshot import TaskSnapshot, Transition
from chongming_spec.stores import CreateRequest, WriteRequest
from chongming_task.clock import utcnow
from chongming_task.stores._audit_source import read
from chongming_task.stores.protocol import TaskStore
from chongming_task.testing._contract import Life

CAMPAIGN = os.environ.get("CHONGMING_FAULTS", "") == "campaign"
SEED = int(os.environ.get("CHONGMING_FAULTS_SEED", "1"))

Script = tuple[tuple[str, dict[str, Any]], ...]
BY: dict[str, Any] = {"actor": "ann", "reason": "asked to"}
BEGINS: Script = (("start", {}), ("mark_starting", {}), ("mark_running", {}))
LIVES: tuple[Script, ...] = (
    (*BEGINS, ("mark_succeeded", {"outcome": {"rows": 42}})),
    (*BEGINS, ("mark_failed", {}), ("retry", {**BY, "force": True}), *BEGINS[1:], ("mark_succeeded", {})),
    (*BEGINS, ("request_pause", BY), ("mark_paused", {}), ("resume", BY), ("stop", BY)),
    (("start", {}), ("pause", BY), ("resume", BY), ("cancel", BY)),
    (*BEGINS, ("mark_lost", {"reason": "no sign of life", "gone": True}), ("reset", BY), ("start", {})),
    (*BEGINS, ("force_transition", {"to": "stopped", **BY})),
)


def count(name: str, small: int, large: int) -> int:
    """How often: `small` in a test run, `large` in a campaign, or what CHONGMING_FAULTS_<NAME> says."""
    return int(os.environ.get(f"CHONGMING_FAULTS_{name}", "") or (large if CAMPAIGN else small))


def dice(name: str) -> random.Random:
    """Random choices of one test, the same at each run with the same seed."""
    return random.Random(f"{SEED}/{name}")


def findings(path: Path | str) -> list[Finding]:
    """What an audit has against the file."""
    return audit(read(str(path), utcnow()))


def writes(life: Life, script: Script) -> Iterator[WriteRequest]:
    """The create and the saves of one life, each to be stored and `follow`ed before the next is asked for."""
    task_id = life.task_id
    yield CreateRequest(life.machine.snapshot, tuple(life.records()), f"submission-{task_id}", {"of": task_id})
    for verb, request in script:
        yield life.does(verb, **request).request()


def follow(life: Life, stored: TaskSnapshot) -> None:
    """Go on under the epoch that the store drew."""
    life._follow(stored)


def store_one(store: Any, request: WriteRequest) -> TaskSnapshot:
    """One write by the methods for one."""
    stored: TaskSnapshot
    if isinstance(request, CreateRequest):
        stored = store.create(
            request.snapshot,
            transitions=request.transitions,
            submission_id=request.submission_id,
            arguments=request.arguments,
        )
    else:
        stored = store.save(
            request.snapshot,
            expect_version=request.expect_version,
            transitions=request.transitions,
            attempts=request.attempts,
            complete=request.complete,
        )
    return stored


def run_lives(
    store: TaskStore,
    number: int,
    now: Callable[[], datetime] = utcnow,
    acked: Callable[[TaskSnapshot], None] = lambda stored: None,
) -> None:
    """That many lives, their steps interleaved by fours; `acked` hears of each write after it returned."""
    for first in range(0, number, 4):
        lives = [Life(f"t{n}", now, tags=["nightly"]) for n in range(first, min(first + 4, number))]
        steps = [(life, writes(life, LIVES[n % len(LIVES)])) for n, life in enumerate(lives, start=first)]
        while steps:
            for life, requests in list(steps):
                request = next(requests, None)
                if request is None:
                    steps.remove((life, requests))
                    continue
                stored = store_one(store, request)
                follow(life, stored)
                acked(stored)


Bones = dict[str, list[tuple[int, str, int, int, int]]]


def bones(records: list[Transition]) -> Bones:
    """What happened, by task: version, state, epoch, generation, attempt of each record."""
    found: Bones = {}
    for one in records:
        bone = (one.version, one.to_status.value, one.epoch, one.generation, one.attempt)
        found.setdefault(one.task_id, []).append(bone)
    return found


def all_records(store: TaskStore) -> list[Transition]:
    """The whole feed."""
    return [one.transition for one in store.feed(0, 1_000_000)]


def is_prefix(found: Bones, whole: Bones) -> bool:
    """Whether nothing was found but what was written, each history from its beginning."""
    return all(whole.get(task_id, [])[: len(history)] == history for task_id, history in found.items())
