"""The token of one attempt: delivery, parking, shields, and what it announces (D8, D20)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from typing import Any

import pytest

from chongming_spec.errors import TaskCancelled
from chongming_task.runtime.cancellation import CancellationToken
from tests.unit.carriers import PATIENCE, Recorder


def token_and_recorder() -> tuple[CancellationToken, Recorder]:
    recorder = Recorder()
    return CancellationToken(parked=recorder.parked, unparked=recorder.unparked), recorder


def in_thread(body: Any) -> tuple[threading.Thread, list[BaseException | None]]:
    """Run `body` in a thread; the list receives what it raised, or None."""
    raised: list[BaseException | None] = []

    def run() -> None:
        try:
            body()
        except BaseException as error:
            raised.append(error)
        else:
            raised.append(None)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, raised


def finish(thread: threading.Thread) -> None:
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_without_a_request_a_checkpoint_does_nothing() -> None:
    """D20: one flag is all that is read."""
    token, _ = token_and_recorder()
    token.checkpoint()
    assert not token.attention
    assert not token.is_stop_requested
    assert not token.is_pause_requested


def test_a_stop_is_delivered_again_and_again() -> None:
    """After the first delivery every later checkpoint raises again, with the reason (D20, P-047)."""
    token, _ = token_and_recorder()
    token.request_stop("release window")
    for _ in range(3):
        with pytest.raises(TaskCancelled, match="release window") as caught:
            token.checkpoint()
        assert token.was_delivered(caught.value)
        assert not CancellationToken().was_delivered(caught.value)
    assert token.is_stop_requested
    assert not token.was_delivered(TaskCancelled("of the body's own making"))


def test_a_second_stop_names_who_shortened_the_window() -> None:
    """The last reason given counts; asking again without one keeps it (D6)."""
    token, _ = token_and_recorder()
    token.request_stop("first")
    token.request_stop()
    assert token.reason == "first"
    token.request_stop("second")
    assert token.reason == "second"


def test_except_exception_does_not_swallow_a_stop() -> None:
    """TaskCancelled is a BaseException: a body that catches Exception around its checkpoint still ends (D20, P-047)."""
    token, _ = token_and_recorder()
    token.request_stop()

    def careless() -> None:
        while True:
            with contextlib.suppress(Exception):
                token.checkpoint()

    with pytest.raises(TaskCancelled):
        careless()


def test_a_pause_parks_until_resume_and_is_told_once() -> None:
    """Parked, then unparked, in this order and once each (D8, D9)."""
    token, recorder = token_and_recorder()
    token.request_pause()
    token.request_pause()
    thread, raised = in_thread(token.checkpoint)
    recorder.wait_for("parked")
    assert thread.is_alive()
    assert token.is_pause_requested
    token.resume()
    finish(thread)
    assert raised == [None]
    assert recorder.told == ["parked", "unparked"]
    token.checkpoint()


def test_stop_beats_pause_and_wakes_a_parked_body() -> None:
    """A stop wakes a parked body with TaskCancelled; before the pause is met it keeps from parking (D20, P-055)."""
    token, recorder = token_and_recorder()
    token.request_pause()
    thread, raised = in_thread(token.checkpoint)
    recorder.wait_for("parked")
    token.request_stop("enough")
    finish(thread)
    assert isinstance(raised[0], TaskCancelled)
    assert recorder.told == ["parked", "unparked"]
    with pytest.raises(TaskCancelled):
        token.checkpoint()
    assert recorder.told == ["parked", "unparked"]


def test_two_threads_of_one_body_park_as_one() -> None:
    """The body counts as parked once, however many of its threads have met the pause (D8)."""
    token, recorder = token_and_recorder()
    token.request_pause()
    threads = [in_thread(token.checkpoint)[0] for _ in range(3)]
    recorder.wait_for("parked")
    token.resume()
    for thread in threads:
        finish(thread)
    assert recorder.told == ["parked", "unparked"]


def test_a_pause_right_after_a_resume_is_told_again() -> None:
    """A parked body that is resumed and paused before it woke tells the new pause: nobody waits for it in vain (D8)."""
    token, recorder = token_and_recorder()
    token.request_pause()
    thread, _ = in_thread(token.checkpoint)
    recorder.wait_for("parked")
    with token.changed:  # it cannot wake in between
        token._pause = False
        token._pause = True
        token._pause_number += 1
        token._change()
    recorder.wait_for("parked", times=2)
    assert recorder.told == ["parked", "unparked", "parked"]
    token.resume()
    finish(thread)
    assert recorder.told == ["parked", "unparked", "parked", "unparked"]


def test_the_listener_may_resume_while_it_is_told() -> None:
    """Announcements come outside the lock, so an answer from within cannot block (D8)."""
    token = CancellationToken(parked=lambda: token.resume())
    token.request_pause()
    thread, raised = in_thread(token.checkpoint)
    finish(thread)
    assert raised == [None]


def test_a_pause_that_comes_while_the_last_one_is_told_is_told_too() -> None:
    """Resumed and paused again from within the announcement: the new pause is announced as well (D8)."""
    recorder = Recorder()

    def again() -> None:
        recorder.parked()
        if recorder.told.count("parked") == 1:
            token.resume()
            token.request_pause()

    token = CancellationToken(parked=again, unparked=recorder.unparked)
    token.request_pause()
    thread, _ = in_thread(token.checkpoint)
    try:
        recorder.wait_for("parked", times=2)
    finally:
        token.resume()
        finish(thread)
    assert recorder.told == ["parked", "unparked", "parked", "unparked"]


def test_a_listener_that_raises_disturbs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """What a callback raises is logged (D18)."""

    def bad() -> None:
        raise ValueError("bad listener")

    token = CancellationToken(parked=bad)
    token.on_stop(bad)
    token.request_pause()
    with caplog.at_level(logging.ERROR, "chongming_task.cancellation"):
        thread, _ = in_thread(token.checkpoint)
        while "bad listener" not in caplog.text:
            with token.changed:
                token.changed.wait(0.01)
        token.request_stop()
        finish(thread)
    assert caplog.text.count("ValueError: bad listener") == 2


def test_a_token_that_cannot_pause_ignores_pauses() -> None:
    """An inline carrier never parks (D8)."""
    token = CancellationToken(pausable=False)
    token.request_pause()
    token.checkpoint()
    assert not token.is_pause_requested


def test_inside_a_shield_nothing_is_delivered() -> None:
    """Neither stop nor pause inside, also nested; the next checkpoint outside raises (D20)."""
    token, recorder = token_and_recorder()
    token.request_pause()
    with token.shield():
        token.checkpoint()
        token.request_stop()
        with token.shield():
            token.checkpoint()
        token.checkpoint()
        assert token.is_stop_requested
    with pytest.raises(TaskCancelled):
        token.checkpoint()
    assert recorder.told == []


def test_a_shield_covers_its_own_thread_and_token_only() -> None:
    """Another thread of the body, and another task's token, are not shielded (D20)."""
    token, other = CancellationToken(), CancellationToken()
    token.request_stop()
    other.request_stop()
    with token.shield():
        thread, raised = in_thread(token.checkpoint)
        finish(thread)
        assert isinstance(raised[0], TaskCancelled)
        with pytest.raises(TaskCancelled):
            other.checkpoint()


