"""The contract and the conformance machine can fail: each deliberately wrong store is caught."""

from __future__ import annotations

import pytest

import tests.contract.wrong_side_stores  # noqa: F401 - registers its stores
from chongming_spec.conformance import run_conformance
from chongming_spec.conformance.report import ManualClock
from chongming_spec.stores import STORE_METHODS
from chongming_task.stores.memory import InMemoryTaskStore
from chongming_task.testing.store_contract import StoreContract, contract_tests
from tests.contract.wrong_stores import UNSEEN, WRONG, SpoilableStore

EXAMPLES = 60
SEEDS = (1, 2, 3, 4, 5)
ALL = sorted(WRONG, key=lambda store: store.__name__)


class Spoilable(StoreContract):
    """The contract on a memory store of some class, whose rows may be spoilable."""

    kind: type[InMemoryTaskStore] = SpoilableStore

    def make_store(self) -> InMemoryTaskStore:
        return self.kind(clock=self.clock)

    def spoil(self, store: InMemoryTaskStore, task_id: str) -> bool:
        if isinstance(store, SpoilableStore):
            store.spoilt.add(task_id)
        return isinstance(store, SpoilableStore)


Spoilable.__test__ = False


def failures(kind: type[InMemoryTaskStore]) -> dict[str, BaseException]:
    """The tests of the contract that fail on a store, with their errors."""
    contract = type("Contract", (Spoilable,), {"kind": kind})
    found: dict[str, BaseException] = {}
    for name, test in contract_tests(contract).items():
        try:
            test(contract())
        except Exception as error:
            found[name] = error
    return found


def test_a_right_store_is_not_accused() -> None:
    """The same machinery finds nothing wrong with a right store, spoilt rows included."""
    assert failures(SpoilableStore) == {}


@pytest.mark.parametrize("kind", ALL)
def test_the_contract_catches(kind: type[InMemoryTaskStore]) -> None:
    """A test that names the broken law fails."""
    tests = contract_tests(StoreContract)
    caught = {law for name in failures(kind) for law in getattr(tests[name], "laws", ())}
    method, text = WRONG[kind]
    assert (method, text) in caught or (not text and method in {name for name, _ in caught})


def test_every_law_has_a_wrong_store() -> None:
    """A law that no store is known to break may be tested by nothing."""
    laws = {(row.name, text) for row in STORE_METHODS for text in row.laws if text}
    assert laws - set(WRONG.values()) == set()


@pytest.mark.parametrize("kind", [kind for kind in ALL if kind not in UNSEEN])
def test_conformance_catches(kind: type[InMemoryTaskStore]) -> None:
    """Random calls alone find it too."""

    def target(clock: ManualClock) -> InMemoryTaskStore:
        return kind(clock=clock)  # type: ignore[arg-type]

    assert any(not run_conformance(target, examples=EXAMPLES, seed=seed, shrink=False).ok for seed in SEEDS)
