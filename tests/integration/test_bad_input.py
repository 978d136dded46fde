"""What is unusable is refused at the call, by an error that names the argument and the fix; nothing is started."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from chongming_task import ConfigurationError, InlineExecutor, RetryPolicy, TaskRun, Timeout, run_task
from chongming_task.policies import ExponentialBackoff, FixedBackoff
from chongming_task.runtime.context import TaskContext
from chongming_task.testing import FakeClock
from tests.integration.running import running, ticking


def body(ctx: TaskContext) -> int:
    return 1


def generator(ctx: TaskContext) -> Iterator[int]:
    yield 1


def no_context() -> None: ...


def with_timeout(ctx: TaskContext, timeout: int) -> int:
    return timeout


NAIVE = datetime(2026, 1, 1)  # noqa: DTZ001

REFUSED: list[tuple[str, Callable[[], Any], str]] = [
    ("not callable", lambda: TaskRun("body"), "target must be a function"),  # type: ignore[arg-type]
    ("no ctx", lambda: TaskRun(no_context), "first positional parameter must be ctx"),
    ("generator", lambda: TaskRun(generator), "return the values (a list) instead"),
    ("run_task, not callable", lambda: run_task(3), "target must be a function"),  # type: ignore[arg-type]
    ("run_task, no ctx", lambda: run_task(no_context), "first positional parameter must be ctx"),
    ("run_task, reserved", lambda: run_task(with_timeout), "parameter timeout bears a reserved name"),
    ("args is a text", lambda: TaskRun(body, "abc"), "args must be a tuple or list of arguments, not str"),
    ("args is a set", lambda: TaskRun(body, {1}), "args must be a tuple or list of arguments, not set"),  # type: ignore[arg-type]
    ("kwargs is a list", lambda: TaskRun(body, (), [1]), "kwargs must be a mapping of arguments, not list"),  # type: ignore[arg-type]
    ("too many", lambda: TaskRun(body, (1,)), "too many positional arguments; ctx is passed for you"),
    ("empty id", lambda: TaskRun(body, task_id=""), "task_id must not be empty"),
    ("blank id", lambda: TaskRun(body, task_id="\u200b "), "task_id must not be empty"),
    ("id with NUL", lambda: TaskRun(body, task_id="a\0"), "task_id must not contain NUL"),
    ("id with newline", lambda: TaskRun(body, task_id="a\nb"), "task_id must not contain line breaks"),
    ("id is a number", lambda: TaskRun(body, task_id=7), "task_id must be a str, not int"),  # type: ignore[arg-type]
    ("name with NUL", lambda: TaskRun(body, name="a\0"), "name must not contain NUL"),
    ("name with surrogate", lambda: TaskRun(body, name="\ud800"), "name must not contain NUL or lone surrogates"),
    ("owner", lambda: TaskRun(body, owner="a\0"), "owner must not contain NUL"),
    ("tags", lambda: TaskRun(body, tags="io"), "use {'io'}"),
    ("a tag", lambda: TaskRun(body, tags=[1]), "every tag must be a str"),  # type: ignore[list-item]
    ("retry", lambda: TaskRun(body, retry=3), "retry must be a RetryPolicy, not int"),  # type: ignore[arg-type]
    ("timeout", lambda: TaskRun(body, timeout=3), "timeout must be a Timeout, not int"),  # type: ignore[arg-type]
    ("executor", lambda: TaskRun(body, executor="thread"), "executor must be an executor"),  # type: ignore[arg-type]
    ("graceful_stop", lambda: TaskRun(body, graceful_stop=-1), "graceful_stop must be a finite number of seconds"),
    ("graceful_stop nan", lambda: TaskRun(body, graceful_stop=math.nan), "graceful_stop must be a finite number"),
    ("graceful_stop text", lambda: TaskRun(body, graceful_stop="1"), "graceful_stop must be a number of seconds"),  # type: ignore[arg-type]
    ("no attempts", lambda: RetryPolicy(max_attempts=0), "RetryPolicy(max_attempts=) must be a whole number"),
    ("half an attempt", lambda: RetryPolicy(max_attempts=1.5), "must be a whole number"),  # type: ignore[arg-type]
    ("retry_on", lambda: RetryPolicy(retry_on=("OSError",)), "RetryPolicy(retry_on=) must hold exception classes"),  # type: ignore[arg-type]
    ("backoff", lambda: RetryPolicy(backoff=5), "RetryPolicy(backoff=) must be a FixedBackoff"),  # type: ignore[arg-type]
    ("delay", lambda: FixedBackoff(-1), "FixedBackoff(delay=) must be a finite number of seconds"),
    ("endless delay", lambda: FixedBackoff(math.inf), "FixedBackoff(delay=) must be a finite number"),
    ("factor", lambda: ExponentialBackoff(factor=0.5), "ExponentialBackoff(factor=) must be a number from 1"),
    ("jitter", lambda: ExponentialBackoff(jitter="full"), "ExponentialBackoff(jitter=) must be one of Jitter.NONE"),  # type: ignore[arg-type]
    ("negative limit", lambda: Timeout(per_attempt=-1), "Timeout(per_attempt=) must be a finite number"),
    ("endless limit", lambda: Timeout(idle=math.inf), "Timeout(idle=) must be a finite number"),
    ("limit nan", lambda: Timeout(start=math.nan), "Timeout(start=) must be a finite number"),
]


@pytest.mark.parametrize(("call", "said"), [(call, said) for _, call, said in REFUSED], ids=[one[0] for one in REFUSED])
def test_unusable_arguments(call: Callable[[], Any], said: str) -> None:
    """D39, D42, P-083: ConfigurationError where it was written."""
    with pytest.raises(ConfigurationError) as caught:
        call()
    assert said in str(caught.value)


VERBS: list[tuple[str, dict[str, Any], str]] = [
    ("explode", {}, "unknown verb 'explode'"),
    ("mark_running", {}, "unknown verb 'mark_running'"),
    ("stop", {"graceful_timeout": 1}, "stop takes no 'graceful_timeout'; it takes reason, actor, graceful, timeout"),
    ("stop", {"timeout": -1}, "timeout must be a finite number of seconds"),
    ("stop", {"timeout": math.nan}, "timeout must be a finite number of seconds"),
    ("pause", {"timeout": math.inf}, "timeout must be a finite number of seconds"),
    ("pause", {"resume_at": NAIVE}, "resume_at must be an aware datetime; use datetime.now(timezone.utc)"),
    ("pause", {"actor": "a\0"}, "actor must not contain NUL"),
    ("stop", {"reason": "\udc00"}, "reason must not contain NUL or lone surrogates"),
    ("force_transition", {"to": "finish", "actor": "li", "reason": "x"}, "unknown state 'finish'"),
]


@pytest.mark.parametrize(("verb", "values", "said"), VERBS)
def test_unusable_requests(verb: str, values: dict[str, Any], said: str) -> None:
    """D13, D39, D41: refused before anything hears of it; no record is made."""
    run = TaskRun(body)
    with pytest.raises(ConfigurationError) as caught:
        run.do(verb, **values)
    assert said in str(caught.value)
    assert len(run.transitions) == 1


@pytest.mark.parametrize("timeout", [-1, math.nan, math.inf, "5", True])
def test_unusable_waits(timeout: Any) -> None:
    """Bad input: a wait is checked like every other span."""
    with pytest.raises(ConfigurationError, match="timeout must be"):
        TaskRun(body).wait(timeout)


def test_any_zone_will_do() -> None:
    """D15: a time with a zone is a time, whatever the zone."""
    clock = FakeClock()
    run = running(ticking, clock=clock)
    moment = datetime(2026, 1, 1, 9, tzinfo=timezone(timedelta(hours=8)))
    run.pause(resume_at=moment)
    assert run.snapshot.resume_at == moment
    clock.advance(3_600)
    assert run.status == "running"
    run.stop()
    run.wait()


def test_arguments_under_reserved_names_go_through_kwargs() -> None:
    """D42: the way out that the refusal names."""
    assert run_task(with_timeout, kwargs={"timeout": 5}, executor=InlineExecutor()).value == 5
    assert TaskRun(with_timeout, (), {"timeout": 6}, executor=InlineExecutor()).start().wait().value == 6


@pytest.mark.parametrize("text", ["清理\u202e", "a b", "e\u0301", "💡", "x" * 10_000])
def test_names_and_reasons_may_be_any_text(text: str) -> None:
    """D41: what people write is kept as it is."""
    run = TaskRun(body, name=text)
    run.stop(reason=text, actor=text)
    assert (run.snapshot.name, run.transitions[-1].reason, run.transitions[-1].actor) == (text, text, text)