def test_stop_callbacks_wait_for_the_last_shield() -> None:
    """Called once, when the stop may be delivered; at once if that is so already; not if forgotten (D20)."""
    token = CancellationToken()
    calls: list[str] = []
    token.on_stop(lambda: calls.append("first"))
    token.on_stop(lambda: calls.append("forgotten"))()
    with token.shield():
        with token.shield():
            token.request_stop()
        assert calls == []
    assert calls == ["first"]
    token.on_stop(lambda: calls.append("late"))()
    token.request_stop()
    assert calls == ["first", "late"]


def test_a_coroutine_parks_alone() -> None:
    """The coroutine that awaits acheckpoint parks, the others go on (D20)."""
    token, recorder = token_and_recorder()

    async def body() -> list[str]:
        log: list[str] = []

        async def parks() -> None:
            await token.acheckpoint()
            log.append("resumed")

        async def goes_on() -> None:
            while recorder.told != ["parked"]:
                await asyncio.sleep(0)
            log.append("went on")
            token.resume()

        await asyncio.gather(parks(), goes_on())
        await token.acheckpoint()
        return log

    token.request_pause()
    assert asyncio.run(body()) == ["went on", "resumed"]
    assert recorder.told == ["parked", "unparked"]


def test_a_stop_wakes_a_parked_coroutine() -> None:
    """From another thread, with TaskCancelled (D20, P-044)."""
    token, recorder = token_and_recorder()
    token.request_pause()
    thread, raised = in_thread(lambda: asyncio.run(token.acheckpoint()))
    recorder.wait_for("parked")
    token.request_stop("enough")
    finish(thread)
    assert isinstance(raised[0], TaskCancelled)
    assert recorder.told == ["parked", "unparked"]


