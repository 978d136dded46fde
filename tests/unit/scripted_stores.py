"""Stores that answer as a script says, and what the tests of the writer need beside them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from chongming_spec.snapshot import TaskSnapshot
from chongming_spec.states import TaskStatus
from chongming_spec.stores import SaveRequest, WriteRequest
from chongming_task.stores.writer import StoreWriter
from chongming_task.testing import FakeClock

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
PATIENCE = 20.0
Answer = Callable[[Sequence[WriteRequest]], list[Any]]


def row(task_id: str = "t", version: int = 1) -> TaskSnapshot:
    """A row; the stores below look at id and version only."""
    return TaskSnapshot(task_id, task_id, task_id, next(iter(TaskStatus)), version, NOON, NOON)


def save(task_id: str = "t", version: int = 2) -> SaveRequest:
    """A save of that version."""
    return SaveRequest(row(task_id, version), version - 1, ())


def all_well(requests: Sequence[WriteRequest]) -> list[Any]:
    """Each request is stored."""
    return [request.snapshot for request in requests]


class Scripted:
    """A store whose `save_many` does what the script says, call by call, and all well afterwards."""

    def __init__(self, *script: Answer | Exception) -> None:
        self.script = list(script)
        self.calls: list[list[tuple[str, int]]] = []
        self.requests: list[WriteRequest] = []
        self.called = threading.Semaphore(0)
        self.gate = threading.Event()
        self.gate.set()
        self.clock: FakeClock | None = None
        self.times: list[int] = []

    def save_many(self, requests: Sequence[WriteRequest]) -> list[Any]:
        self.calls.append([(one.snapshot.task_id, one.snapshot.status_version) for one in requests])
        self.requests.extend(requests)
        self.times.append(0 if self.clock is None else self.clock.mono_ms())
        self.called.release()
        assert self.gate.wait(PATIENCE)
        step = self.script.pop(0) if self.script else all_well
        if isinstance(step, Exception):
            raise step
        return step(requests)


class Told:
    """Collects what the callbacks were given."""

    def __init__(self) -> None:
        self.answers: list[tuple[str, Any]] = []
        self.one = threading.Semaphore(0)

    def about(self, name: str) -> Callable[[Any], None]:
        def done(written: Any) -> None:
            self.answers.append((name, written))
            self.one.release()

        return done

    def wait(self, count: int = 1) -> list[tuple[str, Any]]:
        for _ in range(count):
            assert self.one.acquire(timeout=PATIENCE)
        return self.answers

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.answers]


Writers = Callable[..., StoreWriter]


def writers() -> Iterator[Writers]:
    """Makes writers, and ends them with the test; a fixture."""
    made: list[StoreWriter] = []

    def one(store: Any, **given: Any) -> StoreWriter:
        made.append(StoreWriter(store, **given))
        return made[-1]

    yield one
    for writer in made:
        writer.close(timeout_ms=0)


def held(store: Scripted, writer: StoreWriter, told: Told) -> None:
    """Bring the writer into a transaction that does not end before the gate opens."""
    store.gate.clear()
    writer.submit(save("first"), told.about("first"))
    assert store.called.acquire(timeout=PATIENCE)


def asleep(clock: FakeClock) -> FakeClock:
    """The clock, once the writer waits for its time to come."""
    with clock._state:
        assert clock._state.wait_for(lambda: clock._heap.next_ms() is not None, PATIENCE)
    return clock
