"""Calling a store and the model together, and making the requests that the rules of the machine send.

Every call goes to both. After it the two must have answered alike, and everything readable must agree.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis.stateful import RuleBasedStateMachine

from chongming_spec import store_model as model
from chongming_spec.conformance.compare import FeedReader, agree, observe, plain
from chongming_spec.conformance.moves import Move, joined, moves_of, request_of
from chongming_spec.conformance.report import ManualClock, Report, Target
from chongming_spec.errors import TaskError
from chongming_spec.leases import COMMAND_MOVES
from chongming_spec.records import is_out_of_band
from chongming_spec.snapshot import AttemptRecord, TaskSnapshot
from chongming_spec.step import Watch
from chongming_spec.store_state import Answer, StoreState, Told, World
from chongming_spec.stores import Command, CommandState, LeaseView, SaveRequest

TASKS = ("t1", "t2", "t3")
OWNERS = ("A#1", "B#1")
IMPORTED = "imported"
RUNS = (None, "run-1", "run-2")
COMMANDS = tuple(f"c{n}" for n in range(1, 13))


class Driver(RuleBasedStateMachine):
    """Calls, and what is known of the tasks; `run` makes a subclass with a target and a report."""

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
        self._watch_commands(method, answer.state)
        self.state = answer.state
        observe(self.store, world._replace(state=self.state), self.reader, (*TASKS, IMPORTED))
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

    def _watch_commands(self, method: str, after: StoreState) -> None:
        """Commands move only as the rows of `leases` say."""
        before = {one.command_id: one for one in self.state.commands}
        for one in after.commands:
            known = before.get(one.command_id)
            if known == one:
                continue
            source = None if known is None else known.state
            moves = [move for move in COMMAND_MOVES if (move.source, move.target) == (source, one.state)]
            assert any(method in move.by for move in moves), f"{method} moved {one.command_id} from {source}"

    # Requests

    def attempts_of(self, task: str) -> list[AttemptRecord]:
        """The attempts the model holds of a task."""
        return [one for one in self.state.attempts if one.task_id == task]

    def moves(self, task: str, owner: str) -> list[Move]:
        """What the task can do now."""
        row = self.state.rows.get(task)
        return [] if row is None else moves_of(row, self.watches[task], self.clock.now(), owner)

    def by_verb(self, task: str, owner: str, verb: str, n: int) -> tuple[SaveRequest, Watch] | None:
        """The request of one verb, in its `n`-th form; None if the task refuses it now."""
        row = self.state.rows.get(task)
        fitting = [] if row is None else moves_of(row, self.watches[task], self.clock.now(), owner, (verb,))
        if row is None or not fitting:
            return None
        move = fitting[n % len(fitting)]
        request = request_of(row, move, self.attempts_of(task), owner, None)
        return request, move.step.watch

    def any_move(self, task: str, owner: str, n: int, effect_of: str | None = None) -> tuple[SaveRequest, Watch] | None:
        """The request of any verb, all verbs being equally likely; None if there is none."""
        found = self.moves(task, owner)
        if not found:
            return None
        verbs = sorted({move.verb for move in found})
        found = [move for move in found if move.verb == verbs[n % len(verbs)]]
        move = found[n // 7 % len(found)]
        request = request_of(self.state.rows[task], move, self.attempts_of(task), owner, effect_of)
        return request, move.step.watch

    def joined_moves(self, task: str, owner: str, n: int, stride: int) -> tuple[SaveRequest, Watch] | None:
        """Up to three moves within the table as one request."""
        row, watch = self.state.rows.get(task), self.watches.get(task)
        attempts = self.attempts_of(task)
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
        return None if whole is None or watch is None else (whole, watch)

    def send(self, request: SaveRequest, watch: Watch | None) -> None:
        """One save; the watch holds if it was accepted."""
        self.sent.append(request)
        before = self.state.rows.get(request.snapshot.task_id)
        self.call(
            "save", request.snapshot, expect_version=request.expect_version, transitions=request.transitions,
            attempts=request.attempts, complete=request.complete,
        )  # fmt: skip
        self.follow(request.snapshot.task_id, before, watch)

    def follow(self, task: str, before: TaskSnapshot | None, watch: Watch | None) -> None:
        """Keep the watch of a move if the row has moved."""
        if watch is not None and self.state.rows.get(task) != before:
            self.watches[task] = watch

    def read(self, row: TaskSnapshot, stale: int) -> LeaseView:
        """What a reconciler has read of a task; wrong in one field for some values of `stale`."""
        known = self.state.owners.get(row.owner or "")
        lease = None if known is None else known.lease_until
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
