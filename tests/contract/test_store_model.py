"""The reference model where random calls do not reach, and what the memory store says of itself."""

from __future__ import annotations

from typing import Any

import pytest

from chongming_spec.conformance.moves import newborn
from chongming_spec.conformance.report import START
from chongming_spec.errors import ConfigurationError, StoreError
from chongming_spec.store_model import call
from chongming_spec.store_state import StoreState, World
from chongming_task.stores.memory import InMemoryTaskStore


def test_a_closed_model_answers_nothing_but_close() -> None:
    """A closed store refuses every method; closing again is harmless."""
    closed = call(World(StoreState(), START), "close").state
    assert isinstance(call(World(closed, START), "counts").error, StoreError)
    assert call(World(closed, START), "close").error is None


def test_a_refusal_leaves_the_model_as_it_was() -> None:
    """The very same state comes back with the error."""
    row, record = newborn("t", "A#1", START)
    state = call(World(StoreState(), START), "create", row, transitions=(record,)).state
    answer = call(World(state, START), "create", row, transitions=(record,))
    assert answer.state is state
    assert answer.error is not None


def test_the_model_reads_commands_and_runs() -> None:
    """What is not there is None."""
    world = World(StoreState(), START)
    assert call(world, "command", "nobody").result is None
    assert call(world, "get_run", "nobody").result is None


@pytest.mark.parametrize("value", [{"a": object()}, {"a": float("nan")}])
def test_arguments_that_are_no_json_are_refused(value: Any) -> None:
    """D19: the message names the argument, and nothing is stored."""
    store = InMemoryTaskStore()
    row, record = newborn("t", "A#1", START)
    with pytest.raises(ConfigurationError, match="arguments"):
        store.create(row, transitions=(record,), arguments=value)
    assert store.get("t") is None


def test_the_memory_store_says_whether_it_is_open() -> None:
    """Its repr tells."""
    store = InMemoryTaskStore()
    assert repr(store) == "<InMemoryTaskStore>"
    store.close()
    assert repr(store) == "<InMemoryTaskStore, closed>"
