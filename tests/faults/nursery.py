"""A process that has everything imported and forks writers on request, so that thousands can be killed in minutes.

Run as a program it reads one order per line (JSON), forks a child that carries it out, and prints the child's pid; when
the child has ended it prints `end <pid> <status>`. A child appends a line to a file for each acknowledged write.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from chongming_spec.errors import ConcurrencyConflict
from chongming_spec.snapshot import TaskSnapshot
from chongming_task.clock import utcnow
from chongming_task.stores.sqlite import SqliteTaskStore
from chongming_task.stores.writer import StoreWriter
from chongming_task.testing._contract import Life
from tests.faults.scenes import BY, LIVES, Script, follow, writes

ROOT = Path(__file__).resolve().parents[2]


class Nursery:
    """The parent's side."""

    def __init__(self) -> None:
        path = os.pathsep.join([str(ROOT), str(ROOT / "spec"), str(ROOT / "src")])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.nursery"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._ended: dict[int, int] = {}

    def start(self, job: str, **order: Any) -> int:
        """Fork a child for the order; its pid."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"job": job, **order}) + "\n")
        self._process.stdin.flush()
        return int(self._next("pid")[0])

    def wait(self, pid: int) -> int:
        """Wait until that child has ended; its wait status."""
        while pid not in self._ended:
            ended, status = self._next("end")
            self._ended[int(ended)] = int(status)
        return self._ended.pop(pid)

    def _next(self, wanted: str) -> list[str]:
        assert self._process.stdout is not None
        while True:
            word, *rest = self._process.stdout.readline().split() or ["closed"]
            if word == wanted:
                return rest
            assert word == "end", f"the nursery said {word!r}"
            self._ended[int(rest[0])] = int(rest[1])

    def close(self) -> None:
        """End it; its children end by themselves or were killed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()


@contextmanager
def nursery() -> Iterator[Nursery]:
    """One nursery for a test."""
    one = Nursery()
    try:
        yield one
    finally:
        one.close()


# The children's side


class Acks:
    """Appends lines to a file; a line is there whole or not at all, also when the process is killed."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def say(self, *words: object) -> None:
        os.write(self._file, (" ".join(map(str, words)) + "\n").encode())


def write_lives(order: dict[str, Any]) -> None:
    """Lives without end through a StoreWriter, from several threads; each acknowledged write is said."""
    acks, owner = Acks(order["acks"]), str(order["owner"])
    store = SqliteTaskStore(order["path"])
    writer = StoreWriter(store)

    def produce(thread: int) -> None:
        choices = random.Random(f"{owner}/{thread}")
        for number in range(int(order.get("lives", 1_000_000))):
            task_id = f"{owner}/{thread}/{number}"
            live(writer, acks, Life(task_id, utcnow, owner), choices.choice(LIVES))

    threads = [threading.Thread(target=produce, args=(number,)) for number in range(int(order["threads"]))]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert writer.close() == ()
    store.close()


def live(writer: StoreWriter, acks: Acks, life: Life, script: Script) -> None:
    """One life: each step waits for the one before."""
    for request in writes(life, script):
        stored = writer.write(request)
        follow(life, stored)
        acks.say(stored.task_id, stored.status_version)


def contend(order: dict[str, Any]) -> None:
    """Write one task that others write too; says each version won, and at last how often somebody else was first."""
    acks, owner, attempts = Acks(order["acks"]), str(order["owner"]), int(order["attempts"])
    store = SqliteTaskStore(order["path"])
    lost = 0
    for _ in range(attempts):
        row = store.get("t")
        assert row is not None
        life = following(row, owner)
        life.does("resume" if life.machine.can_resume else "pause", **BY)
        try:
            stored = life.save(store)
        except ConcurrencyConflict:
            lost += 1
        else:
            acks.say(stored.status_version, owner)
    acks.say("lost", lost)
    store.close()


def following(row: TaskSnapshot, owner: str) -> Life:
    """A life that goes on from a stored row."""
    return Life("unused", utcnow, owner).copy_of(row)


def list_tasks(order: dict[str, Any]) -> None:
    """Read as a console does until that many tasks are there; says how many lists it saw."""
    acks, store, lists = Acks(order["acks"]), SqliteTaskStore(order["path"], read_only=True), 0
    while len(store.query()) < int(order["rows"]):
        store.counts()
        lists += 1
    acks.say("lists", lists)
    store.close()


def hold_the_lock(order: dict[str, Any]) -> None:
    """Take the write lock, say so, and keep it until killed."""
    import sqlite3

    connection = sqlite3.connect(order["path"], isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    Acks(order["acks"]).say("locked")
    threading.Event().wait(60)


JOBS: dict[str, Callable[[dict[str, Any]], None]] = {
    "write_lives": write_lives,
    "contend": contend,
    "list_tasks": list_tasks,
    "hold_the_lock": hold_the_lock,
}


def serve() -> None:
    """Fork a child per line; only the main thread exists here, so that forking is safe."""
    import selectors
    import signal

    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writer)
    selector = selectors.DefaultSelector()
    selector.register(reader, selectors.EVENT_READ, "child")
    selector.register(sys.stdin.fileno(), selectors.EVENT_READ, "order")
    buffered = b""
    while True:
        for key, _ in selector.select():
            if key.data == "child":
                os.read(reader, 4096)
                say_who_ended()
                continue
            given = os.read(sys.stdin.fileno(), 65536)
            if not given:
                return
            *lines, buffered = (buffered + given).split(b"\n")
            for line in lines:
                os.write(1, f"pid {fork(json.loads(line))}\n".encode())


def say_who_ended() -> None:
    """One line per child that has ended."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        os.write(1, f"end {pid} {status}\n".encode())


def fork(order: dict[str, Any]) -> int:
    """A child that carries out one order; its exit status says whether that went well."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        JOBS[order["job"]](order)
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve()
