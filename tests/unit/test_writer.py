"""The writer thread: one commit for many, acknowledged when durable, and nothing lost silently (D22, D23)."""

from __future__ import annotations

import pytest

from chongming_spec.errors import ConcurrencyConflict, StoreCorruption, StoreError
from chongming_spec.snapshot import TaskSnapshot
from chongming_task.stores import writer as module
from chongming_task.testing import FakeClock
from tests.unit.scripted_stores import Scripted, Told, Writers, all_well, asleep, held, row, save, writers

make = pytest.fixture(writers)


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
