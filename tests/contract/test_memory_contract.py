"""The memory store keeps the contract, and the contract holds a store to every law."""

from __future__ import annotations

from chongming_spec.stores import STORE_METHODS
from chongming_task.stores.memory import InMemoryTaskStore
from chongming_task.testing.store_contract import StoreContract, contract_tests


class TestInMemory(StoreContract):
    """Each law, on the memory store."""

    def make_store(self) -> InMemoryTaskStore:
        return InMemoryTaskStore(clock=self.clock)


def test_every_law_has_a_test() -> None:
    """Each law of each row of STORE_METHODS is named by a test of the contract, and no test names one that is not."""
    laws = {(row.name, text) for row in STORE_METHODS for text in row.laws if text}
    named = {law for test in contract_tests(StoreContract).values() for law in getattr(test, "laws", ())}
    assert laws - named == set()
    assert {law for law in named if law[1]} - laws == set()
    assert {row.name for row in STORE_METHODS} - {name for name, _ in named} == set()
