"""The SQLite store keeps every law of a store, in a file and in memory (D22-D30)."""

from __future__ import annotations

import tempfile
from pathlib import Path

from chongming_task.stores.protocol import TaskStore
from chongming_task.stores.sqlite import SqliteTaskStore
from chongming_task.testing.store_contract import StoreContract


class TestSqliteFile(StoreContract):
    """A file, with its three connections."""

    def make_store(self) -> TaskStore:
        folder = tempfile.mkdtemp(prefix="chongming-contract-")
        return SqliteTaskStore(Path(folder) / "tasks.db", clock=self.clock)


class TestSqliteMemory(StoreContract):
    """`:memory:`, with a single one."""

    def make_store(self) -> TaskStore:
        return SqliteTaskStore(":memory:", clock=self.clock)
