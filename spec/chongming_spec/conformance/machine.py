"""The state machine that drives a store: random calls, legal and illegal, by two owners, while the clock moves.

A row is only ever moved by `moves_of`, so most calls are accepted and the machine gets far; `defect` spoils one in
several. Every call goes to the store and to the model. After it the two must have answered alike, and everything
readable must agree.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, TypeVar

import attrs
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from chongming_spec import store_model as model
from chongming_spec.conformance.compare import agree, pages_of
from chongming_spec.conformance.driver import COMMANDS, IMPORTED, OWNERS, RUNS, TASKS, Driver
from chongming_spec.conformance.moves import DEFECTS, newborn
from chongming_spec.conformance.report import START
from chongming_spec.errors import TaskError
from chongming_spec.records import is_out_of_band
from chongming_spec.snapshot import Progress, TaskSnapshot
from chongming_spec.states import TaskStatus
from chongming_spec.step import Watch
from chongming_spec.store_state import World, history_of
from chongming_spec.stores import (
    Command,
    CommandState,
    Completion,
    OwnerRecord,
    RunRecord,
    TaskQuery,
)

_RUN = ("start", "mark_starting", "mark_running")
REVIVED = ("reset", *_RUN)
SCRIPTS: tuple[tuple[str, ...], ...] = (
    _RUN,
    (*_RUN, "mark_retry_wait", "mark_starting", "mark_running", "mark_succeeded"),
    (*_RUN, "mark_lost"),
    (*_RUN, "request_pause", "mark_paused"),
    (*_RUN, "request_stop", "mark_stopped"),
    ("start", "pause"),
    ("retry", "mark_starting", "mark_running", "mark_failed"),
    REVIVED,
    ("cancel",),
    ("force_transition",),
)
_defects = range(len(DEFECTS))
_index = range(201)
_submissions = (None, "s1", "s2")
_targets = ("t1", *TASKS, "nobody")
_run_statuses = ("running", "failed")
_stale = (0, 0, 0, 0, 0, 0, 0, 3, 4, 5, 6)
_happens = ("nothing", "nothing", "time", "renewal")
_seldom = (False, False, False, True)
_status_sets = (*[None] * 6, frozenset[TaskStatus](), frozenset(list(TaskStatus)[:5]), frozenset(list(TaskStatus)[3:]))
_scripts = st.sampled_from(SCRIPTS)
_seeds = st.integers(0, 2**63)

Rule = TypeVar("Rule", bound=Callable[..., None])
ACTS: dict[str, dict[str, Sequence[Any]]] = {}


def act(**pools: Sequence[Any]) -> Callable[[Rule], Rule]:
    """A rule whose arguments come from these pools, in any combination."""

    def note(function: Rule) -> Rule:
        ACTS[function.__name__] = pools
        drawn: dict[str, Any] = {name: st.sampled_from(pool) for name, pool in pools.items()}
        made: Any = rule(**drawn)
        ruled: Rule = made(function)
        return ruled

    return note


class StoreMachine(Driver):
    """The rules."""

    # Tasks

    @act(task=TASKS, owner=OWNERS, run=RUNS, submission=_submissions, n=_index, forged=_seldom)
    def create(self, task: str, owner: str, run: str | None, submission: str | None, n: int, forged: bool) -> None:
        """A new task, or a refusal, or the same submission."""
        row, record = newborn(
            task, owner, self.clock.now(), max_attempts=1 + n % 3, pipeline_run_id=run, bucket=n % 2 or None,
            tags=frozenset({"x"} if n % 2 else ()),
        )  # fmt: skip
        given = {"a": [n, {"b": None}]} if n % 3 else None
        record = attrs.evolve(record, trigger="nobody:knows") if forged else record
        answer = self.call("create", row, transitions=(record,), submission_id=submission, arguments=given)
        if not isinstance(answer, TaskError) and answer.task_id == task and answer.status_version == 1:
            self.watches[task] = Watch()

    @act(task=TASKS, owner=OWNERS, n=_index, stride=range(1, 10))
    def save_joined(self, task: str, owner: str, n: int, stride: int) -> None:
        """Several moves as one save."""
        found = self.joined_moves(task, owner, n, stride)
        if found is not None:
            self.send(*found)

    @act(task=TASKS, owner=OWNERS, n=_index, defect=_defects, effect=(None, *COMMANDS))
    def save(self, task: str, owner: str, n: int, defect: int, effect: str | None) -> None:
        """One move, spoilt in three ways and then as it should be."""
        found = self.any_move(task, owner, n, effect)
        if found is None:
            row, record = newborn(task, owner, self.clock.now())
            self.call("save", row, expect_version=0, transitions=(record,))
            return
        request, watch = found
        names = sorted(DEFECTS)
        for index in range(3):
            if self.state.rows[task].status_version == request.expect_version:
                self.send(DEFECTS[names[(defect + index) % len(names)]](request), watch)
        if self.state.rows[task].status_version == request.expect_version:
            self.send(request, watch)

    @initialize(owner=st.sampled_from(OWNERS), first=_scripts, second=_scripts, seed=_seeds)
    def begin(self, owner: str, first: tuple[str, ...], second: tuple[str, ...], seed: int) -> None:
        """Owners with leases, two tasks that have got somewhere, and a command."""
        for one in OWNERS:
            self.renew(one, 60)
        for task, script in zip(TASKS, (first, second), strict=False):
            self.create(task, owner, None, None, seed, False)
            self.live(task, owner, script, seed)
        self.submit_command("c1", "t1", owner, 500)
        self.tour(seed, 25)

    @rule(seed=_seeds, length=st.integers(1, 25))
    def tour(self, seed: int, length: int) -> None:
        """A run of calls in which every method and every argument of `ACTS` is as likely as any other."""
        chance = random.Random(seed)
        for _ in range(length):
            name = chance.choice(sorted(ACTS))
            getattr(self, name)(**{one: chance.choice(pool) for one, pool in ACTS[name].items()})

    @act(task=TASKS, owner=OWNERS, script=SCRIPTS, n=_index)
    def live(self, task: str, owner: str, script: tuple[str, ...], n: int) -> None:
        """A piece of an ordinary life, by one owner; what the task refuses is left out."""
        for verb in script:
            found = self.by_verb(task, owner, verb, n)
            if found is not None:
                self.send(*found)

    @act(n=_index, reworded=_seldom)
    def save_again(self, n: int, reworded: bool) -> None:
        """A save whose answer was lost is sent again; or another save of the same version is."""
        if self.sent:
            request = self.sent[-1 - n % min(3, len(self.sent))]
            if reworded and request.transitions:
                last = attrs.evolve(request.transitions[-1], reason="other words")
                request = attrs.evolve(request, transitions=(*request.transitions[:-1], last))
            self.send(request, None)

    @act(owner=OWNERS, n=_index, spoilt=_seldom)
    def save_many(self, owner: str, n: int, spoilt: bool) -> None:
        """Several saves at once, one of them perhaps spoilt."""
        found = [(task, self.any_move(task, owner, n)) for task in TASKS]
        good = [(task, one) for task, one in found if one is not None]
        good = [(task, one) for task, one in good if not any(is_out_of_band(r) for r in one[0].transitions)]
        requests = [one[0] for _, one in good]
        if spoilt and requests:
            requests[0] = DEFECTS["future version"](requests[0])
        if not requests or not hasattr(self.store, "save_many"):
            return
        before = dict(self.state.rows)
        self.call("save_many", requests)
        for task, one in good:
            self.follow(task, before[task], one[1])

    @act(task=TASKS, n=_index, owner=OWNERS)
    def append(self, task: str, n: int, owner: str) -> None:
        """A known record again, another one in its place, or the next one of a task that is stored."""
        history = history_of(self.state, task)
        if history:
            record = history[n % len(history)]
            changes: tuple[dict[str, Any], ...] = ({}, {"reason": "forged"}, {"version": len(history) + 1})
            self.call("append", attrs.evolve(record, **changes[n % 3]))
        else:
            self.call("append", attrs.evolve(newborn(task, owner, self.clock.now())[1], version=2))

    @act(n=_index)
    def import_history(self, n: int) -> None:
        """A history without a row, record by record: the next one, one again, or one that does not fit."""
        known = history_of(self.state, IMPORTED)
        first = newborn(IMPORTED, OWNERS[0], START)[1]
        second = attrs.evolve(
            first, version=2, from_status=first.to_status, to_status=TaskStatus.QUEUED, trigger="user:start"
        )
        effect = attrs.evolve(second, command_id=COMMANDS[n % len(COMMANDS)])
        wanted = (first, second, effect, attrs.evolve(second, version=3), attrs.evolve(first, actor="forged"))
        self.call("append", wanted[n % 5 if known else 0])

    @act(n=_index, off=(0, 0, 1), note=("late", "later"))
    def note_late_result(self, n: int, off: int, note: str) -> None:
        """A note on an attempt, closed or not, or on one that never was."""
        if self.state.attempts:
            one = self.state.attempts[n % len(self.state.attempts)]
            self.call("note_late_result", one.task_id, generation=one.generation, attempt=one.attempt + off, note=note)

    @act(
        statuses=_status_sets,
        limit=(None, 1, 2, 0),
        newest=(False, True),
        owner=(None, None, None, *OWNERS),
        run=(None, None, *RUNS),
        n=_index,
    )
    def query(self, n: int, limit: int | None, **conditions: Any) -> None:
        """All pages of a query, in order."""
        run = conditions.pop("run")
        wanted = TaskQuery(
            limit=limit, tag="x" if n % 2 else None, name_prefix="name-t1" if n % 7 == 0 else None,
            buckets=frozenset({1}) if n % 11 == 0 else None, pipeline_run_id=run, **conditions,
        )  # fmt: skip
        if limit == 0:
            self.call("query", wanted)
            return
        expected = model.call(World(self.state, self.clock.now()), "query", attrs.evolve(wanted, limit=None)).result
        agree(f"query({wanted!r})", pages_of(self.store, wanted), expected)

    # The bypass and the leases

    @act(task=TASKS, owner=OWNERS, off=(0, 0, 0, -1, 1), n=_index)
    def touch(self, task: str, owner: str, off: int, n: int) -> None:
        """Progress by the owner, by another, or for another epoch."""
        row = self.state.rows.get(task)
        epoch = off + (1 if row is None else row.epoch)
        beat = self.clock.now() if n % 2 else None
        progress = Progress(done=n) if n % 3 else None
        self.call("touch", task, owner=owner, epoch=epoch, progress=progress, heartbeat_at=beat)

    @act(owner=OWNERS, seconds=(-5, 5, 60))
    def renew(self, owner: str, seconds: int) -> None:
        """A lease that holds for a while, or is over already."""
        self.call("renew", OwnerRecord(owner, "host", 7), self.clock.now() + timedelta(seconds=seconds))

    @act(seconds=(1, 10, 100, 90_000))
    def pass_time(self, seconds: int) -> None:
        """Leases, claims and commands run out."""
        self.clock.advance(seconds)

    def _meanwhile(self, row: TaskSnapshot, happens: str) -> None:
        """What happens between the reading of a lease and the write that relies on it."""
        if happens == "renewal":
            self.renew(row.owner or OWNERS[0], 5)
        if happens != "nothing":
            self.clock.advance(100)

    @act(task=TASKS, owner=OWNERS, n=_index, stale=_stale, happens=_happens)
    def expire_lease(self, task: str, owner: str, n: int, stale: int, happens: str) -> None:
        """A reconciler gives a task up for lost, on what it read some time ago."""
        self.live(task, owner, REVIVED, n)
        row = self.state.rows.get(task)
        if n % 2 and row is not None and row.owner is not None:
            self.renew(row.owner, 60)
        found = self.by_verb(task, owner, "mark_lost", n)
        if found is not None:
            row = self.state.rows[task]
            read = self.read(row, stale)
            self._meanwhile(row, happens)
            self.call("expire_lease", found[0], read)
            self.follow(task, row, found[1])

    @act(task=TASKS, owner=OWNERS, n=_index, stale=_stale, happens=_happens, stalled_ok=(False, True))
    def adopt(self, task: str, owner: str, n: int, stale: int, happens: str, stalled_ok: bool) -> None:
        """Another owner takes over; or moves what holds no carrier under the same condition."""
        if n % 2:
            self.live(task, owner, REVIVED, n)
            row = self.state.rows.get(task)
            self.renew(owner if row is None or row.owner is None else row.owner, 60)
        found = self.by_verb(task, owner, ("adopt", "force_transition", "reset", "force_transition")[n % 4], n)
        if found is not None:
            row = self.state.rows[task]
            read = self.read(row, stale)
            self._meanwhile(row, happens)
            self.call("adopt", found[0], read, stalled_ok=stalled_ok)
            self.follow(task, row, found[1])

    # Commands

    @act(
        command=COMMANDS,
        task=(*TASKS, "nobody"),
        owner=OWNERS,
        seconds=(0, 20, 500),
    )
    def submit_command(self, command: str, task: str, owner: str, seconds: int) -> None:
        """A command under a new id, or under one that is known."""
        row = self.state.rows.get(task)
        epoch = None if row is None or seconds == 20 else row.epoch
        until = self.clock.now() + timedelta(seconds=seconds)
        asked = Command(
            command, task, "stop", "someone", self.clock.now(), until, epoch, owner, ask={"graceful": False}
        )
        self.call("submit_command", asked)

    @act(owner=OWNERS, seconds=(5, 50), limit=(50, 50, 1))
    def claim_commands(self, owner: str, seconds: int, limit: int) -> None:
        """One owner takes what is for it."""
        self.call("claim_commands", owner=owner, lease_seconds=seconds, limit=limit)

    def _completion(self, n: int, forged: bool) -> Completion | None:
        """The end of a command that was claimed or is done; if there is none, something is claimed first."""
        if not any(one.state is CommandState.CLAIMED for one in self.state.commands):
            self.claim_commands(OWNERS[n % 2], 50, 50)
        held = [one for one in self.state.commands if one.state is not CommandState.NEW]
        if not held:
            return None
        one = held[n % len(held)]
        return Completion(one.command_id, "forged" if forged else one.claim_token or "none", "done", {"n": [n]})

    @act(n=_index, forged=_seldom)
    def complete_command(self, n: int, forged: bool) -> None:
        """The claimant, or somebody else, ends a command."""
        done = self._completion(n, forged)
        if done is not None:
            self.call("complete_command", done)

    @act(n=_index, forged=_seldom, task=TASKS, owner=OWNERS)
    def save_with_completion(self, n: int, forged: bool, task: str, owner: str) -> None:
        """The effect of a command and its end in one save."""
        done = self._completion(n, forged)
        found = self.any_move(task, owner, n, None if done is None else done.command_id)
        if found is not None:
            self.send(attrs.evolve(found[0], complete=done), found[1])

    @act(n=_index, forged=_seldom)
    def release_command(self, n: int, forged: bool) -> None:
        """The claimant, or somebody else, gives a command back."""
        done = self._completion(n, forged)
        if done is not None:
            self.call("release_command", done.command_id, done.claim_token)

    @act(owner=OWNERS)
    def settle_commands(self, owner: str) -> None:
        """Whoever polls ends what cannot be delivered."""
        self.call("settle_commands", owner=owner)

    # Runs, lines, upkeep

    @act(run=RUNS[1:], off=(0, 0, 1, -1), status=_run_statuses)
    def save_run(self, run: str, off: int, status: str) -> None:
        """A run's record, at its version or another."""
        known = self.state.runs.get(run)
        now = self.clock.now()
        record = RunRecord(
            run, "p", "A#1", now if known is None else known.created_at, now, 99, {"n": [1]}, None, status
        )
        self.call("save_run", record, expect_version=off + (0 if known is None else known.version))

    @act(keep=(0, 0, 1, 2, -1))
    def prune(self, keep: int) -> None:
        """Upkeep, or a count that is none."""
        self.call("prune", keep_terminal=keep)

    @act(task=TASKS, count=(1, 3, 150))
    def add_lines(self, task: str, count: int) -> None:
        """Lines until the oldest fall out."""
        self.call("add_lines", task, [(self.clock.now(), 20, f"line {n}") for n in range(count)])
