"""What went wrong in the field with results, threads and logs (areas I and J)."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import random
import threading
from typing import Any

import pytest

from chongming_spec.replay import replay
from chongming_task import FixedBackoff, InlineExecutor, RetryPolicy, TaskError, TaskRun, ThreadExecutor, run_task
from chongming_task.runtime.context import TaskContext
from chongming_task.testing import FakeClock
from tests.integration.running import running, ticking

SEEN: contextvars.ContextVar[str] = contextvars.ContextVar("seen", default="nothing")


class Mute(Exception):
    """An exception that cannot say anything."""

    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__

    def __reduce__(self) -> Any:
        raise RuntimeError("no")


class TwoArguments(Exception):
    """One that pickle cannot build again."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def raising(error: BaseException) -> Any:
    def body(ctx: TaskContext) -> None:
        raise error

    return body


@pytest.mark.parametrize(
    ("error", "name", "message"),
    [
        (Mute(), "Mute", "unformattable"),
        (TwoArguments(1, 2), "TwoArguments", "1 and 2"),
        (type("Local", (Exception,), {})("here"), "Local", "here"),
        (ExceptionGroup("both", [ValueError("a"), OSError("b")]), "ExceptionGroup", "both (2 sub-exceptions)"),
    ],
    ids=["mute", "two", "local", "group"],
)
def test_exceptions_that_are_hard_to_carry(error: Exception, name: str, message: str) -> None:
    """P-114, D18: failed, with class and best message; the thread serves the next task."""
    executor = ThreadExecutor()
    outcome = TaskRun(raising(error), executor=executor).start().wait(10)
    assert outcome.failure is not None
    assert outcome.failure.message == message
    assert str(outcome.failure.exception_type).endswith(name)
    assert outcome.exception is error
    assert TaskRun(lambda ctx: 1, executor=executor).start().wait(10).ok
    executor.close()


def test_the_cause_is_kept() -> None:
    """P-115: both errors, this file, and the very line."""

    def body(ctx: TaskContext) -> None:
        try:
            raise KeyError("the first")
        except KeyError as error:
            raise ValueError("the second") from error

    failure = run_task(body).failure
    assert failure is not None
    assert failure.traceback is not None
    for part in ("KeyError: 'the first'", "ValueError: the second", __file__, 'raise KeyError("the first")'):
        assert part in failure.traceback


@pytest.mark.parametrize("value", [None, 0, "", [], False, {}])
def test_values_that_look_like_nothing(value: Any) -> None:
    """P-118, D19: each is a success, and is told from a value that is not there."""
    outcome = run_task(lambda ctx: value)
    assert (outcome.ok, outcome.value) == (True, value)
    seen = run_task(lambda ctx: [ctx.input("n", "default"), ctx.input("other", "default")], upstream={"n": value})
    assert seen.value == [value, "default"]


@pytest.mark.parametrize(
    "value",
    [{1, 2}, float("nan"), {1: "a"}, "a\0b", "\ud800", object(), b"x", [[float("inf")]]],
    ids=repr,
)
def test_values_that_are_not_json(value: Any) -> None:
    """D19, guide 8.13: failed as result_invalid with the reason; never retried by a policy."""
    outcome = run_task(lambda ctx: value, retry=RetryPolicy(max_attempts=3, backoff=FixedBackoff(0)))
    assert outcome.failure is not None
    assert (outcome.status, outcome.failure.kind, outcome.snapshot.attempt) == ("failed", "result_invalid", 1)


def test_a_cycle_and_a_depth_are_no_json() -> None:
    """D18, D19: neither hangs nor blows the stack."""
    cycle: list[Any] = []
    cycle.append(cycle)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for value in (cycle, deep):
        failure = run_task(lambda ctx, value=value: value).failure
        assert failure is not None
        assert failure.kind == "result_invalid"


def test_everybody_sees_the_same_value() -> None:
    """D19: a tuple is a list from the start, and nobody can change it afterwards."""
    mine: list[Any] = [1]
    outcome = run_task(lambda ctx: (mine, 2))
    mine.append("later")
    assert outcome.value == [[1], 2]


@pytest.mark.parametrize("executor", [ThreadExecutor, InlineExecutor])
def test_context_variables_reach_the_body_and_stay_there(executor: Any) -> None:
    """P-123: as they were where the run was made, in every attempt; what a body sets does not leak."""

    def body(ctx: TaskContext) -> str:
        found = SEEN.get()
        SEEN.set("changed by the body")
        if ctx.attempt == 1:
            raise OSError("again")
        return found

    SEEN.set("set before")
    run = TaskRun(body, executor=executor(), retry=RetryPolicy(max_attempts=2, backoff=FixedBackoff(0)))
    SEEN.set("set after")
    assert run.start().wait(10).value == "set before"
    assert SEEN.get() == "set after"
    SEEN.set("nothing")


