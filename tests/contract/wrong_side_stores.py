"""More stores that are wrong on purpose: in leases, commands, runs, lines and upkeep."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import attrs

from chongming_spec import store_rules as rules
from chongming_spec.snapshot import TaskSnapshot
from chongming_spec.stores import (
    LOG_LINES_KEPT,
    Command,
    CommandState,
    Completion,
    LeaseView,
    OwnerRecord,
    RunRecord,
    SaveRequest,
    Tombstone,
)
from chongming_task.stores._memory_tables import Line, Tables
from chongming_task.stores.memory import InMemoryTaskStore
from tests.contract.wrong_stores import _row, breaks

# The bypass and the leases


@breaks("touch", "never a status, version, owner or epoch")
class TouchIsAWrite(InMemoryTaskStore):
    def touch(self, task_id: str, **given: Any) -> bool:
        touched = super().touch(task_id, **given)
        with self._open() as tables:
            if touched:
                _row(tables, task_id, status_version=tables.rows[task_id].status_version + 1)
        return touched


@breaks("touch", "never a status, version, owner or epoch")
class AnybodyTouches(InMemoryTaskStore):
    def touch(self, task_id: str, *, owner: str, epoch: int, **given: Any) -> bool:
        row = self.get(task_id)
        return row is not None and super().touch(task_id, owner=row.owner or "", epoch=row.epoch, **given)


@breaks("renew", "late renewal is allowed")
class TooLateIsTooLate(InMemoryTaskStore):
    def renew(self, owner: OwnerRecord, lease_until: datetime) -> None:
        with self._open() as tables:
            held = tables.lease_of(owner.owner)
            if held is None or held >= self._clock.now():
                super().renew(owner, lease_until)


@breaks("expire_lease", "a lease that was renewed in between wins")
class LostAllTheSame(InMemoryTaskStore):
    def expire_lease(self, request: SaveRequest, read: LeaseView) -> TaskSnapshot | None:
        with self._open() as tables:
            read = read._replace(lease_until=tables.lease_of(read.owner))
            return super().expire_lease(request, read)


@breaks("expire_lease", "a lease that was renewed in between wins")
class LostWhileHeld(InMemoryTaskStore):
    def expire_lease(self, request: SaveRequest, read: LeaseView) -> TaskSnapshot | None:
        with self._open() as tables:
            row = tables.rows.get(request.snapshot.task_id)
            lease = None if row is None else tables.lease_of(row.owner)
            return self._save(tables, request) if rules.still_as_read(row, read, lease) else None


@breaks("adopt", "the old owner finds a `fenced` command")
class AdoptsQuietly(InMemoryTaskStore):
    def adopt(self, request: SaveRequest, read: LeaseView, *, stalled_ok: bool = False) -> TaskSnapshot | None:
        row = super().adopt(request, read, stalled_ok=stalled_ok)
        with self._open() as tables:
            for one in tables.commands_on(request.snapshot.task_id):
                if row is not None and one.verb == rules.FENCED and one.state is CommandState.NEW:
                    tables.put_command(attrs.evolve(one, state=CommandState.DONE))
        return row


@breaks("adopt")
class StalledIsGone(InMemoryTaskStore):
    def adopt(self, request: SaveRequest, read: LeaseView, *, stalled_ok: bool = False) -> TaskSnapshot | None:
        with self._open() as tables:
            row = tables.rows.get(request.snapshot.task_id)
            lease = None if row is None else tables.lease_of(row.owner)
            if stalled_ok and rules.still_as_read(row, read, lease):
                return self._save(tables, request)
            return super().adopt(request, read)


# Commands


@breaks("submit_command", "the same command_id again changes nothing")
class TheLastAskWins(InMemoryTaskStore):
    def _submit(self, tables: Tables, command: Command) -> Command:
        known = tables.commands.get(command.command_id)
        if known is not None:
            tables.put_command(attrs.evolve(known, actor=command.actor, expires_at=command.expires_at, claims=0))
            tables.put_command(attrs.evolve(known, task_id=command.task_id))
            return tables.commands[command.command_id]
        return super()._submit(tables, command)


@breaks("submit_command", "seq grows per task")
class NoOrder(InMemoryTaskStore):
    def _submit(self, tables: Tables, command: Command) -> Command:
        numbered = attrs.evolve(super()._submit(tables, command), seq=1)
        tables.put_command(numbered)
        return numbered


@breaks("claim_commands", "of one task only the lowest unfinished seq")
class ClaimsAllAtOnce(InMemoryTaskStore):
    def claim_commands(self, *, owner: str, lease_seconds: float, limit: int = 50) -> list[Command]:
        found: list[Command] = []
        with self._open() as tables:
            now = self._clock.now()
            for one in tables.waiting_for(owner):
                if rules.is_claimable(one, owner, now) and len(found) < limit:
                    found.append(rules.claimed(one, f"{one.command_id}-{one.claims}", _later(now, lease_seconds)))
                    tables.put_command(found[-1])
        return found


def _later(now: datetime, seconds: float) -> datetime:
    return datetime.fromtimestamp(now.timestamp() + seconds, now.tzinfo)


@breaks("claim_commands", "never another owner's")
class ClaimsAnybodys(InMemoryTaskStore):
    def claim_commands(self, *, owner: str, lease_seconds: float, limit: int = 50) -> list[Command]:
        with self._open() as tables:
            names = list(tables.unfinished)
        found = [
            one for name in names for one in super(ClaimsAnybodys, self).claim_commands(
                owner=name, lease_seconds=lease_seconds, limit=limit
            )
        ]  # fmt: skip
        return found[:limit]


@breaks("claim_commands")
class SettlesWhatTellsOfAnOldEpoch(InMemoryTaskStore):
    def settle_commands(self, *, owner: str) -> list[Command]:
        settled = super().settle_commands(owner=owner)
        with self._open() as tables:
            for one in tables.all_waiting():
                if one.verb == rules.FENCED:
                    ended = attrs.evolve(one, state=CommandState.DONE, outcome="superseded")
                    tables.put_command(ended)
                    settled.append(ended)
        return settled


@breaks("complete_command", "done is final")
class CompletesAgain(InMemoryTaskStore):
    def complete_command(self, completion: Completion) -> bool:
        with self._open() as tables:
            one = tables.commands.get(completion.command_id)
            if one is None or one.claim_token != completion.claim_token:
                return False
            tables.put_command(rules.completed(one, completion))
            return True


@breaks("complete_command", "done is final")
class AnyTokenCompletes(InMemoryTaskStore):
    def complete_command(self, completion: Completion) -> bool:
        with self._open() as tables:
            one = tables.commands.get(completion.command_id)
            if one is None or one.state is not CommandState.CLAIMED:
                return False
            tables.put_command(rules.completed(one, completion))
            return True


@breaks("release_command")
class AnyTokenReleases(InMemoryTaskStore):
    def release_command(self, command_id: str, claim_token: str) -> bool:
        one = self.command(command_id)
        return one is not None and super().release_command(command_id, one.claim_token or claim_token)


# Runs, lines, upkeep


@breaks("save_run")
class LastRunWins(InMemoryTaskStore):
    def save_run(self, run: RunRecord, *, expect_version: int) -> RunRecord:
        known = self.get_run(run.run_id)
        return super().save_run(run, expect_version=0 if known is None else known.version)


@breaks("prune", "tombstone first, then row, history, attempts and commands, in one transaction")
class LeavesNoTombstone(InMemoryTaskStore):
    def tombstone(self, task_id: str) -> Tombstone | None:
        return None


@breaks("prune", "tombstone first, then row, history, attempts and commands, in one transaction")
class LeavesTheHistory(InMemoryTaskStore):
    def prune(self, *, keep_terminal: int) -> int:
        with self._open() as tables:
            kept = {task_id: list(records) for task_id, records in tables.records.items()}
            removed = super().prune(keep_terminal=keep_terminal)
            for task_id in kept.keys() - tables.rows.keys():
                tables.records[task_id] = kept[task_id]
            return removed


@breaks("prune", "tombstone first, then row, history, attempts and commands, in one transaction")
class PrunesWhatIsCommanded(InMemoryTaskStore):
    def _may_prune(self, tables: Tables, row: TaskSnapshot) -> bool:
        return rules.may_prune(row, False, True, rules.possibly_alive(row))


@breaks("prune", "tombstone first, then row, history, attempts and commands, in one transaction")
class PrunesWhatMayLive(InMemoryTaskStore):
    def _may_prune(self, tables: Tables, row: TaskSnapshot) -> bool:
        return super()._may_prune(tables, attrs.evolve(row, carrier_state=type(row.carrier_state)("none")))


@breaks("add_lines", "lossy: the newest 200 per task are kept")
class KeepsTheOldestLines(InMemoryTaskStore):
    def add_lines(self, task_id: str, lines: Sequence[Line]) -> None:
        super().add_lines(task_id, lines[: LOG_LINES_KEPT - len(self.lines(task_id))])


@breaks("add_lines", "never part of an invariant")
class LinesAreChanges(InMemoryTaskStore):
    def add_lines(self, task_id: str, lines: Sequence[Line]) -> None:
        super().add_lines(task_id, lines)
        with self._open() as tables:
            if lines:
                _row(tables, task_id, updated_at=lines[-1][0])


@breaks("close", "calls afterwards raise StoreError", unseen=True)
class OpensAgain(InMemoryTaskStore):
    def close(self) -> None:
        super().close()
        self._tables = Tables()
