"""The way in for every face: a verb and its parameters are checked before anything hears of them."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import pytest

from chongming_spec.errors import ConfigurationError
from chongming_task.core.names import near, status_named
from chongming_task.core.requests import CONTROL_VERBS, asked


def test_the_verbs_of_persons() -> None:
    """D13: a face offers these and no others; what the machine records is not for asking."""
    assert set(CONTROL_VERBS) == {
        "start", "stop", "pause", "resume", "cancel", "retry", "skip", "reset", "wait", "force_transition", "adopt",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("verb", "ask", "said"),
    [
        ("stpo", {}, "unknown verb 'stpo'; did you mean 'stop'?"),
        ("mark_running", {}, "unknown verb 'mark_running'"),
        ("zzzz", {}, "known are start, stop"),
        ("stop", {"resaon": "x"}, "stop takes no 'resaon'; it takes reason, actor, graceful, timeout"),
        ("stop", {"timeout": -1}, "timeout must be a finite number of seconds"),
        ("stop", {"timeout": math.inf}, "timeout must be a finite number of seconds"),
        ("stop", {"timeout": math.nan}, "timeout must be a finite number of seconds"),
        ("stop", {"timeout": "5"}, "timeout must be a number of seconds, not str"),
        ("stop", {"timeout": True}, "timeout must be a number of seconds, not bool"),
        ("stop", {"actor": "a\0"}, "actor must not contain NUL"),
        ("stop", {"reason": "\ud800"}, "reason must not contain NUL or lone surrogates"),
        ("stop", {"reason": 5}, "reason must be a str, not int"),
        ("pause", {"resume_at": datetime(2026, 1, 1)}, "resume_at must be an aware datetime"),  # noqa: DTZ001
        ("pause", {"resume_at": "noon"}, "resume_at must be a datetime, not str"),
    ],
)
def test_what_is_unusable_is_named_with_the_way_out(verb: str, ask: dict[str, Any], said: str) -> None:
    """D39, D41: ConfigurationError at the call, naming the argument and what to do instead."""
    with pytest.raises(ConfigurationError) as caught:
        asked(verb, ask)
    assert said in str(caught.value)


def test_times_become_milliseconds() -> None:
    """D16: rounded up, so that nothing ends early."""
    assert asked("stop", {"timeout": 0.0001}).window_ms == 1
    assert asked("pause", {"timeout": 2}).wait_ms == 2_000


def test_not_graceful_is_a_window_of_nothing() -> None:
    """D6: whatever timeout stands beside it."""
    assert asked("stop", {"graceful": False, "timeout": 5}).window_ms == 0
    assert asked("stop", {"graceful": True}).window_ms is None


def test_what_was_not_given_is_left_out() -> None:
    """D13: None stands for a parameter that was not given."""
    request = asked("pause", {"actor": None, "reason": "db", "resume_at": None, "timeout": None})
    assert (request.actor, request.reason, request.values) == (None, "db", None)


def test_what_was_given_is_handed_on() -> None:
    """P-061: an aware time stays what it is."""
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert asked("pause", {"resume_at": noon, "actor": "li"}).values == {"resume_at": noon}


def test_the_nearest_name_is_offered() -> None:
    """D43: a slip is met with a suggestion, anything else with the list."""
    assert near("runing", ["running", "queued"]) == "did you mean 'running'?"
    assert near("", ["running", "queued"]) == "known are running, queued"


def test_a_state_by_name() -> None:
    """D43: names are states; the old name of succeeded is one of them; others are refused."""
    assert status_named("succeeded") == "succeeded"
    with pytest.raises(ConfigurationError, match="unknown state 'finish'"):
        status_named("finish")
