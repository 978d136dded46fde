"""Real lives, written to a store step by step as a supervisor would; the tests of this folder share them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import attrs

from chongming_spec.errors import InvalidTransition
from chongming_spec.facts import Deadline, EndingKind
from chongming_spec.failures import FailureKind
from chongming_spec.snapshot import Failure
from chongming_spec.stores import Command, Completion, OwnerRecord
from chongming_task.core.state_machine import StateMachine
from chongming_task.stores.sqlite import SqliteTaskStore

START = datetime(2030, 1, 1, tzinfo=UTC)
OWNER = "worker#1"
BY = {"actor": "anna", "reason": "asked to"}


class Time:
    """A wall clock that a test moves; each look at it costs a millisecond."""

    def __init__(self) -> None:
        self.at = START

    def __call__(self) -> datetime:
        self.at += timedelta(milliseconds=1)
        return self.at


class Life:
    """One task in a machine and in a store, saved after every step."""

    def __init__(self, store: SqliteTaskStore, task_id: str, time: Time, **columns: Any) -> None:
        self.store = store
        self.machine = StateMachine.create(task_id, "job", owner=OWNER, now=time, **columns)
        stored = store.create(self.machine.snapshot, transitions=self._signed(0))
        self.machine.touch(epoch=stored.epoch)

    def _signed(self, since: int) -> list[Any]:
        return [attrs.evolve(one, owner=OWNER) for one in self.machine.transitions_since(since)]

    def do(self, verb: str, values: dict[str, Any] | None = None, *, command_id: str | None = None, **by: Any) -> Life:
        """Take a verb and save what came of it; InvalidTransition if it is refused, with nothing saved."""
        machine, before = self.machine, self.machine.version
        machine.step(verb, by.get("actor"), by.get("reason"), values)
        records = self._signed(before)
        if records:
            records[-1] = attrs.evolve(records[-1], command_id=command_id)
            stored = self.store.save(
                machine.snapshot, expect_version=before, transitions=records, attempts=machine.attempts
            )
            if stored.epoch != machine.snapshot.epoch:
                machine.touch(epoch=stored.epoch)
        return self

    def walk(self, *steps: str | tuple[str, dict[str, Any]]) -> Life:
        """Several verbs in a row."""
        for step in steps:
            verb, values = (step, {}) if isinstance(step, str) else step
            by = {name: values[name] for name in ("actor", "reason") if name in values}
            self.do(verb, {key: value for key, value in values.items() if key not in by}, **by)
        return self


def ends(ending: EndingKind, **more: Any) -> tuple[str, dict[str, Any]]:
    """The carrier ended."""
    return "finish", {"ending": ending, **more}


FAILURE = Failure(FailureKind.EXCEPTION, "boom")
LATE = Failure(FailureKind.TIMEOUT_START, "too late")
RAISED = ends(EndingKind.RAISED, failure=FAILURE)
AGAIN = ends(EndingKind.RAISED, failure=FAILURE, retries=True)
RUN = ("mark_queued", "mark_starting", "mark_running")
PARK = ("request_pause", "mark_paused")

LIVES: dict[str, Sequence[Any]] = {
    "succeeds": (*RUN, ends(EndingKind.RETURNED, outcome={"n": [1, 2.5, None]})),
    "unconfirmed success": ("mark_queued", "mark_starting", ends(EndingKind.RETURNED, outcome=1)),
    "fails": (*RUN, RAISED),
    "retries": (*RUN, AGAIN, "mark_starting", "mark_running", ends(EndingKind.RETURNED)),
    "retries through the queue": (*RUN, AGAIN, "mark_queued", "mark_starting", "mark_running", RAISED),
    "stopped early": ("stop",),
    "stopped": (*RUN, ("stop", BY), ends(EndingKind.CANCELLED)),
    "cancelled": (*RUN, "cancel", ends(EndingKind.CANCELLED)),
    "withdrawn": ("mark_queued", "mark_starting", "cancel"),
    "value under stop": (*RUN, "stop", ends(EndingKind.RETURNED, outcome="late")),
    "paused in place": (*RUN, *PARK, "resume", ends(EndingKind.RETURNED)),
    "parked for good": (*RUN, *PARK),
    "parked and forced": (*RUN, *PARK, ("force_transition", {"to": "failed", **BY})),
    "parked, then stopped": (*RUN, *PARK, "stop", ends(EndingKind.CANCELLED)),
    "parked and died": (*RUN, *PARK, ends(EndingKind.DIED, failure=Failure(FailureKind.NONZERO_EXIT, exit_code=3))),
    "left while paused": (*RUN, *PARK, ends(EndingKind.RETURNED)),
    "finished before quiescence": (*RUN, "request_pause", ends(EndingKind.RETURNED)),
    "pause aborted": (*RUN, "request_pause", "abort_pause", ends(EndingKind.RETURNED)),
    "paused in the queue": ("mark_queued", "pause", "resume", "mark_starting"),
    "paused backoff": (*RUN, AGAIN, ("pause", {"resume_at": START + timedelta(days=1)})),
    "launch failed under pause": ("mark_queued", "mark_starting", "request_pause",
                                  ends(EndingKind.LAUNCH_FAILED, failure=FAILURE, retries=True)),
    "launch failed, pause aborted": ("mark_queued", "mark_starting", "request_pause", "abort_pause",
                                     ends(EndingKind.LAUNCH_FAILED, failure=FAILURE, retries=True)),
    "timed out": (*RUN, ("expire", {"deadline": Deadline.ATTEMPT}), ends(EndingKind.RETURNED)),
    "timed out in the queue": ("mark_queued", ("expire", {"deadline": Deadline.START, "failure": LATE})),
    "lost": (*RUN, "stop", "close_window"),
    "lost with its owner": (*RUN, ("mark_lost", {"reason": "host gone"})),
    "revived": (*RUN, RAISED, ("retry", {"force": True}), "mark_starting", "mark_running", ends(EndingKind.RETURNED)),
    "reset": (*RUN, ends(EndingKind.RETURNED, outcome=1), ("reset", BY), *RUN, RAISED),
    "forced while running": (*RUN, ("force_transition", {"to": "succeeded", **BY})),
    "forced, then reset": ("mark_queued", ("force_transition", {"to": "lost", **BY}), ("reset", BY), "start"),
    "forced twice": ("stop", ("force_transition", {"to": "skipped", **BY}),
                     ("force_transition", {"to": "failed", **BY})),
    "blocked, skipped": ("mark_blocked", "mark_skipped"),
    "failed, skipped": (*RUN, RAISED, ("skip", BY)),
    "running": RUN,
}  # fmt: skip


def fill(store: SqliteTaskStore, time: Time) -> None:
    """Every life, one adopted task, one that a command steered, one that is pruned, a bucket and a lease."""
    store.renew(OwnerRecord(OWNER, "host", 7), time() + timedelta(seconds=30))
    for number, (name, steps) in enumerate(LIVES.items()):
        Life(store, f"{number}-{name}", time, max_attempts=2).walk(*steps)
    adopted = Life(store, "adopted", time).walk("mark_queued")
    adopted.machine.watch(lease_over=True)
    adopted.do("adopt", {"owner": OWNER, "declared_attempts": 3}, actor="anna", reason="the other host is gone")
    steered = Life(store, "steered", time).walk(*RUN)
    for number, verb in enumerate(("pause", "stop")):
        store.submit_command(command(f"c{number}", "steered", verb, steered.machine.snapshot.epoch, time()))
        (claimed,) = store.claim_commands(owner=OWNER, lease_seconds=60)
        assert claimed.command_id == f"c{number}"
        steered.do(verb, command_id=claimed.command_id, reason="by command")
        assert store.complete_command(Completion(claimed.command_id, claimed.claim_token or "", "done"))
    steered.do("finish", {"ending": EndingKind.CANCELLED})


def command(command_id: str, task_id: str, verb: str, epoch: int, now: datetime) -> Command:
    """A command for our owner."""
    return Command(command_id, task_id, verb, "anna", now, now + timedelta(days=3650), epoch, OWNER)


def random_life(life: Life, choices: Callable[[int], int], steps: int) -> None:
    """Up to `steps` steps, each chosen among those that are not refused."""
    for _ in range(steps):
        candidates = STEPS[choices(len(STEPS))]
        verb, values = candidates
        by = {name: values[name] for name in ("actor", "reason") if name in values}
        life.machine.watch(lease_over=True, killable=choices(2) == 1)
        try:
            life.do(verb, {key: value for key, value in values.items() if key not in by}, **by)
        except InvalidTransition:
            continue


STEPS: tuple[tuple[str, dict[str, Any]], ...] = (
    *((verb, {}) for verb in ("start", "mark_blocked", "mark_starting", "mark_starting", "mark_running")),
    *((verb, {}) for verb in ("mark_running", "pause", "mark_paused", "resume", "abort_pause", "stop", "cancel")),
    *(("retry", {"force": force, "alongside": True}) for force in (False, True)),
    ("skip", {"alongside": True}),
    ("reset", {**BY, "alongside": True}),
    *(("force_transition", {"to": to, **BY}) for to in ("failed", "lost", "succeeded")),
    ("adopt", {"owner": OWNER, "declared_attempts": 2, **BY}),
    *((verb, {}) for verb in ("mark_queued", "mark_skipped", "mark_lost", "close_window")),
    *(("finish", {"ending": one, "retries": again, "outcome": {"of": one}, "failure": FAILURE})
      for one in EndingKind for again in (False, True)),
    *(("expire", {"deadline": one, "failure": LATE}) for one in (Deadline.START, Deadline.ATTEMPT)),
)  # fmt: skip


def execute(path: Path | str, *statements: str) -> None:
    """Write through the plain sqlite3 module."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def damage(path: Path | str, *statements: str) -> None:
    """Write behind the back of the triggers and checks: they are put aside, and back afterwards."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
        for _, sql in triggers:
            connection.execute(sql)