def test_a_parked_coroutine_that_is_cancelled_no_longer_counts() -> None:
    """When the only parked coroutine is cancelled by its siblings, the body is not parked any more (D8)."""
    token, recorder = token_and_recorder()
    token.request_pause()

    async def body() -> None:
        parked = asyncio.create_task(token.acheckpoint())
        while recorder.told != ["parked"]:
            await asyncio.sleep(0)
        parked.cancel()
        await asyncio.wait([parked])

    asyncio.run(body())
    assert recorder.told == ["parked", "unparked"]
    token.resume()


def test_a_coroutine_meets_a_stop_although_others_are_always_ready() -> None:
    """acheckpoint gives the others a turn and then raises, however busy the loop is (D20, P-044)."""
    token, _ = token_and_recorder()

    async def body() -> int:
        queue: asyncio.Queue[int] = asyncio.Queue()
        turns = 0
        while True:
            queue.put_nowait(turns)
            turns += await queue.get() * 0 + 1
            if turns == 3:
                token.request_stop()
            if turns > 3:
                return turns
            await token.acheckpoint()

    with pytest.raises(TaskCancelled):
        asyncio.run(body())


def test_a_coroutine_that_only_checks_lets_the_others_go_on() -> None:
    """acheckpoint is a turn of the event loop, also without a request and inside a shield (D20)."""
    token, _ = token_and_recorder()

    async def body() -> list[str]:
        log: list[str] = []

        async def other() -> None:
            log.append("other")

        task = asyncio.create_task(other())
        with token.shield():
            await token.acheckpoint()
        log.append("checked")
        await task
        return log

    assert asyncio.run(body()) == ["other", "checked"]


def test_coroutines_started_inside_a_shield_are_covered_until_it_closes() -> None:
    """A shield around gather covers its members, and no longer than it is open (D20)."""
    token, _ = token_and_recorder()
    token.request_stop()

    async def body() -> None:
        go = asyncio.Event()

        async def later() -> None:
            await token.acheckpoint()
            await go.wait()
            await token.acheckpoint()

        with token.shield():
            await asyncio.gather(token.acheckpoint(), token.acheckpoint())
            task = asyncio.create_task(later())
            await asyncio.sleep(0)
        go.set()
        with pytest.raises(TaskCancelled):
            await task

    asyncio.run(body())


def test_waking_a_loop_that_is_closed_is_no_error() -> None:
    """A waiter of a loop that has gone needs nothing (D18)."""
    token, _ = token_and_recorder()
    loop = asyncio.new_event_loop()
    assert token.enroll(loop.create_future())
    loop.close()
    token.request_stop()
    assert not token.enroll(loop.create_future())
