"""What a store keeps, and what each of its methods may do (D22-D30).

A store never decides what may happen to a task; it makes sure that what is written could have happened. Four kinds of
data have four rules: the *row* changes only by compare-and-swap on its version, the *history* only grows, the
*bypass* (progress, heartbeat, log lines) never touches a version, and *commands* are leased. Every method below is
one atomic transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

import attrs

from chongming_spec.snapshot import AttemptRecord, TaskSnapshot, Transition
from chongming_spec.states import TaskStatus

SCHEMA_VERSION = 1
LOG_LINES_KEPT = 200
SETTLED_RUNS: frozenset[str] = frozenset({"succeeded", "failed", "stopped", "cancelled"})


class CommandState(StrEnum):
    """Where a command is: `done` is final."""

    NEW = "new"
    CLAIMED = "claimed"
    DONE = "done"


@attrs.frozen
class Command:
    """A verb asked of another process (D26, D27). `ask` holds the verb's further parameters as JSON values.

    It is bound to one epoch of its task; `seq` orders the commands of a task; whoever claims it gets a `claim_token`
    without which nobody can complete or release it. `owner` is whom it is for.
    """

    command_id: str
    task_id: str
    verb: str
    actor: str
    created_at: datetime
    expires_at: datetime
    target_epoch: int | None = None
    owner: str = ""
    reason: str | None = None
    ask: Mapping[str, Any] = attrs.field(factory=dict)
    seq: int = 0
    state: CommandState = CommandState.NEW
    claim_token: str | None = None
    claim_until: datetime | None = None
    claims: int = 0
    outcome: str | None = None
    answer: Mapping[str, Any] | None = None


class Completion(NamedTuple):
    """The end of a command, written in the transaction of its effect."""

    command_id: str
    claim_token: str
    outcome: str
    answer: Mapping[str, Any] | None = None


@attrs.frozen
class OwnerRecord:
    """Who runs tasks: its identity (`name#incarnation`), where it lives, and until when its lease holds (D24)."""

    owner: str
    host: str = ""
    pid: int = 0
    process_start: str = ""
    boot_id: str = ""
    buckets: tuple[int, ...] | None = None
    lease_until: datetime | None = None


@attrs.frozen
class SaveRequest:
    """One `save`: the next row, the version it follows, and its records."""

    snapshot: TaskSnapshot
    expect_version: int
    transitions: tuple[Transition, ...]
    attempts: tuple[AttemptRecord, ...] = ()
    complete: Completion | None = None


@attrs.frozen
class CreateRequest:
    """One `create`: the new row with its first records, and what is kept beside it."""

    snapshot: TaskSnapshot
    transitions: tuple[Transition, ...]
    submission_id: str | None = None
    arguments: Mapping[str, Any] | None = None


WriteRequest = CreateRequest | SaveRequest


class LeaseView(NamedTuple):
    """What a reconciler has read of a task and its owner; a lease is expired or a task adopted only if all still
    holds.
    """

    version: int
    owner: str | None
    epoch: int
    lease_until: datetime | None


@attrs.frozen
class TaskQuery:
    """Which tasks: all given conditions hold. Ordered by creation, then id; `newest` turns that round.

    `after` is the cursor of the last row of the previous page (`QueryResult.cursor`); `limit` bounds the page.
    """

    statuses: frozenset[TaskStatus] | None = None
    tag: str | None = None
    name_prefix: str | None = None
    buckets: frozenset[int] | None = None
    pipeline_run_id: str | None = None
    owner: str | None = None
    limit: int | None = None
    newest: bool = False
    after: str | None = None


class CorruptRow(NamedTuple):
    """A row that could not be read, and why; it never hides the good ones (D29)."""

    task_id: str
    problem: str


class QueryResult(list[TaskSnapshot]):
    """The tasks of one page; `corrupt` names rows that could not be read, `cursor` is where the next page begins."""

    def __init__(
        self, found: Sequence[TaskSnapshot] = (), corrupt: Sequence[CorruptRow] = (), cursor: str | None = None
    ) -> None:
        super().__init__(found)
        self.corrupt = tuple(corrupt)
        self.cursor = cursor


class FeedRecord(NamedTuple):
    """One transition with its place in the store-wide order."""

    seq: int
    transition: Transition


@attrs.frozen
class Tombstone:
    """What is left of a pruned task (D30)."""

    task_id: str
    status: TaskStatus
    epoch: int
    last_version: int
    pruned_at: datetime


@attrs.frozen
class RunRecord:
    """One pipeline run: its structure as JSON, and its latch (D28, D36)."""

    run_id: str
    name: str
    owner: str
    created_at: datetime
    updated_at: datetime
    version: int = 1
    structure: Mapping[str, Any] | None = None
    latch: str | None = None
    status: str = "pending"


class DataClass(StrEnum):
    """The four kinds of data, and the three side tables."""

    ROW = "row and history"
    BYPASS = "bypass"
    COMMAND = "command"
    OWNER = "owner lease"
    RUN = "pipeline run"
    LINES = "log lines and outputs"
    READ = "read only"
    UPKEEP = "upkeep"


@attrs.frozen
class StoreMethod:
    """One method: what kind of data it touches, what it may change, under which condition, and its laws."""

    name: str
    data: DataClass
    changes: str
    condition: str
    laws: tuple[str, ...]


def _m(name: str, data: DataClass, changes: str, condition: str, *laws: str) -> StoreMethod:
    return StoreMethod(name, data, changes, condition, laws)


_D = DataClass
STORE_METHODS: tuple[StoreMethod, ...] = (
    _m(
        "create",
        _D.ROW,
        "a new row with its first records, arguments and submission id",
        "the id is free, or the same submission",
        "row and first record appear together or not at all",
        "the same submission_id again is the same task",
        "an id that exists is refused with its present status",
        "the epoch is drawn from a store-wide sequence",
    ),
    _m(
        "save",
        _D.ROW,
        "the row, its new records, its attempts, one command's completion",
        "version and epoch are those expected",
        "all in one transaction",
        "the same save again is a success that changes nothing",
        "another version is a ConcurrencyConflict, another epoch is Fenced",
        "records are exactly the versions in between",
        "an out-of-band move draws a new epoch and leaves a `fenced` command for another owner",
    ),
    _m("save_many", _D.ROW, "as save, for many tasks", "each on its own", "one that fails does not harm the others"),
    _m("get", _D.READ, "nothing", "", "what was acknowledged is found"),
    _m(
        "query",
        _D.READ,
        "nothing",
        "",
        "good rows are returned whatever bad ones there are",
        "pages are complete and disjoint",
    ),
    _m("counts", _D.READ, "nothing", "", "equals the number of rows per status"),
    _m(
        "append",
        _D.ROW,
        "one imported record",
        "it continues the history",
        "an equal record changes nothing",
        "a different one is StoreCorruption",
    ),
    _m("history", _D.READ, "nothing", "", "an earlier read is a prefix of a later one"),
    _m(
        "feed",
        _D.READ,
        "nothing",
        "",
        "store-wide order agrees with each task's order",
        "nothing is skipped once read past",
    ),
    _m("attempts", _D.READ, "nothing", "", "one record per attempt started"),
    _m(
        "note_late_result",
        _D.ROW,
        "the late_result of a closed attempt",
        "the attempt is closed",
        "no status, version or record changes",
    ),
    _m(
        "touch",
        _D.BYPASS,
        "progress and heartbeat",
        "owner and epoch hold, the task is not over",
        "never a status, version, owner or epoch",
    ),
    _m("renew", _D.OWNER, "one owner's lease", "", "late renewal is allowed"),
    _m("owners", _D.READ, "nothing", "", ""),
    _m(
        "expire_lease",
        _D.ROW,
        "as save, to lost",
        "version, owner, epoch and lease are those read, and the lease is over",
        "a lease that was renewed in between wins",
    ),
    _m(
        "adopt",
        _D.ROW,
        "as save, out of band",
        "version, owner, epoch and lease are those read, and the lease is over or stalled_ok",
        "the old owner finds a `fenced` command",
    ),
    _m(
        "submit_command",
        _D.COMMAND,
        "a new command",
        "",
        "the same command_id again changes nothing",
        "seq grows per task",
    ),
    _m(
        "claim_commands",
        _D.COMMAND,
        "state, claim_token, claim_until",
        "new or its claim is over, and for this owner",
        "of one task only the lowest unfinished seq",
        "never another owner's",
    ),
    _m("complete_command", _D.COMMAND, "state, outcome, answer", "the claim_token is the present one", "done is final"),
    _m("release_command", _D.COMMAND, "state", "the claim_token is the present one", ""),
    _m("save_run", _D.RUN, "a run's record", "its version follows", ""),
    _m("get_run", _D.READ, "nothing", "", ""),
    _m("runs", _D.READ, "nothing", "", ""),
    _m(
        "prune",
        _D.UPKEEP,
        "whole tasks, leaving tombstones",
        "over, saved, not possibly alive, no live command, run settled",
        "tombstone first, then row, history, attempts and commands, in one transaction",
    ),
    _m("tombstone", _D.READ, "nothing", "", ""),
    _m(
        "add_lines",
        _D.LINES,
        "log lines and outputs",
        "",
        "lossy: the newest 200 per task are kept",
        "never part of an invariant",
    ),
    _m("lines", _D.READ, "nothing", "", ""),
    _m("close", _D.UPKEEP, "nothing", "", "calls afterwards raise StoreError"),
)
