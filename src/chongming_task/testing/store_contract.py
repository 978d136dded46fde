"""The contract of a task store, as tests for whoever writes one. Every law of `STORE_METHODS` has at least one.

    class TestMyStore(StoreContract):
        def make_store(self):
            return MyStore(clock=self.clock)

That is all: each `test_*` method makes a new store, and any runner of plain classes will do; nothing here imports
one. The checks are `assert` statements, so they need Python without `-O`. Three hooks are there to be overridden:
`make_store`; `reopen`, for a store that outlives its process; `spoil`, for one whose rows can become unreadable.
"""

from __future__ import annotations

from collections.abc import Callable

from chongming_task.testing._contract_reads import ReadContract
from chongming_task.testing._contract_rows import CreateContract, SaveContract
from chongming_task.testing._contract_side import CommandContract, LeaseContract, UpkeepContract

__all__ = ["StoreContract", "contract_tests"]


class StoreContract(CreateContract, SaveContract, ReadContract, LeaseContract, CommandContract, UpkeepContract):
    """All laws of a store; override `make_store`."""

    __test__ = False

    def __init_subclass__(cls) -> None:
        """A subclass is meant to be run, whatever this class says of itself."""
        cls.__test__ = True


def contract_tests(contract: type[StoreContract]) -> dict[str, Callable[[StoreContract], None]]:
    """The tests of a contract by name; each has its laws as `.laws`, pairs of a method and a text."""
    names = [name for name in dir(contract) if name.startswith("test_")]
    return {name: getattr(contract, name) for name in names}
