"""The state machine that drives a store: random calls, legal and illegal, by two owners, while the clock moves.

A row is only ever moved by `moves_of`, so most calls are accepted and the machine gets far; `defect` spoils one in
several. Every call goes to the store and to the model. After it the two must have answered alike, and everything
readable must agree.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import attrs
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from chongming_spec import store_model as model
from chongming_spec.conformance.compare import FeedReader, agree, observe, pages_of, plain
from chongming_spec.conformance.moves import DEFECTS, joined, moves_of, newborn, request_of
from chongming_spec.conformance.report import ManualClock, Report, Target
from chongming_spec.errors import TaskError
from chongming_spec.records import is_out_of_band
from chongming_spec.snapshot import Progress, TaskSnapshot
from chongming_spec.states import TaskStatus, is_terminal
from chongming_spec.step import Watch
from chongming_spec.store_state import Answer, StoreState, Told, World, history_of, view
from chongming_spec.stores import (
    Command,
    CommandState,
    Completion,
    LeaseView,
    OwnerRecord,
    RunRecord,
    SaveRequest,
    TaskQuery,
)

TASKS = ("t1", "t2", "t3")
OWNERS = ("A#1", "B#1")
RUNS = (None, "run-1", "run-2")
COMMANDS = ("c1", "c2", "c3", "c4", "c5")
_tasks = st.sampled_from(TASKS)
_owners = st.sampled_from(OWNERS)
_commands = st.sampled_from(COMMANDS)
_defects = st.none() | st.sampled_from(sorted(DEFECTS))
_index = st.integers(0, 200)
_submissions = st.sampled_from((None, "s1", "s2"))
_targets = st.sampled_from((*TASKS, "nobody"))
_run_statuses = st.sampled_from(("running", "failed"))
_seldom = st.sampled_from((False, False, False, True))


class StoreMachine(RuleBasedStateMachine):
    """The common part; `run` makes a subclass with a target and a report."""

    target: Target
    report: Report

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.store = self.target(self.clock)
        self.state = StoreState()
        self.watches: dict[str, Watch] = {}
        self.sent: list[SaveRequest] = []
        self.tokens: set[str] = set()
        self.reader = FeedReader()
        self.report.run += 1

    def teardown(self) -> None:
        """A closed store answers nothing."""
        self.store.close()

    # Calling both

    def call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """One call to the store and to the model; returns what both answered, a refusal as its error."""
        if method in self.report.skipped:
            return None
        try:
            found = getattr(self.store, method)(*args, **kwargs)
        except TaskError as error:
            found = error
        world = World(self.state, self.clock.now())
        answer = model.call(world, method, *args, **kwargs)
        told = self._told(answer, found)
        if told is not None:
            answer = model.call(world._replace(told=told), method, *args, **kwargs)
        expected = answer.error if answer.error is not None else answer.result
        self.report.count(method, type(found).__name__ if isinstance(found, TaskError) else None)
        agree(f"{method}{(args, kwargs)!r}", plain(found), plain(expected))
        self._watch_commands(answer.state)
        self.state = answer.state
        observe(self.store, world._replace(state=self.state), self.reader, TASKS)
        return found

    def _told(self, answer: Answer, found: Any) -> Told | None:
        """What the store chose, once it is a choice the laws allow."""
        if isinstance(found, TaskSnapshot) and answer.state.epoch > self.state.epoch:
            assert found.epoch > self.state.epoch, f"epoch {found.epoch} was drawn after {self.state.epoch}"
            return Told(epoch=found.epoch)
        if isinstance(found, list) and found and isinstance(found[0], Command):
            tokens = {one.command_id: one.claim_token for one in found if one.state is CommandState.CLAIMED}
            for token in tokens.values():
                assert token, "a claim needs a token"
                assert token not in self.tokens, f"claim token {token!r} was given twice"
                self.tokens.add(token)
            return Told(tokens=tokens)
        return None

    def _watch_commands(self, after: StoreState) -> None:
        for one in self.state.commands:
            now = next((other for other in after.commands if other.command_id == one.command_id), one)
            assert one.state is not CommandState.DONE or now == one, f"{one.command_id} was done and changed"

    # Tasks

    @rule(task=_tasks, owner=_owners, run=st.sampled_from(RUNS), submission=_submissions, n=_index, forged=_seldom)
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

    @rule(task=_tasks, owner=_owners, n=_index, stride=st.integers(1, 9))
    def save_joined(self, task: str, owner: str, n: int, stride: int) -> None:
        """Several moves within the table as one save."""
        row, watch = self.state.rows.get(task), self.watches.get(task)
        attempts = [one for one in self.state.attempts if one.task_id == task]
        whole: SaveRequest | None = None
        for index in range(3):
            moves = [] if row is None or watch is None else moves_of(row, watch, self.clock.now(), owner)
            moves = [move for move in moves if not is_out_of_band(move.step.transitions[-1])]
            if row is None or not moves:
                break
            move = moves[(n + stride * index) % len(moves)]
            one = request_of(row, move, attempts, owner, None)
            attempts = [*(a for a in attempts if a.ended_at is not None), *one.attempts]
            whole = one if whole is None else joined(whole, one)
            row, watch = move.step.snapshot, move.step.watch
        if whole is not None:
            self._save(whole, watch)

    def _request(
        self, task: str, owner: str, n: int, effect_of: str | None = None, alive: bool = False
    ) -> tuple[SaveRequest, Watch] | None:
        """One move of a task; with `alive`, one after which it holds a carrier or is not over, if there is one."""
        row = self.state.rows.get(task)
        if row is None:
            return None
        found = moves_of(row, self.watches[task], self.clock.now(), owner)
        lively = [move for move in found if not is_terminal(move.step.snapshot.status)] if alive else []
        found = [move for move in lively if move.step.snapshot.occupies] or lively or found
        if not found:
            return None
        verbs = sorted({move.verb for move in found})
        found = [move for move in found if move.verb == verbs[n % len(verbs)]]
        move = found[n // 7 % len(found)]
        attempts = [one for one in self.state.attempts if one.task_id == task]
        return request_of(row, move, attempts, owner, effect_of), move.step.watch

    @rule(task=_tasks, owner=_owners, n=_index, defect=_defects, effect=st.one_of(st.none(), _commands))
    def save(self, task: str, owner: str, n: int, defect: str | None, effect: str | None) -> None:
        """One move, good or spoilt."""
        found = self._request(task, owner, n, effect)
        if found is None:
            row, record = newborn(task, owner, self.clock.now())
            self.call("save", row, expect_version=0, transitions=(record,))
            return
        request, watch = found
        if defect is not None:
            self._save(DEFECTS[defect](request), watch)
        if self.state.rows.get(task) is not None and self.state.rows[task].status_version == request.expect_version:
            self._save(request, watch)

    def _save(self, request: SaveRequest, watch: Watch | None) -> None:
        self.sent.append(request)
        before = self.state.rows.get(request.snapshot.task_id)
        self.call(
            "save", request.snapshot, expect_version=request.expect_version, transitions=request.transitions,
            attempts=request.attempts, complete=request.complete,
        )  # fmt: skip
        self._follow(request.snapshot.task_id, before, watch)

    def _follow(self, task: str, before: TaskSnapshot | None, watch: Watch | None) -> None:
        if watch is not None and self.state.rows.get(task) != before:
            self.watches[task] = watch

    @initialize(owner=_owners, n=_index)
    def begin(self, owner: str, n: int) -> None:
        """Owners with leases, two tasks that have got somewhere, and a command."""
        for one in OWNERS:
            self.renew(one, 60)
        for task in TASKS[:2]:
            self.create(task, owner, None, None, n, False)
            self.live(task, owner, n, 1, True)
        self.submit_command("c1", "t1", owner, 500)

    @rule(task=_tasks, owner=_owners, n=_index, stride=st.integers(1, 9), alive=st.booleans())
    def live(self, task: str, owner: str, n: int, stride: int, alive: bool) -> None:
        """A few good moves in a row, by one owner."""
        for index in range(n % 5):
            found = self._request(task, owner, n + stride * index, alive=alive)
            if found is not None:
                self._save(*found)

    @rule(n=_index, reworded=_seldom)
    def save_again(self, n: int, reworded: bool) -> None:
        """A save whose answer was lost is sent again; or another save of the same version is."""
        if self.sent:
            request = self.sent[-1 - n % min(3, len(self.sent))]
            if reworded and request.transitions:
                last = attrs.evolve(request.transitions[-1], reason="other words")
                request = attrs.evolve(request, transitions=(*request.transitions[:-1], last))
            self._save(request, None)

    @rule(owner=_owners, n=_index, spoilt=_seldom)
    def save_many(self, owner: str, n: int, spoilt: bool) -> None:
        """Several saves at once, one of them perhaps spoilt."""
        found = [(task, self._request(task, owner, n)) for task in TASKS]
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
            self._follow(task, before[task], one[1])

    @rule(task=_tasks, n=_index, owner=_owners)
    def append(self, task: str, n: int, owner: str) -> None:
        """A known record again, another one in its place, or the next one of a task that is stored."""
        history = history_of(self.state, task)
        if history:
            record = history[n % len(history)]
            changes: tuple[dict[str, Any], ...] = ({}, {"reason": "forged"}, {"version": len(history) + 1})
            self.call("append", attrs.evolve(record, **changes[n % 3]))
        else:
            self.call("append", attrs.evolve(newborn(task, owner, self.clock.now())[1], version=2))

    @rule(task=_tasks, generation=st.integers(1, 2), attempt=st.integers(0, 3), note=st.sampled_from(("late", "later")))
    def note_late_result(self, task: str, generation: int, attempt: int, note: str) -> None:
        """A note on an attempt, closed or not."""
        self.call("note_late_result", task, generation=generation, attempt=attempt, note=note)

    @rule(
        statuses=st.none() | st.frozensets(st.sampled_from(list(TaskStatus))),
        limit=st.sampled_from((None, 1, 2, 0)),
        newest=st.booleans(),
        owner=st.none() | _owners,
        run=st.sampled_from(RUNS),
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

    @rule(task=_tasks, owner=_owners, off=st.sampled_from((0, 0, 0, -1, 1)), n=_index)
    def touch(self, task: str, owner: str, off: int, n: int) -> None:
        """Progress by the owner, by another, or for another epoch."""
        row = self.state.rows.get(task)
        epoch = off + (1 if row is None else row.epoch)
        beat = self.clock.now() if n % 2 else None
        progress = Progress(done=n) if n % 3 else None
        self.call("touch", task, owner=owner, epoch=epoch, progress=progress, heartbeat_at=beat)

    @rule(owner=_owners, seconds=st.sampled_from((-5, 5, 60)))
    def renew(self, owner: str, seconds: int) -> None:
        """A lease that holds for a while, or is over already."""
        self.call("renew", OwnerRecord(owner, "host", 7), self.clock.now() + timedelta(seconds=seconds))

    @rule(seconds=st.sampled_from((1, 10, 100, 90_000)))
    def pass_time(self, seconds: int) -> None:
        """Leases, claims and commands run out."""
        self.clock.advance(seconds)

    def _read(self, row: TaskSnapshot, stale: int) -> LeaseView:
        lease = view(self.state, row).lease_until
        if row.owner is not None and row.owner in self.state.owners:
            lease = self.state.owners[row.owner].lease_until
        read = LeaseView(row.status_version, row.owner, row.epoch, lease)
        wrong = self.clock.now() + timedelta(seconds=1)
        changes: tuple[dict[str, Any], ...] = (
            *({}, {}, {}),
            {"version": read.version + 1},
            {"owner": "C#1"},
            {"epoch": read.epoch + 1},
            {"lease_until": wrong},
        )
        return read._replace(**changes[stale])

    def _chosen(self, task: str, owner: str, n: int, verb: str) -> tuple[SaveRequest, Watch] | None:
        row = self.state.rows.get(task)
        moves = [] if row is None else moves_of(row, self.watches[task], self.clock.now(), owner)
        fitting = [move for move in moves if move.verb == verb]
        if row is None or not fitting:
            return None
        attempts = [one for one in self.state.attempts if one.task_id == task]
        move = fitting[n % len(fitting)]
        return request_of(row, move, attempts, owner, None), move.step.watch

    @rule(task=_tasks, owner=_owners, n=_index, stale=st.integers(0, 6))
    def expire_lease(self, task: str, owner: str, n: int, stale: int) -> None:
        """A reconciler gives a task up for lost, on what it read some time ago."""
        found = self._chosen(task, owner, n, "mark_lost")
        if found is not None:
            row = self.state.rows[task]
            self.call("expire_lease", found[0], self._read(row, stale))
            self._follow(task, row, found[1])

    @rule(task=_tasks, owner=_owners, n=_index, stale=st.integers(0, 6), stalled_ok=st.booleans())
    def adopt(self, task: str, owner: str, n: int, stale: int, stalled_ok: bool) -> None:
        """Another owner takes over; or moves what holds no carrier under the same condition."""
        verb = ("adopt", "adopt", "force_transition", "reset")[n % 4]
        found = self._chosen(task, owner, n, verb)
        if found is not None:
            row = self.state.rows[task]
            self.call("adopt", found[0], self._read(row, stale), stalled_ok=stalled_ok)
            self._follow(task, row, found[1])

    # Commands

    @rule(
        command=_commands,
        task=st.sampled_from((*TASKS, "nobody")),
        owner=_owners,
        seconds=st.sampled_from((0, 20, 500)),
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

    @rule(owner=_owners, seconds=st.sampled_from((5, 50)), limit=st.sampled_from((50, 50, 1)))
    def claim_commands(self, owner: str, seconds: int, limit: int) -> None:
        """One owner takes what is for it."""
        self.call("claim_commands", owner=owner, lease_seconds=seconds, limit=limit)

    def _completion(self, n: int, forged: bool) -> Completion | None:
        held = [one for one in self.state.commands if one.state is not CommandState.NEW]
        if not held:
            return None
        one = held[n % len(held)]
        return Completion(one.command_id, "forged" if forged else one.claim_token or "none", "done", {"n": [n]})

    @rule(n=_index, forged=_seldom)
    def complete_command(self, n: int, forged: bool) -> None:
        """The claimant, or somebody else, ends a command."""
        done = self._completion(n, forged)
        if done is not None:
            self.call("complete_command", done)

    @rule(n=_index, forged=_seldom, task=_tasks, owner=_owners)
    def save_with_completion(self, n: int, forged: bool, task: str, owner: str) -> None:
        """The effect of a command and its end in one save."""
        done = self._completion(n, forged)
        found = self._request(task, owner, n, None if done is None else done.command_id)
        if found is not None:
            self._save(attrs.evolve(found[0], complete=done), found[1])

    @rule(n=_index, forged=_seldom)
    def release_command(self, n: int, forged: bool) -> None:
        """The claimant, or somebody else, gives a command back."""
        done = self._completion(n, forged)
        if done is not None:
            self.call("release_command", done.command_id, done.claim_token)

    @rule(owner=_owners)
    def settle_commands(self, owner: str) -> None:
        """Whoever polls ends what cannot be delivered."""
        self.call("settle_commands", owner=owner)

    # Runs, lines, upkeep

    @rule(run=st.sampled_from(RUNS[1:]), off=st.sampled_from((0, 0, 1, -1)), status=_run_statuses)
    def save_run(self, run: str, off: int, status: str) -> None:
        """A run's record, at its version or another."""
        known = self.state.runs.get(run)
        now = self.clock.now()
        record = RunRecord(
            run, "p", "A#1", now if known is None else known.created_at, now, 99, {"n": [1]}, None, status
        )
        self.call("save_run", record, expect_version=off + (0 if known is None else known.version))

    @rule(keep=st.sampled_from((0, 0, 1, 2, -1)))
    def prune(self, keep: int) -> None:
        """Upkeep, or a count that is none."""
        self.call("prune", keep_terminal=keep)

    @rule(task=_tasks, count=st.sampled_from((1, 3, 150)))
    def add_lines(self, task: str, count: int) -> None:
        """Lines until the oldest fall out."""
        self.call("add_lines", task, [(self.clock.now(), 20, f"line {n}") for n in range(count)])