def test_context_variables_reach_a_coroutine() -> None:
    """P-123: an async body too."""
    SEEN.set("outside")

    async def body(ctx: TaskContext) -> str:
        await asyncio.sleep(0)
        return SEEN.get()

    assert run_task(body).value == "outside"
    SEEN.set("nothing")


def test_a_coroutine_that_blocks_holds_only_itself() -> None:
    """P-122: another task goes on, and questions are answered, while an async body blocks its loop."""
    clock = FakeClock()
    block = threading.Event()

    async def body(ctx: TaskContext) -> int:
        assert block.wait(10)
        return 1

    run = running(body, clock=clock)
    assert run_task(lambda ctx: 2).value == 2
    assert run.status == "running"
    block.set()
    assert run.wait().value == 1


def test_log_lines_carry_their_task() -> None:
    """D43, guide 8.13: the name of the task's own logger, id, name and attempt on every record."""
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[assignment,method-assign]
    logger = logging.getLogger("chongming_task.task")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:

        def body(ctx: TaskContext) -> None:
            ctx.log("开始处理")
            ctx.warning("分区为空，跳过")
            ctx.error("写入失败")

        run = TaskRun(body, task_id="job-9", name="抽取")
        run.start().wait(10)
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)
    assert [(one.name, one.levelname, one.getMessage()) for one in records] == [
        ("chongming_task.task.job-9", "INFO", "开始处理"),
        ("chongming_task.task.job-9", "WARNING", "分区为空，跳过"),
        ("chongming_task.task.job-9", "ERROR", "写入失败"),
    ]
    assert {(one.__dict__["task_id"], one.__dict__["task_name"], one.__dict__["attempt"]) for one in records} == {
        ("job-9", "抽取", 1)
    }
    assert [line.text for line in run.logs] == ["开始处理", "分区为空，跳过", "写入失败"]


def test_the_newest_lines_are_kept() -> None:
    """Guide 8.13: two hundred of them."""
    run = TaskRun(lambda ctx: [ctx.log(f"line {n}") for n in range(250)] and None, executor=InlineExecutor())
    run.start()
    assert len(run.logs) == 200
    assert (run.logs[0].text, run.logs[-1].text) == ("line 50", "line 249")


def test_many_threads_at_one_task() -> None:
    """P-128: sixteen threads with random verbs: no dead-lock, a true history, and verbs that work afterwards."""

    def body(ctx: TaskContext) -> None:
        while True:
            ctx.sleep(0.001)

    run = TaskRun(body, retry=RetryPolicy(max_attempts=1), graceful_stop=60)
    verbs: list[tuple[str, dict[str, Any]]] = [
        ("start", {}),
        ("pause", {"timeout": 0.01}),
        ("resume", {}),
        ("stop", {}),
        ("cancel", {}),
        ("retry", {"force": True}),
        ("reset", {"actor": "li", "reason": "again"}),
        ("force_transition", {"to": "failed", "actor": "li", "reason": "enough"}),
    ]

    def storm(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(40):
            verb, values = rng.choice(verbs)
            try:
                run.do(verb, **values)
            except TaskError:
                refused.append(verb)

    refused: list[str] = []
    threads = [threading.Thread(target=storm, args=(seed,)) for seed in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    run.stop()
    run.wait(10)
    history = run.transitions
    assert replay(history).findings == ()
    assert history[-1].to_status == run.snapshot.status
    assert [one.version for one in history] == list(range(1, len(history) + 1))
    assert all(one.disposition for one in run.attempts)


def test_progress_makes_no_versions() -> None:
    """P-135, guide 8.13: many reports, no record, and the last one is never lost."""

    def body(ctx: TaskContext) -> None:
        for number in range(1, 5_001):
            ctx.progress(number, total=5_000)

    run = TaskRun(body, executor=InlineExecutor()).start()
    progress = run.snapshot.progress
    assert progress is not None
    assert (progress.done, progress.total, progress.fraction) == (5_000, 5_000, 1.0)
    assert run.snapshot.status_version == len(run.transitions) == 5


def test_a_body_that_holds_its_run_does_not_keep_it_from_ending() -> None:
    """P-131: a body may read its own run, which knows from the first moment that it runs; nothing waits for itself."""
    clock = FakeClock()
    box: list[TaskRun] = []

    def body(ctx: TaskContext) -> str:
        with pytest.raises(TimeoutError):
            box[0].wait(timeout=0)
        return f"{box[0].snapshot.occupies} {box[0].running} {box[0].attempts[0].attempt}"

    run = TaskRun(body, clock=clock, task_id="self")
    box.append(run)
    assert run.start().wait().value == "True True 1"


def test_the_thread_of_an_abandoned_body_is_not_used_again() -> None:
    """P-041, D17: what was given up does not serve another task."""
    clock = FakeClock()
    executor = ThreadExecutor()
    run = running(ticking, clock=clock, executor=executor)
    run.stop()
    run.wait()
    assert TaskRun(lambda ctx: 1, clock=clock, executor=executor).start().wait().ok
    executor.close()
