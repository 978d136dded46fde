"""`make demo`: tasks over real files, controlled from outside, each with a record that can be checked.

The files are those of any machine that has Python: its standard library. One task digests them all, is paused in the
middle, resumed, fails once on purpose and is tried again. A second is a coroutine and runs while the first is paused. A
third is stopped and cooperates, a fourth is stopped and does not. At the end every history is replayed through the
specification, and so is a forged one.
"""

from __future__ import annotations

import hashlib
import platform
import sys
import sysconfig
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

from chongming_spec.replay import replay
from chongming_task import (
    FixedBackoff,
    RetryPolicy,
    TaskContext,
    TaskRun,
    TaskStatus,
    Transition,
    task,
)

PATIENCE = 60.0
WIDTHS = (11, 11, 22, 7, 34)
problems: list[str] = []


# ---------------------------------------------------------------- four tasks


class Meeting:
    """Where the first attempt waits in the middle, so that the pause meets it there on every machine."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.over = threading.Event()

    def wait(self, ctx: TaskContext) -> None:
        """Wait for the demo's pause; a task that sleeps this way can be paused and stopped."""
        self.reached.set()
        while not self.over.is_set():
            ctx.sleep(0.01)


@task(name="digest", retry=RetryPolicy(max_attempts=3, backoff=FixedBackoff(0.2), retry_on=(OSError,)))
def digest(ctx: TaskContext, files: list[Path], meeting: Meeting) -> dict[str, Any]:
    """Digest every file; in the first attempt the file at three quarters cannot be read."""
    total, size = hashlib.sha256(), 0
    middle, marked = len(files) // 2, len(files) * 3 // 4
    for number, file in enumerate(files):
        ctx.checkpoint()
        ctx.progress(number, total=len(files), unit="files", message=file.name)
        if ctx.attempt == 1 and number == middle:
            meeting.wait(ctx)
        if ctx.attempt == 1 and number == marked:
            raise OSError("a file cannot be read (on purpose)")
        content = file.read_bytes()
        total.update(content)
        size += len(content)
    ctx.progress(len(files), total=len(files), unit="files")
    return {"files": len(files), "bytes": size, "sha256": total.hexdigest()}


@task(name="count")
async def count(ctx: TaskContext, files: list[Path]) -> dict[str, int]:
    """A coroutine: count lines, a file at a time, giving way in between."""
    lines = 0
    for file in files:
        await ctx.acheckpoint()
        lines += file.read_bytes().count(b"\n")
        await ctx.asleep(0.002)
    return {"files": len(files), "lines": lines}


@task(name="watch")
def watch(ctx: TaskContext, working: threading.Event) -> None:
    """Goes on for ever, but meets whoever controls it at every round."""
    while True:
        ctx.checkpoint()
        working.set()
        ctx.sleep(0.02)


@task(name="stubborn", graceful_stop=0.3)
def stubborn(ctx: TaskContext, working: threading.Event, release: threading.Event) -> str:
    """Meets nobody: no checkpoint, so nobody can end it. Only the demo knows the way out."""
    working.set()
    release.wait(PATIENCE)
    return "done after all"


# ---------------------------------------------------------------- what happens to them


def paused_and_retried(files: list[Path]) -> tuple[TaskRun, TaskRun]:
    """Pause the digest in the middle, run a coroutine meanwhile, resume; its first attempt fails, its second counts."""
    meeting = Meeting()
    run = TaskRun(digest, (files, meeting), task_id="digest", owner="demo").start()
    expect("the digest reaches its middle", meeting.reached.wait(PATIENCE))
    expect("the pause is confirmed", run.pause(actor="ann", reason="let me look"))
    meeting.over.set()
    before = run.snapshot.progress
    other = TaskRun(count, (files[:60],), task_id="count", owner="demo").start()
    outcome = other.wait(PATIENCE)
    expect("the coroutine succeeds", outcome.ok)
    expect("the paused task stands still", before is not None and run.snapshot.progress == before)
    standing = "?" if before is None else f"{before.done:,.0f} of {before.total or 0:,.0f} {before.unit}"
    print(f"  paused at {standing}; meanwhile a coroutine counted {outcome.value['lines']:,} lines, and it stood still")
    run.resume(actor="ann", reason="seen enough")
    outcome = run.wait(PATIENCE)
    expect("the digest succeeds in its second attempt", outcome.ok and outcome.snapshot.attempt == 2)
    plain = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    expect("the digest is what a plain loop gets", outcome.ok and outcome.value["sha256"] == plain)
    if outcome.ok:
        value = outcome.value
        print(f"  digested {value['bytes']:,} bytes: {value['sha256'][:16]}…, the same as a plain loop without tasks")
    return run, other


def stopped() -> TaskRun:
    """Stop a task that cooperates."""
    working = threading.Event()
    run = TaskRun(watch, (working,), task_id="watch", owner="demo").start()
    expect("the watcher works", working.wait(PATIENCE))
    run.stop(actor="ann", reason="end of shift")
    outcome = run.wait(PATIENCE)
    expect("the watcher is stopped", outcome.status == "stopped" and until(lambda: not run.running))
    print(f"  asked to stop, it met the request at its next checkpoint: {outcome.status}, and its thread is free")
    return run


