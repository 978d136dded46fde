"""What a body sees: identity, reports, inputs, directories and sleep (D15, D24, D41, D43 and field cases)."""

from __future__ import annotations

import asyncio
import logging
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from chongming_spec.errors import ConfigurationError, TaskCancelled
from chongming_task.runtime.cancellation import CancellationToken
from chongming_task.runtime.context import RuntimeContext, TaskContext
from chongming_task.testing import FakeClock
from tests.unit.carriers import PATIENCE, Recorder, request


def make(**changes: Any) -> tuple[TaskContext, CancellationToken, Recorder]:
    recorder = Recorder()
    token = CancellationToken(parked=recorder.parked, unparked=recorder.unparked)
    return TaskContext(request(print, **changes), recorder, token), token, recorder


def test_it_says_who_it_is() -> None:
    """Identity, fencing token and computed deadline come from the request (D15, D24)."""
    times = iter([datetime(2026, 1, 1, tzinfo=UTC), None])
    ctx, token, _ = make(attempt=2, epoch=7, pipeline_run_id="run-1", deadline=lambda: next(times))
    assert (ctx.task_id, ctx.name, ctx.attempt, ctx.pipeline_run_id) == ("job-1", "job", 2, "run-1")
    assert ctx.fencing_token == 7
    assert ctx.deadline == datetime(2026, 1, 1, tzinfo=UTC)
    assert ctx.deadline is None
    assert RuntimeContext is TaskContext
    assert (ctx.is_stop_requested, ctx.is_pause_requested) == (False, False)
    token.request_pause()
    token.request_stop()
    assert (ctx.is_stop_requested, ctx.is_pause_requested) == (True, True)
    with ctx.shield():
        ctx.checkpoint()
    with pytest.raises(TaskCancelled):
        ctx.checkpoint()


def test_an_upstream_value_that_is_empty_is_a_value() -> None:
    """None, 0, '', [] and False are handed on; only a node without a result gives the default (P-118)."""
    values: dict[str, Any] = {"none": None, "zero": 0, "text": "", "list": [], "no": False}
    ctx, _, _ = make(upstream=values)
    for node, value in values.items():
        assert ctx.input(node, "default") == value
        assert ctx.input(node, "default") is value
    assert ctx.input("failed", "default") == "default"
    assert ctx.input("failed") is None
    assert dict(ctx.upstream) == values
    with pytest.raises(TypeError):
        ctx.upstream["new"] = 1  # type: ignore[index]


def test_each_attempt_has_its_own_directory(tmp_path: Path) -> None:
    """attempt-1, attempt-2; another epoch (retry, reset) never meets an old one; made at the first look (P-103, D2)."""
    ctx, _, _ = make(artifact_dir=tmp_path / "job")
    assert not (tmp_path / "job").exists()
    assert ctx.artifact_dir == tmp_path / "job" / "attempt-1"
    assert ctx.artifact_dir.is_dir()
    assert make(artifact_dir=tmp_path / "job", attempt=2)[0].artifact_dir.name == "attempt-2"
    assert make(artifact_dir=tmp_path / "job", epoch=3)[0].artifact_dir.name == "attempt-1-epoch-3"
    with pytest.raises(ConfigurationError, match="artifact_dir="):
        _ = make()[0].artifact_dir


def test_progress_is_handed_on() -> None:
    """Each call reaches the sink with its time; without `done` the last figures stay (P-086)."""
    clock = FakeClock()
    ctx, _, recorder = make(clock=clock)
    ctx.progress(1, total=4, unit="files", message="a\0b\ud800")
    ctx.progress(message="still there")
    ctx.progress(total=8, unit="parts")
    ctx.progress(2)
    first, second, third, fourth = recorder.reports
    assert (first.done, first.total, first.unit, first.message) == (1, 4, "files", "a\\x00b\\ud800")
    assert first.updated_at == clock.now()
    assert (second.done, second.total, second.unit, second.message) == (1, 4, "files", "still there")
    assert (third.done, third.total, third.unit) == (1, 8, "parts")
    assert (fourth.done, fourth.total, fourth.unit) == (2, None, None)
    ctx.progress(10**400)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True, "3", [1]])
