"""Where a run meets a world that misbehaves: broken executors, defects of ours, callers in each other's way."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from chongming_spec.facts import EndingKind
from chongming_task import ConfigurationError, FixedBackoff, InlineExecutor, RetryPolicy, TaskRun, ThreadExecutor
from chongming_task.core import inputs as inp
from chongming_task.core.ports import Ending, ExecutionRequest
from chongming_task.runtime.context import TaskContext
from chongming_task.runtime.driver import logger
from chongming_task.testing import FakeClock
from tests.integration.running import Call, Deaf, SleepersClock, deaf, path, reach, running, ticking


class Breaking(ThreadExecutor):
    """Its first launches raise."""

    def __init__(self, *errors: Exception) -> None:
        super().__init__()
        self.errors = list(errors)

    def launch(self, request: ExecutionRequest, sink: Any) -> Any:
        if self.errors:
            raise self.errors.pop(0)
        return super().launch(request, sink)


def test_a_launch_that_raises_is_retried_like_any_failure() -> None:
    """D18, P-097: the policy is asked where the error is; then it runs."""
    executor = Breaking(RuntimeError("can't start new thread"))
    run = TaskRun(lambda ctx: 1, executor=executor, retry=RetryPolicy(max_attempts=2, backoff=FixedBackoff(0)))
    assert run.start().wait(10).value == 1
    assert path(run) == "pending queued starting retry_wait starting running succeeded"
    executor.close()


def test_a_launch_that_raises_for_good() -> None:
    """D18: failed with what it raised, and the error itself is at hand."""
    error = RuntimeError("can't start new thread")
    outcome = TaskRun(lambda ctx: 1, executor=Breaking(error)).start().wait(10)
    assert outcome.failure is not None
    assert (outcome.status, outcome.failure.message) == ("failed", "can't start new thread")
    assert outcome.exception is error


def test_a_policy_that_raises_about_a_launch() -> None:
    """D18: it gives up, and the failure says so."""

    class Raising(RetryPolicy):
        def retries(self, error: BaseException) -> bool:
            raise LookupError("no idea")

    outcome = TaskRun(lambda ctx: 1, executor=Breaking(OSError("full")), retry=Raising(max_attempts=3)).start().wait(10)
    assert outcome.failure is not None
    assert outcome.failure.message == "(the retry policy raised LookupError: no idea) full"


def test_a_launch_that_fails_while_a_pause_waits() -> None:
    """D8: held back, not in place; the pause answers yes and its resume tries again."""
    clock = FakeClock()
    entered, go = threading.Event(), threading.Event()

    class Slow(Breaking):
        def launch(self, request: ExecutionRequest, sink: Any) -> Any:
            entered.set()
            assert go.wait(10)
            return super().launch(request, sink)

    executor = Slow(OSError("full"))
    run = TaskRun(
        lambda ctx: ctx.attempt,
        clock=clock,
        executor=executor,
        retry=RetryPolicy(max_attempts=2, backoff=FixedBackoff(5)),
    )
    start = Call(run.start)
    assert entered.wait(10)
    pause = Call(run.pause)
    while not run._driver._mailbox:
        pass
    go.set()
    start.result()
    assert pause.result() is True
    assert (path(run), run.snapshot.paused_in_place) == ("pending queued starting pausing paused", False)
    run.resume()
    clock.advance(5)
    assert run.wait().value == 2
    executor.close()


def test_a_defect_of_ours_ends_as_lost(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """D18: logged, lost by name, and whoever asked is told; nothing hangs."""
    clock = FakeClock()
    run = running(ticking, clock=clock)
    machine = run._supervisor.machine

    def broken(*args: Any, **values: Any) -> None:
        monkeypatch.undo()
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(run._supervisor, "_asked", broken)
    with caplog.at_level(logging.ERROR, logger.name), pytest.raises(ZeroDivisionError):
        run.stop()
    assert run.wait().status == "lost"
    assert run.snapshot.failure is not None
    assert run.snapshot.failure.cause == "supervisor_error"
    assert "a defect was met" in caplog.text
    run._driver._carriers[1].signal("stop")  # type: ignore[arg-type]
    assert machine.status == "lost"


def test_a_defect_without_anybody_asking(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """D18: the same where the world reports something."""
    clock = FakeClock()
    with deaf() as body:
        run = running(body, clock=clock)

        def broken(*args: Any) -> None:
            monkeypatch.undo()
            raise ZeroDivisionError("ours")

        monkeypatch.setattr(run._supervisor, "_take", broken)
        run._driver.post(inp.TimerFired("nothing"))
        assert run.status == "lost"
    assert "a defect was met" in caplog.text


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_a_signal_that_cannot_be_given(error: type[BaseException], caplog: pytest.LogCaptureFixture) -> None:
    """D18, P-128: whatever is raised while actions are carried out, an interrupt included, later verbs still work."""
    clock = FakeClock()
    run = running(ticking, clock=clock)
    carrier = run._driver._carriers[1]

    def broken(*args: Any) -> None:
        raise error("now of all times")

    carrier.signal = broken  # type: ignore[assignment,method-assign]
    with pytest.raises(error):
        run.stop()
    assert run.wait(0).status == "lost"
    assert run.do("stop").changed is False
    assert "a defect was met" in caplog.text
    del carrier.signal
    carrier.signal("stop")  # type: ignore[arg-type]


def test_giving_up_may_fail_too(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """D18: then it is logged, and the mailbox goes on all the same."""
    clock = FakeClock()
    run = running(ticking, clock=clock)

    def broken(*args: Any) -> None:
        raise ZeroDivisionError("ours")

    with monkeypatch.context() as patch:
        patch.setattr(run._supervisor, "_asked", broken)
        patch.setattr(run._supervisor, "give_up", broken)
        with pytest.raises(ZeroDivisionError):
            run.stop()
    assert "giving up failed" in caplog.text
    run.stop()
    assert run.wait().status == "stopped"


def test_a_body_that_takes_only_the_callers_thread() -> None:
    """D20, guide 7.2: KeyboardInterrupt is recorded first and then reaches who called; another start finds it over."""

    def body(ctx: TaskContext) -> None:
        raise KeyboardInterrupt

    run = TaskRun(body, executor=InlineExecutor())
    with pytest.raises(KeyboardInterrupt):
        run.start()
    assert run.status == "failed"
    assert run.snapshot.failure is not None
    assert run.snapshot.failure.exception_type == "KeyboardInterrupt"
    assert run.wait(0).status == "failed"


def test_an_inline_run_whose_interrupt_would_be_retried() -> None:
    """D20: the caller gets its interrupt; what the policy asked for waits until somebody carries it."""

    def body(ctx: TaskContext) -> int:
        if ctx.attempt == 1:
            raise KeyboardInterrupt
        return 2

    run = TaskRun(
        body,
        executor=InlineExecutor(),
        retry=RetryPolicy(max_attempts=2, backoff=FixedBackoff(0), retry_on=(BaseException,)),
    )
    with pytest.raises(KeyboardInterrupt):
        run.start()
    run.do("resume")
    assert run.wait(10).value == 2


def test_two_callers_of_an_inline_run() -> None:
    """D8, guide 7.2: the body runs once, in the thread of the one who started it; the other comes back at once."""
    with deaf(result=1) as body:
        run = TaskRun(body, executor=InlineExecutor())
        start = Call(run.start)
        assert body.entered.wait(10)
        assert run.do("start").changed is False
        assert run.stop(reason="other thread")
        body.go.set()
        assert start.result() is run
    assert run.status == "succeeded"


def test_an_inline_run_that_is_held_between_attempts() -> None:
    """Guide 7.2, D9: start comes back when it is held; who resumes it carries it on."""
    clock = FakeClock()

    def body(ctx: TaskContext) -> int:
        if ctx.attempt == 1:
            raise OSError("again")
        return ctx.attempt

    run = TaskRun(
        body, clock=clock, executor=InlineExecutor(), retry=RetryPolicy(max_attempts=2, backoff=FixedBackoff(5))
    )
    start = Call(run.start)
    reach(run, "retry_wait")
    assert run.pause()
    start.result()
    clock.advance(5)
    assert run.status == "paused"
    run.resume()
    assert run.wait(0).value == 2


def test_control_that_needs_no_body() -> None:
    """D2: skip, cancel, force and reset of what never ran."""
    run = TaskRun(ticking)
    assert run.skip(reason="not today")
    assert run.status == "skipped"
    assert run.reset(actor="li", reason="after all")
    assert run.cancel()
    assert run.reset(actor="li", reason="after all")
    assert run.force_transition("succeeded", actor="li", reason="done by hand")
    outcome = run.wait(0)
    assert (outcome.ok, outcome.snapshot.overridden) == (True, True)
    assert path(run) == "pending skipped pending cancelled pending succeeded"


def test_an_executor_may_refuse_a_request() -> None:
    """D42: asked before anything starts, and what it says is what the caller hears."""

    class Picky(InlineExecutor):
        def check(self, request: ExecutionRequest) -> None:
            raise ConfigurationError("this executor takes only tasks on Sundays")

    with pytest.raises(ConfigurationError, match="Sundays"):
        TaskRun(lambda ctx: 1, executor=Picky())


def test_an_answer_names_what_was_asked() -> None:
    """D13: task, verb, status, whether it changed anything, whether it stands."""
    run = TaskRun(ticking, task_id="t1")
    answer = run.do("stop", reason="no")
    assert answer == ("t1", "stop", "stopped", True, True, True)
    assert run.do("wait").changed is False
    assert run.do("stop").confirmed is True
    assert run.do("cancel").confirmed is False


def test_the_heartbeat_is_to_be_seen() -> None:
    """D16: the time at which a reader saw the count move; it stays when the body is over."""
    clock = SleepersClock()
    run = running(ticking, clock=clock)
    clock.await_sleeper()
    clock.advance(1)
    clock.await_sleeper()
    first = run.snapshot.last_heartbeat_at
    assert first == clock.now()
    assert run.snapshot.last_heartbeat_at == first
    clock.advance(1)
    clock.await_sleeper()
    assert run.snapshot.last_heartbeat_at == clock.now()
    run.stop()
    run.wait()


class Killable(ThreadExecutor):
    """Plays a carrier that can be ended by force: a kill lets its body go, and is what it reports."""

    name = "process"

    def __init__(self, body: Deaf, dies: bool) -> None:
        super().__init__()
        self.killed: list[bool] = []
        self._body, self._dies = body, dies

    def launch(self, request: ExecutionRequest, sink: Any) -> Any:
        carrier = super().launch(request, sink)

        def kill() -> bool:
            self.killed.append(self._dies)
            if self._dies:
                sink.exited(Ending(EndingKind.KILLED))
            return self._dies

        carrier.kill = kill  # type: ignore[method-assign]
        carrier.finish = lambda ending: None  # type: ignore[method-assign]
        return carrier


@pytest.mark.parametrize(("dies", "end"), [(True, "stopped"), (False, "lost")])
def test_what_can_be_killed_is_killed(dies: bool, end: str) -> None:
    """D6, P-013: stopped only once it is gone; a kill that fails is tried once, and leaves it lost."""
    clock = FakeClock()
    with deaf() as body:
        executor = Killable(body, dies)
        run = running(body, clock=clock, executor=executor, graceful_stop=1)
        run.stop()
        clock.advance(1)
        assert executor.killed == [dies]
        clock.advance(5)
        assert run.wait().status == end
        assert executor.killed == [dies]
