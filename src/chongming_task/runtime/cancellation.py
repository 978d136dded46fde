"""How a running body is told to stop or to pause, and when it hears it (D20).

A token belongs to one attempt. Requests set flags; the body meets them at its next checkpoint, in whichever thread or
coroutine that is. The rules:

- One flag, `attention`, is all that a checkpoint without a request reads.
- A stop is delivered as `TaskCancelled`, and again at every later checkpoint.
- A pause parks the thread or coroutine that meets it until resume or stop. Nothing polls meanwhile. Stop beats pause.
- Inside `shield()` neither is delivered. A shield covers the thread or coroutine that opened it and the coroutines
  started inside; while any is open, no asyncio task is cancelled by a stop.
- `parked` and `unparked` are told about the body as a whole: once per pause, in order, outside the lock, by one of its
  own threads. A pause that follows a resume before anybody woke is told as unparked, parked.
"""

from __future__ import annotations

import logging
import threading
import types
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from chongming_spec.errors import TaskCancelled

if TYPE_CHECKING:
    import asyncio

logger = logging.getLogger("chongming_task.cancellation")


class _Mark:
    """One open shield. Coroutines started inside inherit the mark and see it close."""

    __slots__ = ("is_open", "token")

    def __init__(self, token: CancellationToken) -> None:
        self.token = token
        self.is_open = True


_marks: ContextVar[tuple[_Mark, ...]] = ContextVar("chongming_task_shields", default=())


def _nothing() -> None:
    """Nobody wants to know."""


