"""The writer at its limits: no room, no thread, the end, and callers or values that misbehave (D18, D21, D23)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from chongming_spec.errors import ConcurrencyConflict, ConfigurationError, StoreError, TaskCancelled
from chongming_spec.snapshot import TaskSnapshot
from chongming_spec.stores import CreateRequest, WriteRequest
from chongming_task.testing import FakeClock
from tests.unit.scripted_stores import PATIENCE, Scripted, Told, Writers, all_well, asleep, held, row, save, writers

make = pytest.fixture(writers)


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
