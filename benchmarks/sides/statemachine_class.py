"""The life in `python-statemachine`: one instance per task, a condition on every move, a hook that records."""

from __future__ import annotations

from statemachine import State, StateMachine

from benchmarks.stopwatch import arguments, report_lives


class Task(StateMachine):
    """The table, as its manual writes one."""

    new = State(initial=True)
    pending = State()
    queued = State()
    starting = State()
    running = State()
    paused = State()
    retry_wait = State()
    failed = State()
    cancelled = State(final=True)
    succeeded = State(final=True)

    create = new.to(pending, cond="has_attempts")
    queue = pending.to(queued, cond="has_attempts") | retry_wait.to(queued, cond="has_attempts")
    start = queued.to(starting, cond="has_attempts")
    run = starting.to(running, cond="has_attempts")
    succeed = running.to(succeeded, cond="has_attempts")
    pause = running.to(paused, cond="has_attempts")
    resume = paused.to(running, cond="has_attempts")
    fail = running.to(failed, cond="has_attempts")
    retry = failed.to(retry_wait, cond="has_attempts")
    cancel = pending.to(cancelled) | queued.to(cancelled) | running.to(cancelled)

    def __init__(self) -> None:
        self.attempt = 0
        self.records: list[tuple[str, str]] = []
        super().__init__()

    def has_attempts(self) -> bool:
        """The guard of every move."""
        return self.attempt < 3

    def after_transition(self, source: State, target: State) -> None:
        """What every move leaves behind."""
        self.records.append((source.id, target.id))


def live() -> tuple[str, int]:
    """One life."""
    task = Task()
    task.create()
    task.queue()
    task.start()
    task.run()
    task.succeed()
    return task.records[-1][1], len(task.records)


if __name__ == "__main__":
    variant, n = arguments("new")
    report_lives(live, n)
