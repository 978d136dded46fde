"""The writer thread: one commit for many, acknowledged when durable, and nothing lost silently (D22, D23)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from chongming_spec.errors import ConcurrencyConflict, ConfigurationError, StoreCorruption, StoreError, TaskCancelled
from chongming_spec.snapshot import TaskSnapshot
from chongming_spec.states import TaskStatus
from chongming_spec.stores import CreateRequest, SaveRequest, WriteRequest
from chongming_task.stores import writer as module
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


@pytest.fixture
def make() -> Iterator[Writers]:
    """Writers that end with the test."""
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


def test_what_waits_is_committed_together_and_acknowledged_afterwards(make: Writers) -> None:
    """One transaction for all that came meanwhile; nobody hears of success before it is durable (D23)."""
    store, told = Scripted(), Told()
    writer = make(store)
    held(store, writer, told)
    for number in range(5):
        writer.submit(save(f"t{number}"), told.about(f"t{number}"))
    assert (writer.unpersisted, told.answers) == (6, [])
    store.gate.set()
    told.wait(6)
    assert store.calls == [[("first", 2)], [(f"t{number}", 2) for number in range(5)]]
    assert all(isinstance(written, TaskSnapshot) for _, written in told.answers)
    assert (writer.flush(), writer.unpersisted, writer.last_error) == ((), 0, None)


def test_a_transaction_is_bounded(make: Writers, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flood does not make one endless transaction; the order stays that of submission (D23)."""
    monkeypatch.setattr(module, "BATCH", 4)
    store, told = Scripted(), Told()
    writer = make(store)
    held(store, writer, told)
    for number in range(10):
        writer.submit(save("t", number), told.about(str(number)))
    store.gate.set()
    told.wait(11)
    assert [len(call) for call in store.calls] == [1, 4, 4, 2]
    assert told.names == ["first", *(str(number) for number in range(10))]


def test_a_broken_disk_is_tried_again_ever_more_slowly(make: Writers) -> None:
    """Waits double from 20 ms to 2 s and begin anew after a success; order per task stays (D23, P-110)."""
    clock, told = FakeClock(), Told()
    store = Scripted(*[StoreError("the disk reports errors")] * 9, all_well, StoreError("full"))
    store.clock = clock
    writer = make(store, clock=clock)
    writer.submit(save("t", 2), told.about("2"))
    writer.submit(save("t", 3), told.about("3"))
    for _ in range(9):
        due_ms = asleep(clock)._heap.next_ms() or 0
        clock.advance((due_ms - clock.mono_ms()) / 1000)
    told.wait(2)
    assert told.names == ["2", "3"]
    assert store.times[:10] == [0, 20, 60, 140, 300, 620, 1260, 2540, 4540, 6540]
    assert store.calls[9] == [("t", 2), ("t", 3)]
    assert writer.last_error is None
    writer.submit(save("t", 4), told.about("4"))
    asleep(clock).advance(0.02)
    told.wait()
    assert store.times[10:] == [6540, 6560]


def test_while_it_fails_it_says_why(make: Writers) -> None:
    """`last_error` and `unpersisted` show what `persist_failures` is made of (D23, P-110)."""
    clock, told, error = FakeClock(), Told(), StoreError("no space is left")
    store = Scripted(error)
    writer = make(store, clock=clock)
    writer.submit(save(), told.about("t"))
    assert writer.flush(timeout_ms=0) == ("t",)
    asleep(clock)
    assert (writer.last_error, writer.unpersisted, told.answers) == (error, 1, [])
    clock.advance(0.02)
    told.wait()
    writer.flush()
    assert (writer.last_error, writer.unpersisted) == (None, 0)


def test_what_is_refused_is_told_at_once_and_alone(make: Writers) -> None:
    """A conflict or a corruption is an answer, not a failure: no repetition, no harm to the neighbours (D22, D23)."""
    conflict, corruption = ConcurrencyConflict("first"), StoreCorruption("broken")
    store, told = Scripted(all_well, lambda requests: [conflict, requests[1].snapshot, corruption]), Told()
    writer = make(store)
    held(store, writer, told)
    for name in "abc":
        writer.submit(save(name), told.about(name))
    store.gate.set()
    told.wait(4)
    assert told.answers[1:] == [("a", conflict), ("b", row("b", 2)), ("c", corruption)]
    assert len(store.calls) == 2


