"""Help for tests that run real bodies: a fake clock, bodies that wait for the test, and short ways to look at a run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from chongming_spec.replay import replay
from chongming_spec.snapshot import Transition
from chongming_task.run import TaskRun
from chongming_task.runtime.context import TaskContext
from chongming_task.testing import FakeClock

PATIENCE = 10.0


def path(run: TaskRun) -> str:
    """The states gone through; the history is judged on the way."""
    history = run.transitions
    assert replay(history).findings == ()
    return " ".join(record.to_status for record in history)


def record(run: TaskRun, status: str) -> Transition:
    """The newest record that leads to `status`."""
    return [one for one in run.transitions if one.to_status == status][-1]


def running(target: Callable[..., Any], *args: Any, clock: FakeClock, **options: Any) -> TaskRun:
    """Start a body and return once its start is confirmed."""
    run = TaskRun(target, args, clock=clock, **options)
    run.start()
    clock.advance(0)
    assert run.status == "running", path(run)
    return run


def reach(run: TaskRun, status: str) -> None:
    """Wait until the run has come to a state from which nothing moves on by itself."""
    driver = run._driver
    with driver._changed:
        assert driver._changed.wait_for(lambda: driver._seen.status == status, PATIENCE), path(run)


def gone(run: TaskRun) -> None:
    """Wait until the exit of an abandoned carrier has been noted."""
    for _ in range(int(PATIENCE * 1_000)):
        if not run.running and run.snapshot.carrier_state == "none":
            return
        threading.Event().wait(0.001)
    raise AssertionError("the carrier is still there")


class Deaf:
    """A body that never looks at anything until the test says `go` (or the test is over)."""

    def __init__(self, result: Any = None) -> None:
        self.entered = threading.Event()
        self.go = threading.Event()
        self.left = threading.Event()
        self.result = result

    def __call__(self, ctx: TaskContext) -> Any:
        self.entered.set()
        try:
            assert self.go.wait(PATIENCE)
            if isinstance(self.result, BaseException):
                raise self.result
            return self.result
        finally:
            self.left.set()


@contextmanager
def deaf(result: Any = None) -> Iterator[Deaf]:
    """A deaf body that is let go at the end, whatever happens."""
    body = Deaf(result)
    try:
        yield body
    finally:
        body.go.set()


def ticking(ctx: TaskContext) -> None:
    """A body that checks once a second of its clock, for ever."""
    while True:
        ctx.sleep(1)


class Call:
    """A call in a thread of its own; `result` waits for it and raises what it raised."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._value: Any = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._value = self._call()
        except BaseException as error:
            self._error = error

    def result(self) -> Any:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the call did not come back"
        if self._error is not None:
            raise self._error
        return self._value


class SleepersClock(FakeClock):
    """A fake clock that knows when a body has gone to sleep, so that a test can advance it after a resume."""

    def __init__(self) -> None:
        super().__init__()
        self._asleep = threading.Semaphore(0)

    def wait(self, condition: threading.Condition, until_ms: int | None) -> bool:
        if until_ms is not None:
            self._asleep.release()
        return super().wait(condition, until_ms)

    def await_sleeper(self) -> None:
        """Until a body has gone to sleep once more."""
        assert self._asleep.acquire(timeout=PATIENCE)
