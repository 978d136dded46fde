"""Running the coroutine of an `async def` body to its end on an event loop of its own (D20).

The loop lives in the carrier's thread and only as long as the body. A stop cancels the body's asyncio task at
once, even while it waits for something, unless a shield is open: then as soon as the last one closes. What the
body leaves behind is cancelled before the loop is closed.
"""

from __future__ import annotations

import logging
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from chongming_spec.errors import ConfigurationError
from chongming_task.runtime.cancellation import CancellationToken

if TYPE_CHECKING:
    import asyncio

logger = logging.getLogger("chongming_task.coroutines")

LEFTOVER_SECONDS = 1.0


def run_coroutine(coroutine: Coroutine[Any, Any, Any], token: CancellationToken) -> Any:
    """What the coroutine returns; raises what it raises.

    ConfigurationError where a loop runs in this thread already.
    """
    import asyncio

    if has_running_loop():
        coroutine.close()
        raise ConfigurationError("an async body cannot run inside a running event loop: use the thread executor")
    loop = asyncio.new_event_loop()
    try:
        task = loop.create_task(coroutine)
        forget = token.on_stop(lambda: _cancel(loop, task))
        try:
            return loop.run_until_complete(task)
        finally:
            forget()
    finally:
        _close(loop)


def _cancel(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> None:
    try:
        loop.call_soon_threadsafe(task.cancel)
    except RuntimeError:
        logger.debug("the body's event loop is closed already")


def _close(loop: asyncio.AbstractEventLoop) -> None:
    try:
        _cancel_leftovers(loop)
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
    except Exception:
        logger.exception("cleaning up after an async body failed")
    finally:
        loop.close()


def _cancel_leftovers(loop: asyncio.AbstractEventLoop) -> None:
    import asyncio

    tasks = asyncio.all_tasks(loop)
    if not tasks:
        return
    for task in tasks:
        task.cancel()
    done, deaf = loop.run_until_complete(asyncio.wait(tasks, timeout=LEFTOVER_SECONDS))
    for task in done:
        if not task.cancelled() and task.exception() is not None:
            logger.warning("a coroutine left behind by an async body raised", exc_info=task.exception())
    if deaf:
        logger.warning("%d coroutines left behind by an async body ignore their cancellation", len(deaf))


def has_running_loop() -> bool:
    """Whether an event loop runs in this thread."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
