"""The invariants that hold across tasks: counters, commands, tombstones, leases and writers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

from chongming_spec.audit_view import Flaw, History, View
from chongming_spec.records import LEASE_EXPIRED
from chongming_spec.snapshot import Transition
from chongming_spec.states import TaskStatus, occupies
from chongming_spec.stores import Command, CommandState, Tombstone
from chongming_spec.texts import is_blank

LEASE_AT_MOST = timedelta(days=1)
_BY_ANYBODY = frozenset({"admin", "reconciler"})


def counted(view: View) -> Iterator[Flaw]:
    """29: not where a row of unknown status may be counted."""
    if any(one.table == "tasks" for one in view.rows.damage):
        return
    counters = view.rows.counters or {}
    actual = Counter(str(row.status) for row in view.rows.tasks or ())
    for status in sorted(counters.keys() | actual.keys()):
        if counters.get(status, 0) != actual[status]:
            yield Flaw("", None, f"{counters.get(status, 0)} tasks are counted as {status}, there are {actual[status]}")


# Commands


def lived(view: View) -> Iterator[Flaw]:
    """30."""
    for one in view.rows.commands or ():
        problem = _command_problem(one)
        if problem is not None:
            yield Flaw(one.task_id, None, f"command {one.command_id!r} {problem}")


def _command_problem(one: Command) -> str | None:
    ended = one.outcome is not None or one.answer is not None
    held = one.claim_token is not None and one.claim_until is not None
    if one.state is CommandState.DONE:
        return "is done without an outcome" if is_blank(one.outcome) else None
    if ended:
        return f"is {one.state} and has an outcome"
    if one.state is CommandState.CLAIMED:
        return None if held and one.claims >= 1 else "is claimed by nobody"
    return "is new and has a claim" if one.claim_token is not None or one.claim_until is not None else None


def _effects(view: View, history: History) -> Iterator[tuple[Command, Transition | None, Transition]]:
    """The records that carried out a command that is known, each with the record before it."""
    for previous, record in history.pairs():
        command = view.command_of.get(record.command_id or "")
        if command is not None:
            yield command, previous, record


def aimed(view: View) -> Iterator[Flaw]:
    """31."""
    for history in view.histories:
        for command, previous, record in _effects(view, history):
            problem = _stray_effect(command, previous, record)
            if problem is not None:
                yield Flaw(record.task_id, record.version, f"the effect of command {command.command_id!r} {problem}")


def _stray_effect(command: Command, previous: Transition | None, record: Transition) -> str | None:
    if command.task_id != record.task_id:
        return f"was meant for task {command.task_id!r}"
    before = record.epoch if previous is None else previous.epoch
    if command.target_epoch not in (None, before):
        return f"was meant for epoch {command.target_epoch}, not {before}"
    return None


def in_order(view: View) -> Iterator[Flaw]:
    """32."""
    for history in view.histories:
        newest: dict[str, int] = {}
        for command, _, record in _effects(view, history):
            if command.seq < newest.get(command.owner, command.seq):
                yield Flaw(record.task_id, record.version, f"command {command.command_id!r} overtook an earlier one")
                break
            newest[command.owner] = command.seq


def buried(view: View) -> Iterator[Flaw]:
    """34: of a pruned task nothing is left; a task made anew under its id has a later epoch."""
    stones = {stone.task_id: stone for stone in view.rows.tombstones or ()}
    left: list[tuple[str, int, str]] = []
    left += [(one.task_id, one.epoch, "its row") for one in view.rows.tasks or ()]
    left += [(one.task_id, one.epoch, f"record {one.version}") for _, one in view.rows.records]
    left += [(one.task_id, one.epoch, f"attempt {one.attempt}") for one in view.rows.attempts or ()]
    for task_id, epoch, what in left:
        stone = stones.get(task_id)
        if stone is not None and epoch <= stone.epoch:
            yield Flaw(task_id, None, f"it was pruned and {what} is still there")
    for command in view.rows.commands or ():
        stone = stones.get(command.task_id)
        if stone is not None and _outlived(command, stone):
            yield Flaw(command.task_id, None, f"it was pruned and command {command.command_id!r} is still there")


def _outlived(command: Command, stone: Tombstone) -> bool:
    if command.target_epoch is not None and command.target_epoch > stone.epoch:
        return False
    return command.created_at <= stone.pruned_at and command.outcome != "not_found"


# Leases and writers


def _holds(record: Transition) -> bool:
    return record.from_status is not None and occupies(record.from_status, record.paused_in_place)


def expired(view: View) -> Iterator[Flaw]:
    """35: a lease that is over makes a held task lost and ends a waiting one; its own holder never says so."""
    for history in view.histories:
        for previous, record in history.pairs():
            if record.trigger != LEASE_EXPIRED:
                continue
            expected = TaskStatus.LOST if _holds(record) else TaskStatus.CANCELLED
            if record.to_status is not expected:
                yield Flaw(record.task_id, record.version, f"a lease that is over leads to {expected}")
            elif previous is not None and _holds(record) and record.owner and record.owner == previous.owner:
                yield Flaw(record.task_id, record.version, f"{record.owner} declared its own lease over")


def written(view: View) -> Iterator[Flaw]:
    """36: within an epoch one owner writes; others only override, settle, or steer what holds no carrier."""
    for history in view.histories:
        row = history.row
        writers = {row.epoch: row.owner} if row is not None and row.owner else {}
        for _, record in history.records:
            group = record.trigger.partition(":")[0]
            if not record.owner or group in _BY_ANYBODY or (group == "user" and not _holds(record)):
                continue
            writer = writers.setdefault(record.epoch, record.owner)
            if writer != record.owner:
                message = f"{record.owner} wrote in epoch {record.epoch}, which is {writer}'s"
                yield Flaw(record.task_id, record.version, message)
                break


def bounded(view: View) -> Iterator[Flaw]:
    """38."""
    now = view.rows.now
    for one in view.rows.owners or ():
        if now is not None and one.lease_until is not None and one.lease_until > now + LEASE_AT_MOST:
            yield Flaw("", None, f"the lease of {one.owner!r} runs until {one.lease_until}, too far ahead to be true")
