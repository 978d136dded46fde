"""The state of the reference store, and the shape of a call and its answer; `store_model` says what the methods do."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

import attrs

from chongming_spec import store_rules as rules
from chongming_spec.errors import TaskError
from chongming_spec.snapshot import AttemptRecord, TaskSnapshot, Transition
from chongming_spec.stores import Command, OwnerRecord, RunRecord, Tombstone

Line = tuple[datetime, int, str]


@attrs.frozen
class StoreState:
    """Everything a store holds. `records` is in store-wide order, `commands` in the order of submission."""

    epoch: int = 0
    rows: Mapping[str, TaskSnapshot] = attrs.field(factory=dict)
    records: tuple[Transition, ...] = ()
    attempts: tuple[AttemptRecord, ...] = ()
    arguments: Mapping[str, Any] = attrs.field(factory=dict)
    submissions: Mapping[str, str] = attrs.field(factory=dict)
    commands: tuple[Command, ...] = ()
    owners: Mapping[str, OwnerRecord] = attrs.field(factory=dict)
    runs: Mapping[str, RunRecord] = attrs.field(factory=dict)
    tombstones: Mapping[str, Tombstone] = attrs.field(factory=dict)
    lines: Mapping[str, tuple[Line, ...]] = attrs.field(factory=dict)
    closed: bool = False


class Told(NamedTuple):
    """What the real store chose: the epoch it drew, and the token of each command it claimed."""

    epoch: int | None = None
    tokens: Mapping[str, str] | None = None


class World(NamedTuple):
    """What a method sees beside its arguments: the state, the store's clock, and what was told."""

    state: StoreState
    now: datetime
    told: Told = Told()


class Answer(NamedTuple):
    """The state afterwards, and either a result or the error of a refusal."""

    state: StoreState
    result: Any = None
    error: TaskError | None = None


def demand(error: TaskError | None) -> None:
    """Raise the error of a judgement, if there is one."""
    if error is not None:
        raise error


def history_of(state: StoreState, task_id: str) -> tuple[Transition, ...]:
    """The records of one task, oldest first."""
    return tuple(record for record in state.records if record.task_id == task_id)


def view(state: StoreState, row: TaskSnapshot) -> TaskSnapshot:
    """The row with its lease read through its owner."""
    return rules.leased(row, state.owners.get(row.owner) if row.owner is not None else None)


def command_named(state: StoreState, command_id: str) -> Command | None:
    """One command."""
    return next((one for one in state.commands if one.command_id == command_id), None)


def lease_of(state: StoreState, owner: str | None) -> datetime | None:
    """Until when the lease of an owner holds; None for one that never had any."""
    known = state.owners.get(owner) if owner is not None else None
    return None if known is None else known.lease_until
