"""What only an interpreter of its own can show: its exit, its flags, its signals, and what an import costs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.e2e.scripts import LIMIT, environment, run, script


def test_the_exit_waits_for_nobody(tmp_path: Path) -> None:
    """P-126, D21, guide 7.3: an abandoned body, a parked one and one that runs: code 0, at once, and silent."""
    done = run(
        tmp_path,
        """
        import threading
        from chongming_task import TaskRun
        from chongming_task.testing import FakeClock

        def deaf(ctx):
            entered.set()
            threading.Event().wait()

        def loops(ctx):
            while True:
                ctx.sleep(0.01)

        entered = threading.Event()
        clock = FakeClock()
        lost = TaskRun(deaf, clock=clock).start()
        entered.wait()
        lost.stop()
        clock.advance(10)
        parked = TaskRun(loops).start()
        assert parked.pause()
        working = TaskRun(loops).start()
        print(lost.status, parked.status, flush=True)
        """,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("lost paused\n", "", 0)


def test_an_exit_in_the_middle_of_things(tmp_path: Path) -> None:
    """P-126: many bodies at work and a timer armed while the interpreter goes down: no noise."""
    done = run(
        tmp_path,
        """
        from chongming_task import FixedBackoff, RetryPolicy, TaskRun, Timeout

        def body(ctx):
            while True:
                ctx.log("at work")
                ctx.progress(1)
                ctx.checkpoint()

        def fails(ctx):
            raise OSError("again")

        forever = RetryPolicy(max_attempts=10**6, backoff=FixedBackoff(0))
        runs = [TaskRun(body, timeout=Timeout(idle=0.05, per_attempt=1)).start() for _ in range(5)]
        runs += [TaskRun(fails, retry=forever).start() for _ in range(3)]
        print("end", flush=True)
        """,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("end\n", "", 0)


@pytest.mark.parametrize("flags", [(), ("-O",), ("-OO",)], ids=["plain", "-O", "-OO"])
def test_refusals_are_ordinary_code(tmp_path: Path, flags: tuple[str, ...]) -> None:
    """D39: everything a user can be refused with is still there when assertions and contracts are not."""
    done = run(
        tmp_path,
        """
        import os
        os.environ.pop("CHONGMING_CONTRACTS", None)
        from chongming_task import *

        def told(call):
            try:
                call()
            except TaskError as error:
                print(type(error).__name__, getattr(error, "guard", None))
            else:
                print("nothing")

        machine = StateMachine.create("t", "t")
        told(lambda: machine.mark_running())
        told(lambda: machine.force_transition("failed", actor=" ", reason="x"))
        told(lambda: machine.force_transition("running", actor="li", reason="x"))
        told(lambda: StateMachine.create("", "t"))
        told(lambda: RetryPolicy(max_attempts=0))
        run = TaskRun(lambda ctx: 1 / 0, executor=InlineExecutor()).start()
        told(run.retry)
        told(run.start)
        told(lambda: run_task(lambda: 1))
        """,
        *flags,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "InvalidTransition None",
        "InvalidTransition actor_missing",
        "InvalidTransition target_not_terminal",
        "ConfigurationError None",
        "ConfigurationError None",
        "AttemptsExhausted attempts_exhausted",
        "InvalidTransition None",
        "ConfigurationError None",
    ]


def test_an_import_is_light(tmp_path: Path) -> None:
    """D38: what only some users need is imported where it is used."""
    done = run(
        tmp_path,
        """
        import sys
        import chongming_task
        heavy = {"asyncio", "sqlite3", "subprocess", "multiprocessing", "concurrent.futures", "socket"}
        print(sorted(heavy & set(sys.modules)))
        """,
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_modes_that_check_everything(tmp_path: Path) -> None:
    """D39: under -X dev the contracts are on, and a whole life passes them without a warning."""
    done = run(
        tmp_path,
        """
        import os
        del os.environ["CHONGMING_CONTRACTS"]
        from chongming_spec.contracts import ENABLED
        from chongming_task import TaskRun
        run = TaskRun(lambda ctx: [ctx.sleep(0.01) for _ in iter(int, 1)]).start()
        run.pause()
        run.resume()
        run.stop()
        print(ENABLED, run.wait(10).status)
        """,
        "-X",
        "dev",
    )
    assert (done.stdout, done.stderr) == ("True stopped\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_begins_anew(tmp_path: Path) -> None:
    """Guide 7.1: threads and timers were the parent's; in the child a new run works all the same."""
    done = run(
        tmp_path,
        """
        import os, sys, warnings
        warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 warns of forking with threads, which is the point
        from chongming_task import TaskRun, ThreadExecutor, Timeout

        executor = ThreadExecutor()
        limit = Timeout(per_attempt=30)
        assert TaskRun(lambda ctx: 1, executor=executor, timeout=limit).start().wait(10).ok
        child = os.fork()
        if child == 0:
            outcome = TaskRun(lambda ctx: ctx.sleep(0.01), executor=executor, timeout=limit).start().wait(10)
            os._exit(0 if outcome.ok else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
    )
    assert (done.stdout, done.stderr) == ("0\n", "")


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize("executor", ["InlineExecutor", "ThreadExecutor"])
def test_an_interrupt_from_the_keyboard(tmp_path: Path, executor: str) -> None:
    """D20, P-045: the caller gets it; inline the task is failed by it, in a thread it goes on and can be stopped."""
    path = script(
        tmp_path,
        f"""
        import threading
        from chongming_task import *

        def body(ctx):
            if {executor} is ThreadExecutor:
                started.wait()
            print("at work", flush=True)
            while True:
                ctx.sleep(0.05)

        started = threading.Event()
        run = TaskRun(body, executor={executor}())
        try:
            run.start()
            started.set()
            run.wait()
        except KeyboardInterrupt:
            status = run.status
            run.stop()
            print(status, run.wait(10).status)
        """,
    )
    child = subprocess.Popen(
        [sys.executable, str(path)], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "at work\n"
    child.send_signal(signal.SIGINT)
    said, errors = child.communicate(timeout=LIMIT)
    assert errors == ""
    assert said == {"InlineExecutor": "failed failed\n", "ThreadExecutor": "running stopped\n"}[executor]


def test_a_stuck_body_does_not_slow_the_exit(tmp_path: Path) -> None:
    """P-126: within two seconds of the end of main, whatever a body does."""
    path = script(
        tmp_path,
        """
        import threading, time
        from chongming_task import TaskRun

        run = TaskRun(lambda ctx: threading.Event().wait()).start()
        print(time.time(), flush=True)
        """,
    )
    done = subprocess.run(
        [sys.executable, str(path)], env=environment(), capture_output=True, text=True, timeout=LIMIT, check=True
    )
    assert time.time() - float(done.stdout) < 2.0
