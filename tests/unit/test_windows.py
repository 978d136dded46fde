"""The grace window: opened once, only ever shortened, and it remembers who asked (D6, D16)."""

from __future__ import annotations

import pytest

from chongming_task.core.windows import Window


@pytest.mark.parametrize(("asked", "end"), [(None, 1_100), (500, 600), (0, 100), (5_000, 1_100)])
def test_what_is_asked_can_only_shorten_the_declared_grace(asked: int | None, end: int) -> None:
    """D16: the declared grace is the longest."""
    window = Window(1_000, 200)
    window.open("stop by li", 100, asked)
    assert (window.end_ms, window.asked_by) == (end, "stop by li")


def test_shortened_twice_it_names_both() -> None:
    """D6: everybody who made it shorter stands in the reason, in order."""
    window = Window(1_000, 200)
    window.open("stop by a", 0, None)
    window.shorten("stop by b", 10, 500)
    window.shorten("stop by c", 20, 600)
    window.shorten("cancel by d", 30, 0)
    assert window.end_ms == 30
    assert window.asked_by == "stop by a; window shortened: stop by b; window shortened: cancel by d"


def test_a_window_that_is_not_open_cannot_be_shortened() -> None:
    """D6: a request that comes after the end changes nothing."""
    window = Window(1_000, 200)
    window.shorten("stop by li", 0, 0)
    assert (window.end_ms, window.asked_by) == (None, "")


def test_without_a_time_it_stays_as_it_is() -> None:
    """D13: asking again, and no more, shortens nothing."""
    window = Window(1_000, 200)
    window.open("stop by a", 0, None)
    window.shorten("stop by b", 10, None)
    assert (window.end_ms, window.asked_by) == (1_000, "stop by a")


def test_a_kill_has_a_window_of_its_own() -> None:
    """D6: time for the kill to take effect; who had asked is kept."""
    window = Window(1_000, 200)
    window.open("stop by a", 0, None)
    window.close()
    window.open_for_kill(1_000)
    assert (window.end_ms, window.asked_by) == (1_200, "stop by a")


def test_a_new_request_begins_a_new_list() -> None:
    """D6: who asked an earlier attempt to end is no part of this one's reason."""
    window = Window(1_000, 200)
    window.open("stop by a", 0, None)
    window.close()
    window.open("timeout", 5_000, None)
    assert window.asked_by == "timeout"
