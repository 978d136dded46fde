"""Every call to SQLite fails once, or from then on, before or after it took effect, with every error there is.

Whatever fails, a caller who does the same again ends where it would have ended: nothing lost, nothing twice (D22).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from chongming_spec.errors import StoreError
from chongming_spec.snapshot import Progress
from chongming_spec.stores import Command, Completion, OwnerRecord, RunRecord, SaveRequest, TaskQuery, WriteRequest
from chongming_task.stores.sqlite import SqliteTaskStore
from chongming_task.testing import FakeClock
from chongming_task.testing._contract import OTHER, OWNER, Life
from tests.faults.failpoints import ERRORS, Plan, install
from tests.faults.scenes import BEGINS, BY, all_records, bones, count, dice, findings, follow, store_one, writes

MODES = [(before, persistent) for before in (True, False) for persistent in (False, True)]


class Scene:
    """A little of everything, each step repeatable by whoever did not hear its answer."""

    def __init__(self, path: Path) -> None:
        self.path, self.clock = path, FakeClock()
        self.opened: SqliteTaskStore | None = None
        self.claimed: list[Command] = []

    @property
    def store(self) -> SqliteTaskStore:
        if self.opened is None:
            self.opened = SqliteTaskStore(self.path, synchronous="normal", clock=self.clock)
        return self.opened

    def steps(self) -> Iterator[Callable[[], Any]]:
        lives = [Life("a", self.clock.now), Life("b", self.clock.now), Life("c", self.clock.now, OTHER)]
        a, b, c = lives
        yield lambda: self.store.renew(OwnerRecord(OWNER, pid=1), self.clock.now() + timedelta(seconds=60))
        for life, script in ((a, (*BEGINS, ("mark_failed", {}), ("retry", {**BY, "force": True}))), (b, BEGINS)):
            for request in writes(life, script):
                yield partial(self.stored, life, request)
        both = [next(writes(c, ())), b.does("mark_succeeded", outcome={"rows": 1}).request()]
        yield lambda: self.many(both)
        yield lambda: self.store.touch("a", owner=OWNER, epoch=a.machine.snapshot.epoch, progress=Progress(done=1))
        yield from self.commands(a)
        run = RunRecord("r", "run", OWNER, self.clock.now(), self.clock.now(), status="succeeded")
        yield lambda: self.store.get_run("r") or self.store.save_run(run, expect_version=0)
        yield lambda: self.store.add_lines("a", [(self.clock.now(), 20, "a line")])
        yield lambda: self.read_everything()
        yield lambda: self.store.prune(keep_terminal=0)

    def stored(self, life: Life, request: WriteRequest) -> None:
        follow(life, store_one(self.store, request))

    def many(self, requests: list[Any]) -> None:
        for result in self.store.save_many(requests):
            if isinstance(result, Exception):
                raise result

    def commands(self, life: Life) -> Iterator[Callable[[], Any]]:
        ask = Command("k", "a", "stop", "ann", self.clock.now(), self.clock.now() + timedelta(days=1), owner=OWNER)
        yield lambda: self.store.submit_command(ask)
        yield self.claim
        request = life.does("stop", **BY).request()
        yield lambda: follow(life, store_one(self.store, self.completing(request)))

    def claim(self) -> None:
        """Who did not hear of its claim waits until that is over (D27)."""
        for _ in range(2):
            found = self.store.claim_commands(owner=OWNER, lease_seconds=10)
            if found:
                self.claimed = found
                return
            self.clock.advance(11)
        raise AssertionError("the command was lost")

    def completing(self, request: SaveRequest) -> SaveRequest:
        done = Completion("k", self.claimed[0].claim_token or "", "accepted")
        return SaveRequest(request.snapshot, request.expect_version, request.transitions, request.attempts, done)

    def read_everything(self) -> None:
        store = self.store
        assert len(store.query(TaskQuery(limit=10))) == 3
        assert sum(store.counts().values()) == 3
        assert store.owners()
        assert store.attempts("a")
        assert store.lines("a")
        assert store.get("nobody") is None

    def result(self) -> tuple[Any, ...]:
        """What is left, without what depends on how often something was asked for (epochs, claims, lines)."""
        store = self.store
        histories = {
            task_id: [(version, status, generation, attempt) for version, status, _, generation, attempt in history]
            for task_id, history in bones(all_records(store)).items()
        }
        command = store.command("k")
        outcome = None if command is None else (command.state, command.outcome)
        rows = [(one.task_id, one.status, one.status_version, one.outcome) for one in store.query()]
        gone = [bool(store.tombstone(task_id)) for task_id in "abc"]
        runs = [(one.run_id, one.version, one.status) for one in store.runs()]
        return histories, rows, outcome, store.counts(), gone, runs, len(store.attempts("c"))


def play(path: Path, plan: Plan) -> tuple[Any, ...]:
    """The scene; a step that raises StoreError is done again, after healing if need be. Anything else is a failure."""
    scene = Scene(path)
    for step in scene.steps():
        for _ in range(3):
            try:
                step()
                break
            except StoreError:
                assert plan.failed, "it failed without a fault"
                plan.heal()
        else:
            raise AssertionError("a healed store goes on failing")
    plan.heal()
    calls, result = plan.calls, scene.result()
    scene.store.close()
    assert findings(path) == []
    plan.calls = calls
    return result


@pytest.fixture
def calls(tmp_path: Path) -> int:
    """How many calls the scene makes."""
    plan = Plan()
    with pytest.MonkeyPatch.context() as patch:
        install(patch, plan)
        play(tmp_path / "counted.db", plan)
    return plan.calls


@pytest.mark.parametrize(("before", "persistent"), MODES, ids=lambda flag: str(flag))
def test_any_call_may_fail(tmp_path: Path, calls: int, before: bool, persistent: bool) -> None:
    """D22, D29, P-110: StoreError and nothing else; the same again succeeds; the end is that without the fault."""
    expected = play(tmp_path / "whole.db", Plan())
    some = count("NTH_CALLS", 40, 1_000_000)
    numbers = list(range(1, calls + 1))
    if some < calls:
        numbers = sorted(dice(f"nth/{before}/{persistent}").sample(numbers, some))
    names = sorted(ERRORS)
    for number in numbers:
        plan = Plan(number, before, persistent, names[number % len(names)])
        path = tmp_path / f"{number}.db"
        with pytest.MonkeyPatch.context() as patch:
            install(patch, plan)
            result = play(path, plan)
        assert plan.failed, "the fault did not happen"
        assert result == expected, f"call {number}, {plan}"
        path.unlink()