def test_a_write_with_a_limit_fails_when_its_time_is_over(make: Writers) -> None:
    """Ahead of a launch five seconds are enough; the others go on being tried (D23)."""
    clock, told, error = FakeClock(), Told(), StoreError("locked")
    store = Scripted(*[error] * 6)
    store.clock = clock
    writer = make(store, clock=clock)
    held(store, writer, told)
    writer.submit(save("patient"), told.about("patient"))
    writer.submit(save("hasty"), told.about("hasty"), give_up_ms=50)
    store.gate.set()
    for _ in range(5):
        asleep(clock).advance(0.01)
    told.wait()
    assert (told.answers, clock.mono_ms()) == ([("hasty", error)], 50)
    while len(store.calls) < 6:
        asleep(clock).advance(0.02)
    asleep(clock).advance(2)
    told.wait(2)
    assert sorted(told.names) == ["first", "hasty", "patient"]


def test_a_limit_holds_also_behind_a_full_transaction(make: Writers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is not even in the transaction that fails has waited as well (D23)."""
    monkeypatch.setattr(module, "BATCH", 2)
    clock, told, error = FakeClock(), Told(), StoreError("locked")
    store = Scripted(*[error] * 1000)
    writer = make(store, clock=clock)
    held(store, writer, told)
    for name in "abc":
        writer.submit(save(name), told.about(name))
    writer.submit(save("hasty"), told.about("hasty"), give_up_ms=5_000)
    store.gate.set()
    while clock.mono_ms() < 5_000:
        asleep(clock).advance(0.1)
    told.wait()
    assert told.names == ["hasty"]


def test_write_waits_for_its_own_answer(make: Writers) -> None:
    """The durable row, or what it failed with, raised (D22)."""
    conflict = ConcurrencyConflict("somebody was first")
    writer = make(Scripted(all_well, lambda requests: [conflict]))
    assert writer.write(save("t", 2)) == row("t", 2)
    with pytest.raises(ConcurrencyConflict) as caught:
        writer.write(save("t", 3))
    assert caught.value is conflict


def test_write_gives_up_in_time(make: Writers) -> None:
    """The caller of a write with a limit gets the store's own reason (D23)."""
    error = StoreError("the disk reports errors")
    writer = make(Scripted(*[error] * 1000))
    with pytest.raises(StoreError, match="reports errors"):
        writer.write(save(), give_up_ms=0)


def test_who_comes_when_all_places_are_taken_waits(make: Writers) -> None:
    """Back-pressure instead of an unbounded queue; nothing is refused or dropped (D23)."""
    store, told = Scripted(), Told()
    writer = make(store, capacity=2)
    held(store, writer, told)
    for name in "ab":
        writer.submit(save(name), told.about(name))
    entered = threading.Event()

    def third() -> None:
        entered.set()
        writer.submit(save("c"), told.about("c"))

    producer = threading.Thread(target=third)
    producer.start()
    assert entered.wait(PATIENCE)
    producer.join(0.05)
    assert producer.is_alive()
    assert writer.unpersisted == 3
    store.gate.set()
    producer.join(PATIENCE)
    told.wait(4)
    assert told.names == ["first", "a", "b", "c"]


def test_closing_frees_who_waits_for_a_place(make: Writers) -> None:
    """Such a producer is told that nothing can be saved any more, instead of waiting for ever (D23)."""
    clock = FakeClock()
    store, told, refused = Scripted(*[StoreError("locked")] * 1000), Told(), Told()
    writer = make(store, clock=clock, capacity=1)
    writer.submit(save("a"), told.about("a"))
    asleep(clock)

    def producer() -> None:
        for name in "bc":
            try:
                writer.submit(save(name), told.about(name))
            except StoreError as error:
                refused.about(name)(error)

    thread = threading.Thread(target=producer)
    thread.start()
    writer.close(timeout_ms=0)
    refused.wait()
    thread.join(PATIENCE)
    assert "closed" in str(refused.answers[-1][1])
    assert not thread.is_alive()


def test_flush_names_what_is_left(make: Writers) -> None:
    """Each id once, in the order of waiting; without a limit it waits to the end (D23)."""
    clock, told = FakeClock(), Told()
    store = Scripted()
    writer = make(store, clock=clock)
    assert writer.flush() == ()
    held(store, writer, told)
    for name, version in (("b", 2), ("a", 2), ("b", 3)):
        writer.submit(save(name, version), told.about(name))
    assert writer.flush(timeout_ms=0) == ("first", "b", "a")
    store.gate.set()
    assert writer.flush() == ()
    assert len(told.answers) == 4


def test_close_writes_what_waits(make: Writers) -> None:
    """An orderly end loses nothing; a second close does nothing; a later submit says so (D21, D23)."""
    store, told = Scripted(), Told()
    writer = make(store)
    for name in "abc":
        writer.submit(save(name), told.about(name))
    assert writer.close() == ()
    assert told.names == ["a", "b", "c"]
    assert writer.close() == ()
    with pytest.raises(StoreError, match="closed"):
        writer.submit(save(), told.about("late"))
    assert make(Scripted()).close() == ()


def test_close_names_what_it_could_not_write(make: Writers) -> None:
    """By its result and to each callback; the thread ends all the same (D23, P-110)."""
    clock, told = FakeClock(), Told()
    store = Scripted(*[StoreError("no space is left")] * 1000)
    writer = make(store, clock=clock)
    for name in "ab":
        writer.submit(save(name), told.about(name))
    asleep(clock)
    assert writer.close(timeout_ms=0) == ("a", "b")
    told.wait(2)
    assert told.names == ["a", "b"]
    assert all(isinstance(error, StoreError) for _, error in told.answers)
    assert writer.unpersisted == 0


def test_a_transaction_that_fails_after_close_is_not_tried_again(make: Writers) -> None:
    """The caller of `close` was told; the callbacks are too, and no thread goes on hammering a dead store (D23)."""
    clock, told = FakeClock(), Told()
    store = Scripted(*[StoreError("the disk reports errors")] * 1000)
    writer = make(store, clock=clock)
    held(store, writer, told)
    assert writer.close(timeout_ms=0) == ("first",)
    store.gate.set()
    told.wait()
    assert writer.flush() == ()
    assert len(store.calls) == 1


@pytest.mark.parametrize("raised", [ValueError("mine"), TaskCancelled("stop"), SystemExit(1)])
def test_a_callback_that_raises_harms_nobody(
    make: Writers, caplog: pytest.LogCaptureFixture, raised: BaseException
) -> None:
    """Everybody's writes go through that thread: it logs and goes on, whatever was raised (D20, D23)."""
    told = Told()
    writer = make(Scripted())

    def bad(written: Any) -> None:
        raise raised

    writer.submit(save("bad"), bad)
    writer.submit(save("good"), told.about("good"))
    told.wait()
    assert writer.flush() == ()
    assert [record.name for record in caplog.records] == ["chongming_task.writer"]


@pytest.mark.parametrize("error", [OverflowError("too large"), UnicodeEncodeError("utf-8", "\ud800", 0, 1, "no")])
def test_a_value_that_cannot_be_kept_harms_nobody(make: Writers, error: Exception) -> None:
    """Such a write is told why; the others of its transaction land, in order, and the thread lives (D18, D23)."""

    def unless_bad(requests: Sequence[WriteRequest]) -> list[Any]:
        if any(request.snapshot.task_id == "bad" for request in requests):
            raise error
        return all_well(requests)

    store, told = Scripted(all_well, *[unless_bad] * 10), Told()
    writer = make(store)
    held(store, writer, told)
    for name in ("a", "bad", "b"):
        writer.submit(save(name), told.about(name))
    store.gate.set()
    told.wait(4)
    assert told.answers[1:] == [("a", row("a", 2)), ("bad", error), ("b", row("b", 2))]
    assert writer.write(save("c")) == row("c", 2)


def test_a_store_that_answers_for_too_few_is_found_out(make: Writers) -> None:
    """Nobody gets another's answer (D22)."""
    writer = make(Scripted(lambda requests: []))
    with pytest.raises(Exception, match="0 results for 1"):
        writer.write(save())


def test_a_create_that_is_repeated_is_recognised(make: Writers) -> None:
    """The commit landed, its answer did not: by its submission id the repetition is the same task (D22, F19)."""
    clock, told = FakeClock(), Told()
    store = Scripted(StoreError("connection lost"))
    writer = make(store, clock=clock)
    writer.submit(CreateRequest(row(), ()), told.about("t"))
    asleep(clock).advance(0.02)
    told.wait()
    first, second = store.requests
    assert isinstance(first, CreateRequest)
    assert first.submission_id
    assert first == second
    writer.write(CreateRequest(row("u"), (), submission_id="mine"))
    assert store.requests[-1] == CreateRequest(row("u"), (), submission_id="mine")


class OneByOne:
    """A store without `save_many`, whose answers follow a script."""

    def __init__(self, *script: Exception | None) -> None:
        self.script = list(script)
        self.calls: list[str] = []
        self.gate = threading.Event()

    def _answer(self, snapshot: TaskSnapshot) -> TaskSnapshot:
        assert self.gate.wait(PATIENCE)
        self.calls.append(snapshot.task_id)
        error = self.script.pop(0) if self.script else None
        if error is not None:
            raise error
        return snapshot

    def create(self, snapshot: TaskSnapshot, **given: Any) -> TaskSnapshot:
        assert set(given) == {"transitions", "submission_id", "arguments"}
        return self._answer(snapshot)

    def save(self, snapshot: TaskSnapshot, **given: Any) -> TaskSnapshot:
        assert set(given) == {"expect_version", "transitions", "attempts", "complete"}
        return self._answer(snapshot)


def test_a_store_without_save_many_is_written_one_by_one(make: Writers) -> None:
    """Refusals are told, a failure in the middle repeats only what did not land (D22, D23)."""
    clock, told = FakeClock(), Told()
    conflict, odd = ConcurrencyConflict("first"), OverflowError("too large")
    store = OneByOne(None, None, conflict, odd, StoreError("locked"))
    writer = make(store, clock=clock)
    writer.submit(CreateRequest(row("a"), ()), told.about("a"))
    for name in "bcde":
        writer.submit(save(name), told.about(name))
    store.gate.set()
    told.wait(4)
    asleep(clock).advance(0.02)
    told.wait()
    assert store.calls == ["a", "b", "c", "d", "e", "e"]
    assert told.answers == [("a", row("a")), ("b", row("b", 2)), ("c", conflict), ("d", odd), ("e", row("e", 2))]


def test_a_callback_may_submit_but_not_wait(make: Writers) -> None:
    """More from inside `done` is welcome, even when all places are taken; waiting there would be for ever (D23)."""
    told = Told()
    writer = make(Scripted(), capacity=1)

    def done(written: Any) -> None:
        for name in "ab":
            writer.submit(save(name), told.about(name))
        try:
            writer.write(save("c"))
        except ConfigurationError as error:
            told.about("refused")(error)

    writer.submit(save(), done)
    told.wait(3)
    assert told.names == ["refused", "a", "b"]


def test_a_forked_child_is_told(make: Writers, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread did not come along, so waiting for it would be for ever (D29)."""
    writer = make(Scripted())
    monkeypatch.setattr("os.getpid", lambda: -1)
    with pytest.raises(StoreError, match="fork"):
        writer.write(save())
    monkeypatch.undo()


def test_no_thread_no_waiting(make: Writers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no thread can be started, the caller hears it and nothing is left in the queue (D23)."""

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    writer = make(Scripted())
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="start new thread"):
            writer.submit(save(), lambda written: None)
    assert writer.unpersisted == 0
    assert writer.write(save()) == row("t", 2)
