"""Commands of a body: results like subprocess.run, and a group that does not outlive a stop (D20)."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chongming_spec.errors import ConfigurationError, TaskCancelled
from chongming_task.runtime import subprocesses
from chongming_task.runtime.cancellation import CancellationToken
from chongming_task.runtime.context import TaskContext
from chongming_task.testing import FakeClock
from tests.unit.carriers import PATIENCE, Recorder, request

pytestmark = pytest.mark.skipif(os.name != "posix", reason="uses sh and process groups")

READY = "import sys,time; print('ready', flush=True); "


def make(**changes: Any) -> tuple[TaskContext, CancellationToken]:
    recorder = Recorder()
    token = CancellationToken(parked=recorder.parked, unparked=recorder.unparked)
    return TaskContext(request(print, **changes), recorder, token), token


def in_thread(body: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    result: list[Any] = []

    def run() -> None:
        try:
            result.append(body())
        except BaseException as error:
            result.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, result


def read_pids(path: Path, count: int) -> list[int]:
    """The process ids a command has written down, one a line, once there are `count`."""
    limit = time.monotonic() + PATIENCE
    while time.monotonic() < limit:
        lines = path.read_text().split("\n")[:-1] if path.exists() else []
        if len(lines) >= count:
            return [int(line) for line in lines]
        threading.Event().wait(0.005)
    raise AssertionError("the command did not write its ids")


def is_gone(pid: int) -> bool:
    """Whether nothing but perhaps a zombie is left of it."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state in "ZX"


def assert_gone(pids: list[int]) -> None:
    limit = time.monotonic() + PATIENCE
    while not all(is_gone(pid) for pid in pids):
        assert time.monotonic() < limit, pids
        threading.Event().wait(0.005)


def test_results_are_those_of_subprocess_run() -> None:
    """Output, text, input, exit code and the errors of the standard library."""
    ctx, _ = make()
    done = ctx.run_subprocess("cat; echo err >&2", shell=True, capture_output=True, text=True, input="a\r\nb")
    assert (done.returncode, done.stdout, done.stderr) == (0, "a\nb", "err\n")
    raw = ctx.run_subprocess(["cat"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, input=b"\xff")
    assert (raw.stdout, raw.stderr) == (b"\xff", None)
    assert ctx.run_subprocess(["cat"], stdout=subprocess.PIPE).stdout == b""
    assert ctx.run_subprocess(["true"], stdin=subprocess.DEVNULL, bufsize=1).stdout is None
    assert ctx.run_subprocess(["sh", "-c", "exit 3"], check=False).returncode == 3
    coded = ctx.run_subprocess(["printf", "\\351"], capture_output=True, encoding="latin-1", input="é")
    assert coded.stdout == "é"
    with pytest.raises(subprocess.CalledProcessError) as caught:
        ctx.run_subprocess("echo out; exit 4", shell=True, capture_output=True)
    assert (caught.value.returncode, caught.value.output) == (4, b"out\n")
    with pytest.raises(FileNotFoundError):
        ctx.run_subprocess(["no-such-command-anywhere"])


def test_much_output_and_input_do_not_block_each_other() -> None:
    """More than a pipe holds in both directions; a command that does not read its input is no error."""
    ctx, _ = make()
    data = b"x" * 1_000_000
    assert ctx.run_subprocess(["cat"], capture_output=True, input=data).stdout == data
    assert ctx.run_subprocess(["true"], input=data).returncode == 0


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"start_new_session": False}, "start_new_session="),
        ({"preexec_fn": print}, "preexec_fn="),
        ({"capture_output": True, "stdout": subprocess.PIPE}, "capture_output="),
        ({"input": b"", "stdin": subprocess.PIPE}, "input="),
        ({"timeout": -1}, "timeout="),
        ({"terminate_grace": float("nan")}, "terminate_grace="),
    ],
)
def test_arguments_that_cannot_work_are_refused(changes: dict[str, Any], says: str) -> None:
    """ConfigurationError naming the argument, and nothing started."""
    ctx, _ = make()
    with pytest.raises(ConfigurationError, match=says):
        ctx.run_subprocess(["true"], **changes)


def test_a_stop_ends_the_whole_group(tmp_path: Path) -> None:
    """The child and what it has started end at SIGTERM, then TaskCancelled (D20)."""
    ctx, token = make()
    pids = tmp_path / "pids"
    thread, result = in_thread(
        lambda: ctx.run_subprocess(f"sleep 600 & echo $! >> {pids}; echo $$ >> {pids}; wait", shell=True)
    )
    started = read_pids(pids, 2)
    token.request_stop("enough")
    thread.join(PATIENCE)
    assert isinstance(result[0], TaskCancelled)
    assert_gone(started)


def test_what_ignores_sigterm_is_killed_after_the_grace(tmp_path: Path) -> None:
    """SIGKILL for the child and its descendants once the grace is over (D20)."""
    ctx, token = make()
    pids = tmp_path / "pids"
    command = f"trap '' TERM; sh -c 'sleep 600' & echo $! >> {pids}; echo $$ >> {pids}; while :; do sleep 1; done"
    thread, result = in_thread(lambda: ctx.run_subprocess(command, shell=True, terminate_grace=0.2))
    started = read_pids(pids, 2)
    began = time.monotonic()
    token.request_stop()
    thread.join(PATIENCE)
    assert isinstance(result[0], TaskCancelled)
    assert time.monotonic() - began >= 0.2
    assert_gone(started)


