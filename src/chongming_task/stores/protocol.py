"""What a store offers. The rows of `chongming_spec.stores.STORE_METHODS` say what each method may do and by which laws.

Every method is one atomic transaction, may be called from any thread, and raises StoreError (with what to do) when
the store cannot do it. A write that returned is durable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from chongming_spec.snapshot import AttemptRecord, Progress, TaskSnapshot, Transition
from chongming_spec.states import TaskStatus
from chongming_spec.stores import (
    Command,
    Completion,
    CorruptRow,
    FeedRecord,
    LeaseView,
    OwnerRecord,
    QueryResult,
    RunRecord,
    SaveRequest,
    TaskQuery,
    Tombstone,
)

__all__ = [
    "Command",
    "Completion",
    "CorruptRow",
    "FeedRecord",
    "LeaseView",
    "OwnerRecord",
    "QueryResult",
    "RunRecord",
    "SaveRequest",
    "TaskQuery",
    "TaskStore",
    "Tombstone",
]


class TaskStore(Protocol):
    """Where tasks are kept."""

    def create(
        self,
        snapshot: TaskSnapshot,
        *,
        transitions: Sequence[Transition],
        submission_id: str | None = None,
        arguments: Mapping[str, Any] | None = None,
    ) -> TaskSnapshot:
        """Put a new task and its first records down; returns it with the epoch the store drew (D22, D24).

        TaskExists if the id is taken; the same `submission_id` again returns the task as it is.
        """
        ...

    def save(
        self,
        snapshot: TaskSnapshot,
        *,
        expect_version: int,
        transitions: Sequence[Transition],
        attempts: Sequence[AttemptRecord] = (),
        complete: Completion | None = None,
    ) -> TaskSnapshot:
        """Follow `expect_version` by `snapshot` and its records; returns it with its epoch (D22).

        ConcurrencyConflict, Fenced, StoreCorruption. The very same save again succeeds and changes nothing.
        """
        ...

    def get(self, task_id: str) -> TaskSnapshot | None:
        """The task, or None. StoreCorruption if its row cannot be read."""
        ...

    def arguments(self, task_id: str) -> Mapping[str, Any] | None:
        """The stored arguments of a task, if they were stored (D40)."""
        ...

    def query(self, query: TaskQuery | None = None) -> QueryResult:
        """One page of tasks."""
        ...

    def counts(self) -> dict[TaskStatus, int]:
        """How many tasks there are in each state; states without any are left out."""
        ...

    def append(self, transition: Transition) -> None:
        """Import one record that continues a history; an equal one again changes nothing (D22)."""
        ...

    def history(self, task_id: str, *, since_version: int = 0, generation: int | None = None) -> list[Transition]:
        """The records after `since_version`, oldest first; of all generations, or of one."""
        ...

    def feed(self, after: int = 0, limit: int = 1000) -> list[FeedRecord]:
        """Records of all tasks in store-wide order, after that place."""
        ...

    def attempts(self, task_id: str, *, generation: int | None = None) -> list[AttemptRecord]:
        """One record per attempt started, oldest first."""
        ...

    def note_late_result(self, task_id: str, *, generation: int, attempt: int, note: str) -> bool:
        """Note on a closed attempt what its carrier reported too late; False if there is no such attempt."""
        ...

    def touch(
        self,
        task_id: str,
        *,
        owner: str,
        epoch: int,
        progress: Progress | None = None,
        heartbeat_at: datetime | None = None,
    ) -> bool:
        """Keep progress and heartbeat; False: the caller is fenced (D24)."""
        ...

    def renew(self, owner: OwnerRecord, lease_until: datetime) -> None:
        """Hold the owner's lease until then, also if it had run out (D24, D25)."""
        ...

    def owners(self) -> list[OwnerRecord]:
        """All owners that ever held a lease here."""
        ...

    def expire_lease(self, request: SaveRequest, read: LeaseView) -> TaskSnapshot | None:
        """Save the move to lost if all is still as `read` and the lease is over by the store's clock; else None
        (D25).
        """
        ...

    def adopt(self, request: SaveRequest, read: LeaseView, *, stalled_ok: bool = False) -> TaskSnapshot | None:
        """Save the adoption under the same condition; `stalled_ok` does without the lease being over (D28)."""
        ...

    def submit_command(self, command: Command) -> Command:
        """Leave a command; returns it with its `seq`. The same id again returns the first."""
        ...

    def claim_commands(self, *, owner: str, lease_seconds: float, limit: int = 50) -> list[Command]:
        """Claim what is for this owner, of each task only the lowest unfinished one (D27)."""
        ...

    def complete_command(self, completion: Completion) -> bool:
        """Finish a claimed command; False if the claim is no longer held."""
        ...

    def release_command(self, command_id: str, claim_token: str) -> bool:
        """Give a claimed command back; False if the claim is no longer held."""
        ...

    def settle_commands(self, *, owner: str) -> list[Command]:
        """End commands nobody can deliver any more: expired, superseded, without a task (D27); returns them."""
        ...

    def command(self, command_id: str) -> Command | None:
        """One command as it is now."""
        ...

    def save_run(self, run: RunRecord, *, expect_version: int) -> RunRecord:
        """Put a pipeline run down (`expect_version=0`) or follow its version; ConcurrencyConflict."""
        ...

    def get_run(self, run_id: str) -> RunRecord | None:
        """One pipeline run."""
        ...

    def runs(self) -> list[RunRecord]:
        """All pipeline runs, oldest first."""
        ...

    def prune(self, *, keep_terminal: int) -> int:
        """Remove the oldest tasks that are over, all but the newest `keep_terminal`; returns how many (D30)."""
        ...

    def tombstone(self, task_id: str) -> Tombstone | None:
        """What is left of a pruned task."""
        ...

    def add_lines(self, task_id: str, lines: Sequence[tuple[datetime, int, str]]) -> None:
        """Keep log lines (time, level, text); lossy, the newest 200 per task."""
        ...

    def lines(self, task_id: str) -> list[tuple[datetime, int, str]]:
        """The kept log lines, oldest first."""
        ...

    def close(self) -> None:
        """Give back what it holds; later calls raise StoreError."""
        ...
