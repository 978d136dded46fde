"""A command inside a body that does not outlive a stop (D20).

The child leads a session of its own, so that a signal reaches all it has started. A stop or a timeout ends that
group: first SIGTERM, then, when the grace is over, SIGKILL. Daemon threads read its pipes and wait for its
exit, so the body's thread only waits for news and nothing polls; the one exception is the grace, in which the
group is looked for after 20 ms and then ever more rarely.

A descendant may hold a pipe open for ever. It never holds the body: half a second after the child's exit, what was
read by then is the output, and the reading thread ends when that descendant does.
"""

from __future__ import annotations

import io
import locale
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from typing import IO, Any

from chongming_spec.errors import ConfigurationError
from chongming_task.clock import Clock
from chongming_task.policies import check_seconds, to_ms
from chongming_task.runtime.cancellation import CancellationToken

LOOK_SECONDS = 0.02
DRAIN_SECONDS = 0.5
CHUNK = 65536
RESERVED = ("start_new_session", "process_group", "preexec_fn", "creationflags")
TEXT = ("text", "universal_newlines", "encoding", "errors")


class _Pipe:
    """Reads one output to its end on a thread of its own; `data` is what has come so far."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._chunks: list[bytes] = []
        self.thread = _start(self._read, "reader")

    def _read(self) -> None:
        with self._stream:
            while chunk := os.read(self._stream.fileno(), CHUNK):
                self._chunks.append(chunk)

    @property
    def data(self) -> bytes:
        return b"".join(self._chunks)


class _Child:
    """One running command. `exited` is true once its leader was reaped; `changed` is notified then."""

    def __init__(self, args: Any, data: bytes | None, changed: threading.Condition, popen: Mapping[str, Any]) -> None:
        # The pipes are read by file descriptor, so a buffer would only hide what has come.
        self.process = subprocess.Popen(args, bufsize=0, **_own_group(), **popen)
        self._changed = changed
        self.exited = False
        process = self.process
        self.outputs = {
            name: _Pipe(stream)
            for name, stream in (("stdout", process.stdout), ("stderr", process.stderr))
            if stream is not None
        }
        if process.stdin is not None:
            _start(lambda: self._feed(data or b""), "writer")
        self._waiter = _start(self._wait, "waiter")

    def _feed(self, data: bytes) -> None:
        stream = self.process.stdin
        assert stream is not None
        try:
            with stream:
                view = memoryview(data)
                while view:
                    view = view[stream.write(view) :]
        except (BrokenPipeError, ConnectionResetError):
            pass  # it ended without reading everything, as it may

    def _wait(self) -> None:
        self.process.wait()
        with self._changed:
            self.exited = True
            self._changed.notify_all()

    def read(self, name: str) -> bytes | None:
        """All the output that came, waiting for the rest only as long as a pipe can need that nobody holds."""
        pipe = self.outputs.get(name)
        if pipe is None:
            return None
        pipe.thread.join(DRAIN_SECONDS)
        return pipe.data

    def end(self, grace: float) -> None:
        """End the whole group, within the grace or by force, and reap the leader."""
        limit = time.monotonic() + grace
        _signal_group(self.process, "SIGTERM")
        self._waiter.join(grace)
        pause = LOOK_SECONDS
        while (left := limit - time.monotonic()) > 0 and _group_lives(self.process):
            time.sleep(min(pause, left))
            pause *= 1.5
        _signal_group(self.process, "SIGKILL")
        self._waiter.join(DRAIN_SECONDS)


def run_subprocess(
    token: CancellationToken,
    clock: Clock,
    args: Any,
    check: bool,
    timeout: float | None,
    terminate_grace: float,
    popen: dict[str, Any],
) -> subprocess.CompletedProcess[Any]:
    """Run to the end, or end it when a stop is due here. The caller's next checkpoint then raises.

    `popen` are arguments of `subprocess.run`. Raises CalledProcessError, TimeoutExpired (both with the output
    so far), and whatever Popen raises for a command that cannot be started.
    """
    grace = check_seconds("run_subprocess(terminate_grace=)", terminate_grace)
    span_ms = None if timeout is None else to_ms(check_seconds("run_subprocess(timeout=)", timeout))
    codec, data = _text_and_input(popen)
    child = _Child(args, data, token.changed, popen)
    until_ms = None if span_ms is None else clock.mono_ms() + span_ms
    in_time = False
    try:
        in_time = _wait_for_news(child, token, clock, until_ms)
    finally:
        if not child.exited:
            child.end(grace)
    output, errors = _decoded(child.read("stdout"), codec), _decoded(child.read("stderr"), codec)
    if not in_time:
        raise subprocess.TimeoutExpired(args, timeout or 0.0, output, errors)
    code = child.process.returncode if child.exited else -9
    if check and code:
        raise subprocess.CalledProcessError(code, args, output, errors)
    return subprocess.CompletedProcess(args, code, output, errors)


def _wait_for_news(child: _Child, token: CancellationToken, clock: Clock, until_ms: int | None) -> bool:
    """Wait for the exit or a stop; False when the time is over. A pause waits for the child."""
    with token.changed:
        while not child.exited and not (token.is_stop_requested and token.calls_here()):
            if until_ms is None:
                token.changed.wait()
            elif not clock.wait(token.changed, until_ms):
                return child.exited
        return True


def _text_and_input(popen: dict[str, Any]) -> tuple[tuple[str, str] | None, bytes | None]:
    """Take apart what `subprocess.run` understands and Popen must not see here; codec and input."""
    for name in RESERVED:
        if name in popen:
            raise ConfigurationError(f"run_subprocess({name}=) is not yours to set: the child leads its own session")
    told = {name: popen.pop(name, None) for name in TEXT}
    encoding = told["encoding"] or locale.getpreferredencoding(False)
    codec = (encoding, told["errors"] or "strict") if any(told.values()) else None
    if popen.pop("capture_output", False):
        if popen.get("stdout") is not None or popen.get("stderr") is not None:
            raise ConfigurationError("run_subprocess(capture_output=) sets stdout and stderr: leave those out")
        popen["stdout"] = popen["stderr"] = subprocess.PIPE
    data = popen.pop("input", None)
    if data is not None:
        if popen.get("stdin") is not None:
            raise ConfigurationError("run_subprocess(input=) is written to stdin: leave stdin out")
        popen["stdin"] = subprocess.PIPE
    elif popen.get("stdin") is None:
        popen["stdin"] = subprocess.DEVNULL
    popen.pop("bufsize", None)
    if isinstance(data, str):
        data = data.encode(*(codec or ("utf-8", "strict")))
    return codec, data


def _decoded(data: bytes | None, codec: tuple[str, str] | None) -> Any:
    if data is None or codec is None:
        return data
    return io.TextIOWrapper(io.BytesIO(data), codec[0], codec[1]).read()


def _own_group() -> dict[str, Any]:
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def _signal_group(process: subprocess.Popen[bytes], name: str) -> None:
    """Signal the child and all of its group; on Windows only the child can be ended."""
    try:
        if sys.platform == "win32":
            process.terminate()
        else:
            os.killpg(process.pid, signal.Signals[name])
    except (ProcessLookupError, PermissionError):
        pass  # nobody is left, or only zombies


def _group_lives(process: subprocess.Popen[bytes]) -> bool:
    if sys.platform == "win32":
        return process.poll() is None
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return _has_living_member(process.pid) if sys.platform == "linux" else True


def _has_living_member(group: int) -> bool:
    """Whether anybody in the group is more than a zombie: in many containers nobody reaps orphans."""
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    state, _, member_of = file.read().rpartition(b")")[2].split()[:3]
            except (OSError, ValueError):
                continue  # gone while we looked
            if int(member_of) == group and state not in (b"Z", b"X"):
                return True
    return False


def _start(target: Any, part: str) -> threading.Thread:
    thread = threading.Thread(target=target, name=f"chongming-subprocess-{part}", daemon=True)
    thread.start()
    return thread