def test_progress_refuses_what_is_no_number(value: Any) -> None:
    """done and total are finite numbers; the refusal names which."""
    ctx, _, recorder = make()
    with pytest.raises(ConfigurationError, match="done="):
        ctx.progress(value)
    with pytest.raises(ConfigurationError, match="total="):
        ctx.progress(1, total=value)
    assert recorder.reports == []


def test_log_records_carry_the_task_without_a_logger_of_their_own(caplog: pytest.LogCaptureFixture) -> None:
    """Name, extras, place and level of each record; no logger object is made per task (D43)."""
    ctx, _, recorder = make(task_id="job-log-1", attempt=3)
    with caplog.at_level(logging.DEBUG, "chongming_task.task"):
        ctx.log("100 % of %s")
        ctx.log("fine", level="DEBUG")
        ctx.warning("careful")
        ctx.error(ValueError("bad"))
    assert [(r.name, r.levelno, r.getMessage()) for r in caplog.records] == [
        ("chongming_task.task.job-log-1", logging.INFO, "100 % of %s"),
        ("chongming_task.task.job-log-1", logging.DEBUG, "fine"),
        ("chongming_task.task.job-log-1", logging.WARNING, "careful"),
        ("chongming_task.task.job-log-1", logging.ERROR, "bad"),
    ]
    record: Any = caplog.records[0]
    assert (record.task_id, record.task_name, record.attempt) == ("job-log-1", "job", 3)
    assert (record.filename, record.funcName) == (
        "test_context.py",
        "test_log_records_carry_the_task_without_a_logger_of_their_own",
    )
    assert "chongming_task.task.job-log-1" not in logging.root.manager.loggerDict
    assert [line.text for line in ctx.logs] == ["100 % of %s", "fine", "careful", "bad"]
    assert tuple(recorder.lines) == ctx.logs


def test_the_level_of_the_parent_logger_counts(caplog: pytest.LogCaptureFixture) -> None:
    """logging.getLogger('chongming_task.task').setLevel works; what is filtered is still in ctx.logs (D43)."""
    ctx, _, _ = make()
    with caplog.at_level(logging.ERROR, "chongming_task.task"):
        ctx.warning("not shown")
    assert caplog.records == []
    assert [line.text for line in ctx.logs] == ["not shown"]


def test_a_logger_that_somebody_made_for_a_task_is_used(caplog: pytest.LogCaptureFixture) -> None:
    """A person may configure one task's logger by its name (D43)."""
    own = logging.getLogger("chongming_task.task.job-own")
    own.setLevel(logging.CRITICAL)
    ctx, _, _ = make(task_id="job-own")
    with caplog.at_level(logging.DEBUG, "chongming_task.task"):
        ctx.error("not shown")
        own.setLevel(logging.DEBUG)
        ctx.log("shown")
    assert [record.getMessage() for record in caplog.records] == ["shown"]


def test_only_the_newest_lines_are_kept_and_they_are_storable() -> None:
    """200 lines; NUL and lone surrogates are escaped (D41); an unknown level is refused."""
    ctx, _, _ = make()
    for number in range(205):
        ctx.log(f"{number}\0\udc80", level=5)
    assert len(ctx.logs) == 200
    assert ctx.logs[0].text == "5\\x00\\udc80"
    for level in ("LOUD", True, None):
        with pytest.raises(ConfigurationError, match="level="):
            ctx.log("x", level=level)  # type: ignore[arg-type]


def started(body: Any) -> tuple[threading.Thread, list[Any]]:
    result: list[Any] = []

    def run() -> None:
        try:
            result.append(body())
        except TaskCancelled as error:
            result.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, result


