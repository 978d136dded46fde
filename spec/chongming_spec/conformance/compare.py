"""One call to a real store and to the model, and everything that can be read afterwards, held against each other."""

from __future__ import annotations

from typing import Any

import attrs

from chongming_spec import store_model as model
from chongming_spec.errors import TaskError
from chongming_spec.snapshot import TaskSnapshot, Transition
from chongming_spec.store_state import StoreState, World
from chongming_spec.stores import Command, TaskQuery

PAGE = 2


def plain(value: Any) -> Any:
    """A value without what only a real store chooses: a row's lease as last read, a command's place."""
    if isinstance(value, TaskSnapshot):
        return attrs.evolve(value, lease_owner=None, lease_until=None)
    if isinstance(value, Command):
        return attrs.evolve(value, seq=0)
    if isinstance(value, TaskError):
        return type(value).__name__
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value


def agree(what: str, found: Any, expected: Any) -> None:
    """AssertionError naming what differs; of attrs values only the fields that do."""
    if found == expected:
        return
    if type(found) is type(expected) and attrs.has(type(found)):
        names = [f.name for f in attrs.fields(type(found)) if getattr(found, f.name) != getattr(expected, f.name)]
        told = "; ".join(f"{one}: store {getattr(found, one)!r}, model {getattr(expected, one)!r}" for one in names)
        raise AssertionError(f"{what} differs in {told}")
    raise AssertionError(f"{what}: the store says {found!r}, the model {expected!r}")


class FeedReader:
    """Somebody who reads the feed as it grows and never looks back."""

    def __init__(self) -> None:
        self.after = 0
        self.seen: list[Transition] = []

    def read(self, store: Any) -> None:
        """Read on to the present end, in small pages."""
        while page := store.feed(self.after, PAGE):
            assert len(page) <= PAGE, f"feed gave {len(page)} records for a limit of {PAGE}"
            for seq, record in page:
                assert seq > self.after, f"feed gave place {seq} after {self.after}"
                self.after = seq
                self.seen.append(record)


def pages_of(store: Any, wanted: TaskQuery) -> list[TaskSnapshot]:
    """All pages of a query, read to the end by their cursors."""
    found: list[TaskSnapshot] = []
    for _ in range(1000):
        page = store.query(wanted)
        assert page.corrupt == (), f"query names corrupt rows: {page.corrupt!r}"
        assert wanted.limit is None or len(page) <= wanted.limit, "a page is longer than its limit"
        found.extend(page)
        if page.cursor is None:
            return found
        wanted = attrs.evolve(wanted, after=page.cursor)
    raise AssertionError("a query never comes to its last page")


def observe(store: Any, world: World, reader: FeedReader, tasks: tuple[str, ...]) -> None:
    """Everything that can be read of the store is what the model holds."""
    state = world.state

    def expected(method: str, *args: Any, **kwargs: Any) -> Any:
        return model.call(world, method, *args, **kwargs).result

    for task_id in tasks:
        agree(f"get({task_id})", store.get(task_id), expected("get", task_id))
        for method in ("history", "attempts", "arguments", "tombstone", "lines"):
            agree(f"{method}({task_id})", getattr(store, method)(task_id), expected(method, task_id))
    agree("counts()", store.counts(), expected("counts"))
    agree("owners()", sorted(store.owners(), key=lambda one: one.owner), expected("owners"))
    agree("runs()", store.runs(), expected("runs"))
    agree("query()", pages_of(store, TaskQuery(limit=PAGE)), expected("query"))
    whole = FeedReader()
    whole.read(store)
    agree("feed()", whole.seen, expected("feed"))
    reader.read(store)
    still = [record for record in reader.seen if record in state.records]
    agree("feed read as it grew", still, expected("feed"))
    _observe_commands(store, state)


def _observe_commands(store: Any, state: StoreState) -> None:
    places: dict[str, int] = {}
    for one in state.commands:
        found = store.command(one.command_id)
        agree(f"command({one.command_id})", plain(found), plain(one))
        assert found.seq > places.get(one.task_id, 0), f"seq of {one.command_id} does not grow within its task"
        places[one.task_id] = found.seq
