"""The part of the memory store that does not touch rows: its lock, commands, pipeline runs and log lines (D27, D28)."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

import attrs

from chongming_spec import store_rules as rules
from chongming_spec.errors import StoreError, TaskError
from chongming_spec.stores import Command, Completion, RunRecord
from chongming_task.clock import Clock, system_clock
from chongming_task.stores._memory_tables import Line, Tables, copied, own_command, own_run


def raise_if(error: TaskError | None) -> None:
    """Raise the error of a judgement, if there is one."""
    if error is not None:
        raise error


class MemoryCommands:
    """The lock, and what is kept beside the tasks."""

    def __init__(self, *, clock: Clock | None = None) -> None:
        self._clock = clock if clock is not None else system_clock()
        self._lock = threading.RLock()
        self._tables: Tables | None = Tables()

    def __repr__(self) -> str:
        return "<InMemoryTaskStore>" if self._tables is not None else "<InMemoryTaskStore, closed>"

    @contextmanager
    def _open(self) -> Iterator[Tables]:
        with self._lock:
            if self._tables is None:
                raise StoreError("the store is closed; make a new one")
            yield self._tables

    def close(self) -> None:
        """Forget everything; later calls raise StoreError."""
        with self._lock:
            self._tables = None

    # Commands

    def submit_command(self, command: Command) -> Command:
        """Leave a command; returns it with its `seq`."""
        with self._open() as tables:
            return own_command(self._submit(tables, own_command(command)))

    def _submit(self, tables: Tables, command: Command) -> Command:
        known = tables.commands.get(command.command_id)
        if known is not None:
            return known
        numbered = rules.submitted(command, tables.next_seq(command.task_id))
        tables.put_command(numbered)
        return numbered

    def claim_commands(self, *, owner: str, lease_seconds: float, limit: int = 50) -> list[Command]:
        """Claim what is for this owner, of each task only the lowest unfinished one (D27)."""
        claimed: list[Command] = []
        with self._open() as tables:
            now = self._clock.now()
            for one in tables.waiting_for(owner):
                others = tables.commands_on(one.task_id)
                is_next = not any(rules.is_behind(one, other, now) for other in others)
                if len(claimed) < limit and is_next and rules.is_claimable(one, owner, now):
                    taken = rules.claimed(one, uuid.uuid4().hex, now + timedelta(seconds=lease_seconds))
                    tables.put_command(taken)
                    claimed.append(own_command(taken))
        return claimed

    def complete_command(self, completion: Completion) -> bool:
        """Finish a claimed command; False if the claim is no longer held."""
        completion = completion._replace(answer=copied("answer", completion.answer))
        with self._open() as tables:
            one = tables.commands.get(completion.command_id)
            if one is None or not rules.holds_claim(one, completion.claim_token):
                return False
            tables.put_command(rules.completed(one, completion))
            return True

    def release_command(self, command_id: str, claim_token: str) -> bool:
        """Give a claimed command back; False if the claim is no longer held."""
        with self._open() as tables:
            one = tables.commands.get(command_id)
            if one is None or not rules.holds_claim(one, claim_token):
                return False
            tables.put_command(rules.released(one))
            return True

    def settle_commands(self, *, owner: str) -> list[Command]:
        """End commands nobody can deliver any more, whoever asks (D27)."""
        settled: list[Command] = []
        with self._open() as tables:
            now = self._clock.now()
            for one in tables.all_waiting():
                row = tables.rows.get(one.task_id)
                outcome = rules.undeliverable(one, None if row is None else row.epoch, now)
                if outcome is not None:
                    ended = rules.completed(one, Completion(one.command_id, one.claim_token or "", outcome))
                    tables.put_command(ended)
                    settled.append(own_command(ended))
        return settled

    def command(self, command_id: str) -> Command | None:
        """One command as it is now."""
        with self._open() as tables:
            found = tables.commands.get(command_id)
            return None if found is None else own_command(found)

    # Runs and lines

    def save_run(self, run: RunRecord, *, expect_version: int) -> RunRecord:
        """Put a pipeline run down (`expect_version=0`) or follow its version."""
        with self._open() as tables:
            raise_if(rules.run_error(tables.runs.get(run.run_id), run.run_id, expect_version))
            stored = own_run(attrs.evolve(run, version=expect_version + 1))
            tables.runs[run.run_id] = stored
            return own_run(stored)

    def get_run(self, run_id: str) -> RunRecord | None:
        """One pipeline run."""
        with self._open() as tables:
            found = tables.runs.get(run_id)
            return None if found is None else own_run(found)

    def runs(self) -> list[RunRecord]:
        """All pipeline runs, oldest first."""
        with self._open() as tables:
            return [own_run(one) for one in sorted(tables.runs.values(), key=lambda one: (one.created_at, one.run_id))]

    def add_lines(self, task_id: str, lines: Sequence[Line]) -> None:
        """Keep log lines (time, level, text); lossy, the newest 200 per task."""
        with self._open() as tables:
            tables.add_lines(task_id, iter(lines))

    def lines(self, task_id: str) -> list[Line]:
        """The kept log lines, oldest first."""
        with self._open() as tables:
            return list(tables.lines.get(task_id, ()))
