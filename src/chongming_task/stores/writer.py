"""One thread per store that commits what many tasks wait for in one transaction (group commit).

Whatever waits when the thread comes round is written together, so the more wait, the less each costs. Writes of one
task stay in order. A write is acknowledged only after it is durable. What the store refuses (a conflict, a fence, a
corruption) is told at once; what it could not do (locked, full, broken disk) is tried again until it lands, or, for a
write with a time limit, until that is over (D23). A create without a submission id gets one, so that its repetition is
recognised like that of a save (D22). A write that the store cannot even take in is found by writing one by one, told,
and harms no other. Nothing is dropped silently: `close` names what could not be written.
"""

from __future__ import annotations

import logging
import os
import threading
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

import attrs

from chongming_spec.errors import ConfigurationError, InternalError, StoreCorruption, StoreError, TaskError
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
        self._pid = os.getpid()
        self._alone = 0
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
        if self._pid != os.getpid():
            raise StoreError("the writer belongs to another process; open store and writer after the fork")
        if isinstance(request, CreateRequest) and request.submission_id is None:
            request = attrs.evolve(request, submission_id=uuid.uuid4().hex)
        limit = None if give_up_ms is None else self._clock.mono_ms() + give_up_ms
        with self._changed:
            is_own = threading.current_thread() is self._thread
            while len(self._waiting) >= self._capacity and not self._closing and not is_own:
                self._clock.wait(self._changed, None)
            if self._closing:
                raise StoreError("the writer is closed; nothing more can be saved")
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="chongming-writer", daemon=True)
                thread.start()
                self._thread = thread
            self._waiting.append(_Waiting(request, done, limit))
            self._changed.notify_all()

    def write(self, request: WriteRequest, *, give_up_ms: int | None = None) -> TaskSnapshot:
        """Queue one write and wait until it is durable; raises what it failed with.

        ConfigurationError inside a `done`: its thread would wait for itself.
        """
        if threading.current_thread() is self._thread:
            raise ConfigurationError("write() inside done would wait for itself; use submit()")
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
            done, error = self._attempt(batch)
            for one, result in done:
                _tell(one, result)
            if error is None:
                self._landed()
            else:
                self._failed(batch[len(done) :], error)

    def _attempt(self, batch: list[_Waiting]) -> tuple[list[tuple[_Waiting, Written]], StoreError | None]:
        """What came of the first writes of the batch, and the error that the rest is to be tried again for."""
        try:
            results, error = self._commit([one.request for one in batch])
            return list(zip(batch[: len(results)], results, strict=True)), error
        except StoreError as failed:
            return [], failed
        except Exception as refused:  # no error of a store: one of the values cannot be kept at all
            if len(batch) == 1:
                return [(batch[0], refused)], None
            with self._changed:
                self._alone = len(batch)
                self._waiting.extendleft(reversed(batch))
            return [], None

    def _next_batch(self) -> list[_Waiting] | None:
        with self._changed:
            while not self._waiting:
                if self._closing:
                    return None
                self._clock.wait(self._changed, None)
            size = min(BATCH, len(self._waiting)) if self._alone == 0 else 1
            self._alone -= min(self._alone, 1)
            self._writing = [self._waiting.popleft() for _ in range(size)]
            return self._writing

    def _commit(self, requests: list[WriteRequest]) -> tuple[list[Written], StoreError | None]:
        save_many = getattr(self._store, "save_many", None)
        if save_many is not None:
            results = list(save_many(requests))
            if len(results) != len(requests):
                raise InternalError(f"save_many gave {len(results)} results for {len(requests)} requests")
            return results, None
        written: list[Written] = []
        for request in requests:
            try:
                written.append(self._write_one(request))
            except StoreError as error:
                return written, error
            except Exception as error:
                written.append(error)
        return written, None

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

    def _landed(self) -> None:
        self._failures, self._last_error = 0, None
        with self._changed:
            self._writing = []
            self._changed.notify_all()

    def _failed(self, batch: list[_Waiting], error: StoreError) -> None:
        """Try again later; what was committed after all is recognised then (D22). Those whose time is over are told."""
        self._last_error = error
        delay = min(LAST_DELAY_MS, FIRST_DELAY_MS << min(self._failures, 10))
        self._failures += 1
        with self._changed:
            self._waiting.extendleft(reversed(batch))
            self._writing = []
        until = self._clock.mono_ms() + delay
        while self._give_up(error) and self._wait_until(until):
            pass

    def _give_up(self, error: StoreError) -> bool:
        """Tell whoever waited long enough, wherever it stands; at the end everybody. Whether to go on waiting."""
        now = self._clock.mono_ms()
        with self._changed:
            closing = self._closing
            over = [one for one in self._waiting if closing or (one.give_up_ms is not None and one.give_up_ms <= now)]
            if over:
                given_up = {id(one) for one in over}
                self._waiting = deque(one for one in self._waiting if id(one) not in given_up)
                self._alone = min(self._alone, len(self._waiting))
                self._changed.notify_all()
        for one in over:
            _tell(one, error)
        return not closing

    def _wait_until(self, until: int) -> bool:
        """Sleep until then, or until somebody's time is over; whether it is still before `until`."""
        with self._changed:
            limits = [one.give_up_ms for one in self._waiting if one.give_up_ms is not None]
            wake = min([until, *limits])
            if not self._closing and self._clock.mono_ms() < wake:
                self._clock.wait(self._changed, wake)
        return self._clock.mono_ms() < until


def _tell(one: _Waiting, written: Written) -> None:
    """A callback that raises must not end the thread that everybody's writes go through."""
    try:
        one.done(written)
    except BaseException:
        logger.exception("the callback of a write of task %s raised", one.task_id)
