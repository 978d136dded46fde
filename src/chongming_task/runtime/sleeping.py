"""Sleeping inside a body: on the task's clock, woken by a stop at once, and standing still while paused
(P-056, P-076).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from chongming_task.clock import Clock
from chongming_task.runtime.cancellation import CancellationToken, wake_future


def sleep_ms(token: CancellationToken, clock: Clock, span_ms: int, checkpoint: Callable[[], None]) -> None:
    """Sleep `span_ms`, with a checkpoint before, at each request, and after. Time spent parked does not count."""
    left = span_ms
    checkpoint()
    while left > 0:
        start = clock.mono_ms()
        with token.changed:
            while not token.calls_here() and clock.wait(token.changed, start + left):
                pass
        left -= clock.mono_ms() - start
        checkpoint()


async def asleep_ms(
    token: CancellationToken, clock: Clock, span_ms: int, acheckpoint: Callable[[], Awaitable[None]]
) -> None:
    """The same for a coroutine; the others go on meanwhile."""
    import asyncio

    loop = asyncio.get_running_loop()
    left = span_ms
    await acheckpoint()
    while left > 0:
        start = clock.mono_ms()
        waiter: asyncio.Future[None] = loop.create_future()
        if token.enroll(waiter):
            timer = clock.call_at(start + left, lambda waiter=waiter: wake_future(waiter))  # type: ignore[misc]
            try:
                await waiter
            finally:
                timer.cancel()
                token.dismiss(waiter)
        left -= clock.mono_ms() - start
        await acheckpoint()