def given_up() -> TaskRun:
    """Stop a task that does not cooperate, and say what is true of it."""
    working, release = threading.Event(), threading.Event()
    run = TaskRun(stubborn, (working, release), task_id="stubborn", owner="demo").start()
    expect("the stubborn one works", working.wait(PATIENCE))
    run.stop(actor="ann", reason="end of shift")
    outcome = run.wait(PATIENCE)
    expect("the stubborn one is lost, not stopped", outcome.status == "lost" and run.running)
    print(f"  asked to stop, it met nobody for 0.3 s: {outcome.status}. Python cannot end a thread, so it works on")
    print("  in this process, and what it does there is unknown. It is not called stopped, because it is not.")
    release.set()
    expect("its thread ends when it wants to", until(lambda: not run.running))
    expect("the late result is noted", until(lambda: run.attempts[-1].late_result is not None))
    print(f"  later it ended by itself, which is noted on its attempt. The task stays {run.status}.")
    return run


# ---------------------------------------------------------------- the record


def table(run: TaskRun) -> None:
    """One line per record: from, to, what set it off, who asked, why, and when."""
    began = run.transitions[0].at
    print(f"\n    {line_of(('from', 'to', 'trigger', 'actor', 'reason'))}     +ms")
    for record in run.transitions:
        cells = (record.from_status or "", record.to_status, record.trigger, record.actor, record.reason or "")
        print(f"    {line_of(cells)} {(record.at - began).total_seconds() * 1000:7.0f}")
    for attempt in run.attempts:
        why = "" if attempt.failure is None else f": {attempt.failure.kind}: {attempt.failure.message}"
        print(f"    attempt {attempt.attempt} {attempt.disposition}{why}")
        if attempt.late_result is not None:
            print(f"    attempt {attempt.attempt}, after that: {attempt.late_result}")
    print()


def judged(run: TaskRun) -> int:
    """Replay a history through the specification; returns how many moves were allowed."""
    found = replay(run.transitions)
    for finding in found.findings:
        problems.append(f"{run.task_id}, record {finding.version}, {finding.check}: {finding.text}")
    guarded = sum(getattr(row, "guard", None) is not None for row in found.steps)
    print(f"  {run.task_id:<9} {len(found.steps):2} moves, {guarded} under a guard, {len(found.findings)} findings")
    return len(found.steps)


def forged(history: tuple[Transition, ...]) -> None:
    """Call a lost task stopped, and see whether the replay believes it."""
    lie = attrs.evolve(history[-1], to_status=TaskStatus.STOPPED)
    found = replay((*history[:-1], lie))
    expect("a forged history is found out", not found.ok)
    print("  forged: the same history of 'stubborn', but ending in stopped:")
    for finding in found.findings:
        print(f"    record {finding.version}, {finding.check}: {finding.text}")


# ---------------------------------------------------------------- help


def expect(what: str, happened: bool) -> None:
    """Keep what did not come true; the verdict names it."""
    if not happened:
        problems.append(f"not so: {what}")


def until(condition: Callable[[], bool]) -> bool:
    """Whether it comes true within the demo's patience."""
    tick = threading.Event()
    for _ in range(int(PATIENCE * 100)):
        if condition():
            return True
        tick.wait(0.01)
    return False


def line_of(cells: tuple[str, ...]) -> str:
    """One line of a table, each cell cut to its width."""
    cut = (cell if len(cell) <= width else cell[: width - 1] + "…" for cell, width in zip(cells, WIDTHS, strict=True))
    return " ".join(f"{cell:<{width}}" for cell, width in zip(cut, WIDTHS, strict=True))


def library_files() -> list[Path]:
    """Every .py file of the running Python's standard library, without what was installed beside it."""
    root = Path(sysconfig.get_path("stdlib"))
    others = {"site-packages", "dist-packages"}
    return sorted(p for p in root.rglob("*.py") if p.is_file() and others.isdisjoint(p.relative_to(root).parts))


def main() -> int:
    """Run it all; 0 if everything came out as promised."""
    files = library_files()
    if len(files) < 100:
        print(
            f"this Python's standard library has only {len(files)} .py files on disk; the demo needs 100",
            file=sys.stderr,
        )
        return 1
    print(f"Python {platform.python_version()}, {len(files):,} files of its standard library\n")
    print("1. A task that is paused, resumed, fails once, and is tried again")
    run, other = paused_and_retried(files)
    table(run)
    print("2. The coroutine that ran meanwhile")
    table(other)
    print("3. A task that is stopped and cooperates")
    watcher = stopped()
    table(watcher)
    print("4. A task that is stopped and does not")
    lost = given_up()
    table(lost)
    print("5. Every history, replayed through the specification")
    moves = sum(judged(each) for each in (run, other, watcher, lost))
    forged(lost.transitions)
    for problem in problems:
        print(f"  {problem}")
    if problems:
        print(f"\nverdict: {len(problems)} thing(s) did not come out as promised")
        return 1
    print(f"\nverdict: 4 tasks, {moves} moves, every one allowed by the specification")
    return 0


if __name__ == "__main__":
    sys.exit(main())