def test_a_grandchild_gets_its_grace_although_the_child_is_gone(tmp_path: Path) -> None:
    """A descendant that cleans up after SIGTERM is given the time for it (D20)."""
    ctx, token = make()
    pids, mark = tmp_path / "pids", tmp_path / "mark"
    command = (
        f"(trap 'sleep 0.1; echo done > {mark}; exit' TERM; echo 1 >> {pids}; while :; do sleep 0.05; done) & wait"
    )
    thread, result = in_thread(lambda: ctx.run_subprocess(command, shell=True, terminate_grace=5))
    read_pids(pids, 1)
    token.request_stop()
    thread.join(PATIENCE)
    assert isinstance(result[0], TaskCancelled)
    assert mark.read_text() == "done\n"


def test_a_descendant_that_escaped_and_keeps_the_pipe_does_not_hold_the_body(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither after a normal end nor after a stop; what was read until then is the output."""
    monkeypatch.setattr(subprocesses, "DRAIN_SECONDS", 0.05)
    ctx, token = make()
    pids = tmp_path / "pids"
    escape = (
        f"import os,sys,time; os.setsid(); open({str(pids)!r},'a').write(str(os.getpid())+chr(10)); time.sleep(600)"
    )
    command = f'echo before; "{sys.executable}" -c "{escape}" & while [ ! -s {pids} ]; do sleep 0.01; done'
    done = ctx.run_subprocess(command, shell=True, capture_output=True, text=True)
    assert done.stdout == "before\n"
    thread, result = in_thread(lambda: ctx.run_subprocess(command + "; sleep 600", shell=True, capture_output=True))
    escaped = read_pids(pids, 2)
    token.request_stop()
    thread.join(PATIENCE)
    assert isinstance(result[0], TaskCancelled)
    for pid in escaped:
        os.kill(pid, signal.SIGKILL)
    assert_gone(escaped)
    for reader in threading.enumerate():
        if reader.name == "chongming-subprocess-reader":
            reader.join(PATIENCE)


def test_a_timeout_ends_the_group_on_the_tasks_clock() -> None:
    """TimeoutExpired with the output so far, when fake time has passed (D15)."""
    clock = FakeClock()
    ctx, _ = make(clock=clock)
    thread, result = in_thread(
        lambda: ctx.run_subprocess([sys.executable, "-c", READY + "time.sleep(600)"], timeout=60, capture_output=True)
    )
    with clock._state:
        assert clock._state.wait_for(lambda: clock._heap.next_ms() == 60_000, PATIENCE)
    clock.advance(60)
    thread.join(PATIENCE)
    assert isinstance(result[0], subprocess.TimeoutExpired)
    assert result[0].timeout == 60
    assert ctx.run_subprocess(["true"], timeout=60).returncode == 0


def test_inside_a_shield_a_stop_does_not_touch_the_command() -> None:
    """A clean-up command ends by itself; the stop is met afterwards (D20)."""
    ctx, token = make()
    token.request_stop()
    with ctx.shield():
        assert ctx.run_subprocess(["true"]).returncode == 0
    with pytest.raises(TaskCancelled):
        ctx.run_subprocess(["true"])


def test_a_pause_waits_for_the_command(tmp_path: Path) -> None:
    """The body parks when the command has ended, and its result is there after resume (D8)."""
    recorder = Recorder()
    token = CancellationToken(parked=recorder.parked, unparked=recorder.unparked)
    ctx = TaskContext(request(print), recorder, token)
    gate = tmp_path / "gate"
    thread, result = in_thread(
        lambda: ctx.run_subprocess(
            f"while [ ! -e {gate} ]; do sleep 0.01; done; echo out", shell=True, capture_output=True
        )
    )
    token.request_pause()
    if recorder.told == ["parked"]:  # the pause came before the command
        token.resume()
        recorder.wait_for("unparked")
    gate.touch()
    if token.is_pause_requested:
        recorder.wait_for("parked")
        token.resume()
    thread.join(PATIENCE)
    assert result[0].stdout == b"out\n"


def test_an_error_while_waiting_ends_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever leaves the wait, Ctrl-C included, leaves no command behind (D20)."""
    ctx, _ = make()
    children: list[subprocesses._Child] = []

    def interrupted(child: subprocesses._Child, *rest: Any) -> bool:
        children.append(child)
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocesses, "_wait_for_news", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ctx.run_subprocess(["sleep", "600"])
    assert children[0].exited
    assert children[0].process.returncode == -signal.SIGTERM


def test_members_that_may_not_be_signalled_count_as_living(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group of another user's processes is neither gone nor an error."""

    class Process:
        pid = os.getpid()

    def refuse(group: int, number: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "killpg", refuse)
    process: Any = Process()
    assert subprocesses._group_lives(process)
    subprocesses._signal_group(process, "SIGTERM")


def test_a_process_that_vanishes_while_it_is_looked_at_is_no_member(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unreadable entries of /proc are passed over; a group of zombies does not live."""
    if sys.platform != "linux":
        pytest.skip("reads /proc")
    assert subprocesses._has_living_member(os.getpgrp())

    def vanish(*args: Any) -> io.BytesIO:
        raise FileNotFoundError

    monkeypatch.setattr("builtins.open", vanish)
    assert not subprocesses._has_living_member(os.getpgrp())
