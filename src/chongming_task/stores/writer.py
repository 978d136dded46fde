"""One thread per store that commits what many tasks wait for in one transaction (group commit).

Whatever waits when the thread comes round is written together, so the more wait, the less each costs. Writes of one
task stay in order. A write is acknowledged only after it is durable. What the store refuses (a conflict, a fence, a
corruption) is told at once; what it could not do (locked, full, broken disk) is tried again until it lands, or, for a
write with a time limit, until that is over (D23). Nothing is dropped silently: `close` names what could not be
written.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

import attrs

from chongming_spec.errors import StoreCorruption, StoreError, TaskError
from chongming_spec.snapshot import TaskSnapshot
from chongming_spec.stores import CreateRequest, WriteRequest
from chongming_task.clock import Clock, system_clock
from chongming_task.stores.protocol import TaskStore

logger = logging.getLogger("chongming_task.writer")
BATCH = 256
FIRST_DELAY_MS, LAST_DELAY_MS = 20, 2_000
Written = TaskSnapshot | Exception
Done = Callable[[Written], None]


class ManyStore(Protocol):
    """A store that can commit many writes at once."""

    def save_many(self, requests: Sequence[WriteRequest]) -> list[TaskSnapshot | TaskError]: ...


@attrs.define(eq=False)
class _Waiting:
    request: WriteRequest
    done: Done
    give_up_ms: int | None

    @property
    def task_id(self) -> str:
        return self.request.snapshot.task_id


class StoreWriter:
    """Writes for one store. `done` is called on the writer's thread, once per write, in order per task.

    `capacity` bounds how much may wait; `submit` then waits for room, which slows producers instead of losing writes.
    """

    def __init__(self, store: TaskStore, *, clock: Clock | None = None, capacity: int = 10_000) -> None:
        self._store = store
        self._clock = clock if clock is not None else system_clock()
        self._capacity = capacity
        self._changed = threading.Condition()
        self._waiting: deque[_Waiting] = deque()
        self._writing: list[_Waiting] = []
        self._thread: threading.Thread | None = None
        self._closing = False
        self._failures = 0
        self._last_error: StoreError | None = None

    @property
    def unpersisted(self) -> int:
        """How many writes are not durable yet."""
        with self._changed:
            return len(self._waiting) + len(self._writing)

    @property
    def last_error(self) -> StoreError | None:
        """Why the newest transaction failed; None once one has succeeded."""
        return self._last_error

    def submit(self, request: WriteRequest, done: Done, *, give_up_ms: int | None = None) -> None:
        """Queue one write; `give_up_ms` milliseconds from now it fails instead of being tried again."""
        limit = None if give_up_ms is None else self._clock.mono_ms() + give_up_ms
        with self._changed:
            while len(self._waiting) >= self._capacity and not self._closing:
                self._clock.wait(self._changed, None)
            if self._closing:
                raise StoreError("the writer is closed; nothing more can be saved")
            self._waiting.append(_Waiting(request, done, limit))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="chongming-writer", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def write(self, request: WriteRequest, *, give_up_ms: int | None = None) -> TaskSnapshot:
        """Queue one write and wait until it is durable; raises what it failed with."""
        answer: list[Written] = []

        def done(written: Written) -> None:
            with self._changed:
                answer.append(written)
                self._changed.notify_all()

        self.submit(request, done, give_up_ms=give_up_ms)
        with self._changed:
            while not answer:
                self._clock.wait(self._changed, None)
        if isinstance(answer[0], Exception):
            raise answer[0]
        return answer[0]

    def flush(self, timeout_ms: int | None = None) -> tuple[str, ...]:
        """Wait until nothing waits; returns the ids of tasks whose writes still do after `timeout_ms`."""
        until = None if timeout_ms is None else self._clock.mono_ms() + timeout_ms
        with self._changed:
            while self._waiting or self._writing:
                if not self._clock.wait(self._changed, until):
                    break
            return tuple(dict.fromkeys(one.task_id for one in [*self._writing, *self._waiting]))

    def close(self, timeout_ms: int | None = 5_000) -> tuple[str, ...]:
        """Write what waits, then end; returns the ids of tasks that could not be written, whose writers are told."""
        left = self.flush(timeout_ms)
        with self._changed:
            self._closing = True
            dropped, self._waiting = list(self._waiting), deque()
            self._changed.notify_all()
            thread = self._thread
        for one in dropped:
            one.done(
                StoreError(f"task {one.task_id!r} could not be saved before the writer closed", task_id=one.task_id)
            )
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=None if timeout_ms is None else timeout_ms / 1000)
        return left

    # The thread

    def _run(self) -> None:
        while (batch := self._next_batch()) is not None:
            try:
                results: list[Written] = self._commit([one.request for one in batch])
            except StoreError as error:
                self._failed(batch, error)
            else:
                self._landed(batch, results)

    def _next_batch(self) -> list[_Waiting] | None:
        with self._changed:
            while not self._waiting:
                if self._closing:
                    return None
                self._clock.wait(self._changed, None)
            self._writing = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
            return self._writing

    def _commit(self, requests: list[WriteRequest]) -> list[Written]:
        save_many = getattr(self._store, "save_many", None)
        if save_many is not None:
            return list(save_many(requests))
        return [self._write_one(request) for request in requests]

    def _write_one(self, request: WriteRequest) -> Written:
        store = self._store
        try:
            if isinstance(request, CreateRequest):
                return store.create(
                    request.snapshot,
                    transitions=request.transitions,
                    submission_id=request.submission_id,
                    arguments=request.arguments,
                )
            return store.save(
                request.snapshot,
                expect_version=request.expect_version,
                transitions=request.transitions,
                attempts=request.attempts,
                complete=request.complete,
            )
        except TaskError as error:
            if isinstance(error, StoreError) and not isinstance(error, StoreCorruption):
                raise
            return error

    def _landed(self, batch: list[_Waiting], results: list[Written]) -> None:
        self._failures, self._last_error = 0, None
        for one, result in zip(batch, results, strict=True):
            _tell(one, result)
        with self._changed:
            self._writing = []
            self._changed.notify_all()

    def _failed(self, batch: list[_Waiting], error: StoreError) -> None:
        """Try again later, those whose time is over excepted; what was committed after all is recognised then (D22)."""
        self._last_error = error
        now = self._clock.mono_ms()
        over = [one for one in batch if one.give_up_ms is not None and one.give_up_ms <= now]
        again = [one for one in batch if one not in over]
        for one in over:
            _tell(one, error)
        delay = min(LAST_DELAY_MS, FIRST_DELAY_MS << min(self._failures, 10))
        self._failures += 1
        with self._changed:
            self._waiting.extendleft(reversed(again))
            self._writing = []
            self._changed.notify_all()
            until = now + delay
            while not self._closing and self._clock.wait(self._changed, until):
                pass


def _tell(one: _Waiting, written: Written) -> None:
    """A callback that raises must not end the thread that everybody's writes go through."""
    try:
        one.done(written)
    except Exception:
        logger.exception("the callback of a write of task %s raised", one.task_id)
