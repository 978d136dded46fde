"""Tools of the store contract: the laws a test holds a store to, a task's life as its owner writes it, `raises`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, TypeVar

import attrs

from chongming_spec.errors import TaskError
from chongming_spec.snapshot import TaskSnapshot, Transition
from chongming_spec.stores import Command, Completion, LeaseView, OwnerRecord, SaveRequest
from chongming_task.core._row import BLANK_ROW
from chongming_task.core.state_machine import StateMachine
from chongming_task.testing.clock import FakeClock

Test = TypeVar("Test", bound=Callable[..., None])
OWNER = "A#1"
OTHER = "B#1"


def law(method: str, *texts: str) -> Callable[[Test], Test]:
    """Mark a test as holding a store to laws of one row of `STORE_METHODS`."""

    def mark(test: Test) -> Test:
        test.__dict__.setdefault("laws", []).extend((method, text) for text in texts or ("",))
        return test

    return mark


@contextmanager
def raises(kind: type[TaskError]) -> Iterator[list[TaskError]]:
    """The block must raise exactly `kind`; the list gets the error."""
    caught: list[TaskError] = []
    try:
        yield caught
    except kind as error:
        caught.append(error)
    assert caught, f"{kind.__name__} was not raised"
    assert type(caught[0]) is kind, f"{type(caught[0]).__name__} instead of {kind.__name__}: {caught[0]}"


class Life:
    """One task as its owner drives it: a state machine, and how far of it is stored."""

    def __init__(self, task_id: str, now: Callable[[], datetime], owner: str = OWNER, **columns: Any) -> None:
        self.owner = owner
        self.machine = StateMachine.create(task_id, f"job-{task_id}", owner=owner, now=now, **columns)
        self.stored = 0

    @property
    def task_id(self) -> str:
        """The id."""
        return self.machine.snapshot.task_id

    def records(self, command_id: str | None = None, by: str | None = None) -> list[Transition]:
        """The records that are not stored yet, written by the owner or `by` another."""
        new = [attrs.evolve(one, owner=by or self.owner) for one in self.machine.transitions_since(self.stored)]
        new[-1:] = [attrs.evolve(one, command_id=command_id) for one in new[-1:]]
        return new

    def create(self, store: Any, **given: Any) -> TaskSnapshot:
        """Put it down; the machine goes on under the epoch the store drew."""
        return self._follow(store.create(self.machine.snapshot, transitions=self.records(), **given))

    def request(
        self, complete: Completion | None = None, command_id: str | None = None, by: str | None = None
    ) -> SaveRequest:
        """What has happened since, as one request."""
        return SaveRequest(
            self.machine.snapshot,
            self.stored,
            tuple(self.records(command_id, by)),
            self.machine.attempts,
            complete,
        )

    def save(self, store: Any, **given: Any) -> TaskSnapshot:
        """Store what has happened since."""
        return self._follow(send(store, self.request(**given)))

    def _follow(self, snapshot: TaskSnapshot) -> TaskSnapshot:
        self.machine.touch(epoch=snapshot.epoch)
        self.stored = self.machine.version
        return snapshot

    def does(self, *verbs: str, **request: Any) -> Life:
        """Take verbs in order; `request` goes with each."""
        for verb in verbs:
            self.machine.apply(verb, **request)
        return self

    def copy_of(self, snapshot: TaskSnapshot) -> Life:
        """Somebody else's view of the same task, as read from a store."""
        twin = Life.__new__(Life)
        twin.owner = self.owner
        row = {**BLANK_ROW, **attrs.asdict(snapshot, recurse=False)}
        twin.machine = StateMachine(row, self.owner, self.machine._now)
        twin.machine._records.extend([None] * snapshot.status_version)
        twin.stored = snapshot.status_version
        return twin


RUN = ("start", "mark_starting", "mark_running")


def send(store: Any, request: SaveRequest) -> TaskSnapshot:
    """One save."""
    saved: TaskSnapshot = store.save(
        request.snapshot,
        expect_version=request.expect_version,
        transitions=request.transitions,
        attempts=request.attempts,
        complete=request.complete,
    )
    return saved


class ContractBase:
    """What all parts of the contract use."""

    def make_store(self) -> Any:
        """An empty store that takes its time from `self.clock`."""
        raise NotImplementedError("override make_store")

    def reopen(self, store: Any) -> Any:
        """The same store as another process would open it; a store without a file is its own."""
        return store

    def spoil(self, store: Any, task_id: str) -> bool:
        """Make the row of a task unreadable, behind the store's back; False where that cannot be done."""
        return False

    @property
    def clock(self) -> FakeClock:
        """The clock of this test."""
        clock: FakeClock = self.__dict__.setdefault("_clock", FakeClock())
        return clock

    def life(self, task_id: str = "t", owner: str = OWNER, **columns: Any) -> Life:
        """A new task that is not stored yet."""
        return Life(task_id, self.clock.now, owner, **columns)

    def stored(self, store: Any, task_id: str = "t", *verbs: str, owner: str = OWNER, **columns: Any) -> Life:
        """A stored task after these verbs."""
        life = self.life(task_id, owner, **columns)
        life.create(store)
        if verbs:
            life.does(*verbs).save(store)
        return life

    def hold(self, store: Any, owner: str = OWNER, seconds: float = 30) -> datetime:
        """Renew an owner's lease; returns its end."""
        until = self.clock.now() + timedelta(seconds=seconds)
        store.renew(OwnerRecord(owner, host="h", pid=1), until)
        return until

    def read(self, store: Any, task_id: str = "t") -> LeaseView:
        """What a reconciler reads."""
        row = store.get(task_id)
        leases = {one.owner: one.lease_until for one in store.owners()}
        return LeaseView(row.status_version, row.owner, row.epoch, leases.get(row.owner))

    def ask(self, command_id: str = "c", task_id: str = "t", seconds: float = 60, **columns: Any) -> Command:
        """A command to stop."""
        now = self.clock.now()
        columns.setdefault("owner", OWNER)
        return Command(command_id, task_id, "stop", "ann", now, now + timedelta(seconds=seconds), **columns)

    def claim(self, store: Any, owner: str = OWNER, **given: Any) -> Sequence[Command]:
        """Claim for half a minute."""
        claimed: Sequence[Command] = store.claim_commands(owner=owner, lease_seconds=30, **given)
        return claimed

    def all_of(self, store: Any, task_id: str = "t") -> tuple[Any, ...]:
        """Everything that can be read of one task, to see that nothing changed."""
        return (
            store.get(task_id), store.history(task_id), store.attempts(task_id), store.arguments(task_id),
            store.counts(), store.feed(),
        )  # fmt: skip