def until_set(clock: FakeClock, due_ms: int) -> None:
    """Until a timer for `due_ms` stands in the heap: the sleeper has lain down."""

    def is_set() -> bool:
        return any(timer.callback and timer.due_ms == due_ms for timer in clock._heap._timers)

    with clock._state:
        assert clock._state.wait_for(is_set, PATIENCE)


def test_a_paused_sleep_does_not_run_out() -> None:
    """Paused at 10 of 60 s for 5 minutes: the remaining 50 s go on after resume (P-076, D15)."""
    clock = FakeClock()
    ctx, token, recorder = make(clock=clock)

    def body() -> int:
        ctx.sleep(60)
        return clock.mono_ms()

    thread, result = started(body)
    until_set(clock, 60_000)
    clock.advance(10)
    token.request_pause()
    recorder.wait_for("parked")
    clock.advance(300)
    assert result == []
    token.resume()
    recorder.wait_for("unparked")
    until_set(clock, 360_000)
    clock.advance(49.999)
    assert result == []
    clock.advance(0.001)
    thread.join(PATIENCE)
    assert result == [360_000]


def test_a_stop_wakes_a_sleep_at_once() -> None:
    """ctx.sleep(3600) ends with TaskCancelled, on a clock that does not move (P-056)."""
    clock = FakeClock()
    ctx, token, _ = make(clock=clock)
    thread, result = started(lambda: ctx.sleep(3600))
    until_set(clock, 3_600_000)
    token.request_stop()
    thread.join(PATIENCE)
    assert isinstance(result[0], TaskCancelled)
    assert clock.mono_ms() == 0


def test_a_sleep_inside_a_shield_lasts() -> None:
    """A shield holds the stop back until the sleep is over (D20)."""
    clock = FakeClock()
    ctx, token, _ = make(clock=clock)
    token.request_stop()

    def body() -> int:
        with ctx.shield():
            ctx.sleep(5)
        return clock.mono_ms()

    thread, result = started(body)
    until_set(clock, 5_000)
    clock.advance(5)
    thread.join(PATIENCE)
    assert result == [5000]


def test_sleep_refuses_what_is_no_span() -> None:
    """Negative and non-finite spans are refused by name; 0 is a checkpoint."""
    ctx, _, _ = make()
    with pytest.raises(ConfigurationError, match=r"sleep\(seconds\)"):
        ctx.sleep(-1)
    with pytest.raises(ConfigurationError, match=r"asleep\(seconds\)"):
        asyncio.run(ctx.asleep(float("nan")))
    ctx.sleep(0)
    assert ctx.heartbeat.count == 1


def test_a_coroutine_sleeps_pauses_and_wakes_like_a_thread() -> None:
    """asleep keeps what is left over a pause, and the clock wakes it (P-076)."""
    clock = FakeClock()
    ctx, token, recorder = make(clock=clock)

    async def body() -> int:
        await ctx.asleep(60)
        return clock.mono_ms()

    thread, result = started(lambda: asyncio.run(body()))
    until_set(clock, 60_000)
    clock.advance(10)
    token.request_pause()
    recorder.wait_for("parked")
    clock.advance(300)
    token.resume()
    until_set(clock, 360_000)
    clock.advance(50)
    thread.join(PATIENCE)
    assert result == [360_000]


def test_a_stop_wakes_a_sleeping_coroutine_at_once() -> None:
    """Without moving the clock (P-056); one that is due before the sleep keeps it from lying down."""
    clock = FakeClock()
    ctx, token, _ = make(clock=clock)
    thread, result = started(lambda: asyncio.run(ctx.asleep(3600)))
    until_set(clock, 3_600_000)
    token.request_stop()
    thread.join(PATIENCE)
    assert isinstance(result[0], TaskCancelled)
    with pytest.raises(TaskCancelled):
        asyncio.run(ctx.asleep(1))