class CancellationToken:
    """Requests to one attempt. Thread-safe. A token that is not `pausable` ignores pauses (inline carriers).

    `changed` is notified at every request; whoever waits on it asks `calls_here` again.
    """

    def __init__(
        self,
        *,
        pausable: bool = True,
        parked: Callable[[], None] = _nothing,
        unparked: Callable[[], None] = _nothing,
    ) -> None:
        self.attention = False
        self.changed = threading.Condition(threading.Lock())
        self._pausable = pausable
        self._parked = parked
        self._unparked = unparked
        self._stop = False
        self._pause = False
        self._reason = ""
        self._pause_number = 0
        self._told_parked = 0
        self._parkers = 0
        self._news: deque[Callable[[], None]] = deque()
        self._telling = False
        self._waiters: set[asyncio.Future[None]] = set()
        self._shields = 0
        self._on_stop: dict[object, Callable[[], None]] = {}
        self._stop_told = False

    # ------------------------------------------------------------ requests

    @property
    def is_stop_requested(self) -> bool:
        """Whether the attempt was asked to end; also true inside a shield."""
        return self._stop

    @property
    def is_pause_requested(self) -> bool:
        """Whether a pause stands."""
        return self._pause

    @property
    def reason(self) -> str:
        """Why the stop was asked for; the last one that gave a reason."""
        return self._reason

    def request_stop(self, reason: str = "") -> None:
        """Ask the body to end. Asking again only changes the reason (D6)."""
        with self.changed:
            self._stop = True
            self._reason = reason or self._reason
            waiters = self._change()
            calls = self._stop_calls()
        _wake(waiters)
        _call(calls)

    def request_pause(self) -> None:
        """Ask the body to park at its next checkpoint."""
        with self.changed:
            if not self._pausable or self._pause:
                return
            self._pause = True
            self._pause_number += 1
            waiters = self._change()
        _wake(waiters)

    def resume(self) -> None:
        """Take the pause back and wake whoever is parked."""
        with self.changed:
            self._pause = False
            waiters = self._change()
        _wake(waiters)

    def on_stop(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back once a stop may be delivered: at once, or when the last shield closes. Returns how to forget it.

        The call comes from whoever asks for the stop or closes the shield; it must be short.
        """
        key = object()
        with self.changed:
            told = self._stop_told
            if not told:
                self._on_stop[key] = callback
        if told:
            _call([callback])
        return lambda: self._forget(key)

    def _forget(self, key: object) -> None:
        with self.changed:
            self._on_stop.pop(key, None)

    def _change(self) -> set[asyncio.Future[None]]:
        self.attention = self._stop or self._pause
        self.changed.notify_all()
        waiters, self._waiters = self._waiters, set()
        return waiters

    def _stop_calls(self) -> list[Callable[[], None]]:
        if not self._stop or self._shields or self._stop_told:
            return []
        self._stop_told = True
        calls = list(self._on_stop.values())
        self._on_stop.clear()
        return calls

    # ------------------------------------------------------------ delivery

    def calls_here(self) -> bool:
        """Whether a checkpoint at this place would raise or park."""
        return self.attention and not self.is_shielded

    @property
    def is_shielded(self) -> bool:
        """Whether the caller is inside a shield of this token."""
        return any(mark.is_open and mark.token is self for mark in _marks.get())

    def checkpoint(self) -> None:
        """Raise TaskCancelled if a stop was asked for; park while a pause stands."""
        if not self.calls_here():
            return
        if not self._stop:
            self._park()
        if self._stop:
            raise self._cancelled()

    async def acheckpoint(self) -> None:
        """The same for a coroutine: only this one parks. Lets the other coroutines take their turn first."""
        await _take_turns()
        if not self.calls_here():
            return
        if not self._stop:
            await self._apark()
        if self._stop:
            raise self._cancelled()

    @contextmanager
    def shield(self) -> Iterator[None]:
        """Deliver nothing inside; may be nested, and works in coroutines as it is."""
        mark = _Mark(self)
        outer = _marks.get()
        _marks.set((*outer, mark))
        with self.changed:
            self._shields += 1
        try:
            yield
        finally:
            mark.is_open = False
            _marks.set(outer)
            with self.changed:
                self._shields -= 1
                calls = self._stop_calls()
            _call(calls)

    def was_delivered(self, error: BaseException) -> bool:
        """Whether `error` is a TaskCancelled that this token raised."""
        return getattr(error, "_delivered_by", None) is self

    def enroll(self, waiter: asyncio.Future[None]) -> bool:
        """Wake `waiter` at the next request; False, and nothing done, if one is already due here."""
        with self.changed:
            if self.calls_here():
                return False
            self._waiters.add(waiter)
            return True

    def dismiss(self, waiter: asyncio.Future[None]) -> None:
        """Forget a waiter."""
        with self.changed:
            self._waiters.discard(waiter)

    def _cancelled(self) -> TaskCancelled:
        error = TaskCancelled(self._reason)
        error.__dict__["_delivered_by"] = self
        return error

    # ------------------------------------------------------------ parking

    def _park(self) -> None:
        self._arrive()
        try:
            while True:
                with self.changed:
                    if self._stop or not self._pause:
                        return
                    if self._told_parked == self._pause_number:
                        self.changed.wait()
                    self._note()
                self._tell()
        finally:
            self._leave()

    async def _apark(self) -> None:
        import asyncio

        self._arrive()
        waiter: asyncio.Future[None] | None = None
        try:
            while True:
                waiter = asyncio.get_running_loop().create_future()
                with self.changed:
                    if self._stop or not self._pause:
                        return
                    self._waiters.add(waiter)
                    self._note()
                self._tell()
                await waiter
        finally:
            if waiter is not None:
                self.dismiss(waiter)
            self._leave()

    def _arrive(self) -> None:
        with self.changed:
            self._parkers += 1
            self._note()
        self._tell()

    def _leave(self) -> None:
        with self.changed:
            self._parkers -= 1
            self._note()
        self._tell()

    def _note(self) -> None:
        """With the lock held: queue what has to be told, by comparing what is so with what was told last."""
        is_parked = self._parkers > 0 and self._pause and not self._stop
        number = self._pause_number if is_parked else 0
        if number != self._told_parked:
            if self._told_parked:
                self._news.append(self._unparked)
            if number:
                self._news.append(self._parked)
            self._told_parked = number

    def _tell(self) -> None:
        """Tell the news in order: whoever finds nobody telling does it."""
        while True:
            with self.changed:
                if self._telling or not self._news:
                    return
                self._telling = True
                news = self._news.popleft()
            try:
                _call([news])
            finally:
                with self.changed:
                    self._telling = False


@types.coroutine
def _take_turns() -> Generator[None, None, None]:
    """One turn of the event loop."""
    yield


def _wake(waiters: set[asyncio.Future[None]]) -> None:
    for waiter in waiters:
        wake_future(waiter)


def wake_future(waiter: asyncio.Future[None]) -> None:
    """Complete `waiter` from any thread; a loop that is closed already needs no waking."""
    try:
        waiter.get_loop().call_soon_threadsafe(_complete, waiter)
    except RuntimeError:
        logger.debug("the event loop of a waiting coroutine is closed")


def _complete(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def _call(calls: list[Callable[[], None]]) -> None:
    for call in calls:
        try:
            call()
        except Exception:
            logger.exception("a callback of a cancellation token raised")
