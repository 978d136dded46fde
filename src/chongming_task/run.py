"""One task, run under supervision, in this process.

`run_task` runs a body to its end and returns what came of it. `TaskRun` is the same with a handle: start it, watch
it, pause it, stop it, from any thread. Both check their arguments at the call; nothing is started when one is
unusable.
"""

from __future__ import annotations

import contextvars
import os
import random
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from chongming_spec.errors import ConfigurationError, InvalidTransition
from chongming_spec.executors import EXECUTOR_OF
from chongming_spec.snapshot import AttemptRecord, TaskSnapshot, Transition
from chongming_spec.states import TaskStatus
from chongming_spec.texts import check_text
from chongming_spec.timeouts import TIMEOUTS
from chongming_task.clock import Clock, Moment, system_clock
from chongming_task.core.actions import Answer
from chongming_task.core.ports import ExecutionRequest, Executor, LogLine
from chongming_task.core.requests import asked
from chongming_task.core.state_machine import StateMachine
from chongming_task.core.supervisor import Supervisor
from chongming_task.core.terms import Terms
from chongming_task.decorators import check_reserved, checked, checked_tags, declaration_of
from chongming_task.models import TaskOutcome
from chongming_task.policies import RetryPolicy, Timeout, check_seconds, to_ms
from chongming_task.runtime.driver import TaskDriver
from chongming_task.runtime.executors.thread import ThreadExecutor
from chongming_task.runtime.owner import default_owner
from chongming_task.runtime.targets import bind, check_target, name_of

GRACEFUL_STOP = 10.0
PAUSE_TIMEOUT = 10.0
"""Seconds; the defaults of every face (D16)."""


class TaskRun:
    """A handle on one task. All of its methods may be called from any thread.

    `graceful_stop` is the grace window in seconds, of stops and of timeouts. Policies not given are those declared by
    `@task`. `task_id` defaults to a random one, `name` to the function's. Raises ConfigurationError for what is
    unusable.
    """

    def __init__(
        self,
        target: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        task_id: str | None = None,
        name: str | None = None,
        tags: Iterable[str] = (),
        retry: RetryPolicy | None = None,
        timeout: Timeout | None = None,
        executor: Executor | None = None,
        clock: Clock | None = None,
        graceful_stop: float | None = None,
        artifact_dir: str | os.PathLike[str] | None = None,
        upstream: Mapping[str, Any] | None = None,
        owner: str | None = None,
    ) -> None:
        check_target(target)
        arguments = _arguments(args, kwargs)
        bind(target, *arguments)
        declared = declaration_of(target)
        self._retry: RetryPolicy = (
            checked("retry", retry, RetryPolicy) or (declared and declared.retry) or RetryPolicy()
        )
        limits: Timeout = checked("timeout", timeout, Timeout) or (declared and declared.timeout) or Timeout()
        self._executor = executor if executor is not None else ThreadExecutor()
        row = EXECUTOR_OF.get(getattr(self._executor, "name", ""))
        if row is None:
            raise ConfigurationError(
                f"executor must be an executor whose name is one of {', '.join(EXECUTOR_OF)}, not {executor!r}"
            )
        if graceful_stop is None and declared is not None:
            graceful_stop = declared.graceful_stop
        grace = GRACEFUL_STOP if graceful_stop is None else check_seconds("graceful_stop", graceful_stop)
        self._clock = clock if clock is not None else system_clock()
        self._target, self._arguments = target, arguments
        self._artifact_dir = None if artifact_dir is None else Path(artifact_dir)
        self._upstream = {} if upstream is None else dict(upstream)
        self._context = contextvars.copy_context()
        machine = StateMachine.create(
            uuid.uuid4().hex if task_id is None else task_id,
            name if name is not None else _name(target),
            max_attempts=self._retry.max_attempts,
            tags=checked_tags(tags) | (declared.tags if declared else frozenset()),
            owner=default_owner() if owner is None else check_text("owner", owner),
            now=self._clock.now,
            task=declared.name if declared else _name(target),
        )
        terms = Terms(
            retry=self._retry,
            executor=row,
            limits_ms={r.deadline: limit for r in TIMEOUTS if (limit := limits.limit_ms(r.parameter)) is not None},
            grace_ms=to_ms(grace),
            pause_ms=to_ms(PAUSE_TIMEOUT),
        )
        self._supervisor = Supervisor(machine, terms, random.Random())
        self._driver = TaskDriver(self._supervisor, self._executor, self._clock, self._retry, self._request)
        self._executor.check(self._request(machine.snapshot))

    def __repr__(self) -> str:
        snapshot = self._driver.snapshot
        return f"<TaskRun {snapshot.task_id!r} {snapshot.status}, attempt {snapshot.attempt}/{snapshot.max_attempts}>"

    # Reading

    @property
    def task_id(self) -> str:
        """The id of the task."""
        return self._driver.snapshot.task_id

    @property
    def snapshot(self) -> TaskSnapshot:
        """The present version, with the newest progress."""
        return self._driver.snapshot

    @property
    def status(self) -> TaskStatus:
        """Where it is in its life."""
        return self._driver.snapshot.status

    @property
    def transitions(self) -> tuple[Transition, ...]:
        """The whole history, oldest first."""
        return self._driver.transitions

    @property
    def attempts(self) -> tuple[AttemptRecord, ...]:
        """One record per attempt started, oldest first (D5)."""
        return self._driver.attempts

    @property
    def logs(self) -> tuple[LogLine, ...]:
        """The newest 200 lines of `ctx.log`, over all attempts."""
        return tuple(self._driver.lines.copy())

    @property
    def running(self) -> bool:
        """Whether a carrier is alive, an abandoned one included; never False while its thread still runs."""
        return self._driver.running

    @property
    def outcome(self) -> TaskOutcome | None:
        """What came of it; None while it is not over."""
        snapshot = self._driver.snapshot
        if not snapshot.is_terminal:
            return None
        ending = self._driver.ending
        return TaskOutcome(snapshot, None if ending is None or snapshot.failure is None else ending.exception)

    # Control

    def start(self) -> TaskRun:
        """Begin supervised execution and return at once (inline: once it is over or held). Not twice."""
        if not self.do("start").changed:
            raise InvalidTransition(
                f"task {self.task_id!r} was started before and is {self.status}; make a new TaskRun, or use retry()",
                current=self.status, requested="start", task_id=self.task_id,
            )  # fmt: skip
        return self

    def wait(self, timeout: float | None = None) -> TaskOutcome:
        """Wait for the end, `timeout` seconds at most; then TimeoutError, and the task goes on unchanged."""
        limit_ms = None if timeout is None else to_ms(check_seconds("timeout", timeout))
        if not self._driver.wait_until_over(limit_ms):
            raise TimeoutError(f"task {self.task_id!r} is still {self.status} after {timeout} s; it goes on unchanged")
        outcome = self.outcome
        assert outcome is not None
        return outcome

    def stop(
        self,
        *,
        reason: str | None = None,
        actor: str | None = None,
        graceful: bool = True,
        timeout: float | None = None,
    ) -> bool:
        """Ask it to end and return at once; a body gets its grace window, which `timeout` (seconds) can only shorten.

        True if the request stands; False if the task had ended otherwise before (D13).
        """
        return self.do("stop", reason=reason, actor=actor, graceful=graceful, timeout=timeout).confirmed

    def cancel(
        self,
        *,
        reason: str | None = None,
        actor: str | None = None,
        graceful: bool = True,
        timeout: float | None = None,
    ) -> bool:
        """Call it off: like `stop`, but it ends as cancelled (D7)."""
        return self.do("cancel", reason=reason, actor=actor, graceful=graceful, timeout=timeout).confirmed

    def pause(
        self,
        timeout: float | None = None,
        *,
        actor: str | None = None,
        reason: str | None = None,
        resume_at: datetime | None = None,
    ) -> bool:
        """Hold it, waiting up to `timeout` seconds (10 by default) for the body to park; True iff it is paused (D8).

        `resume_at` is an aware time at which it goes on by itself.
        """
        return self.do("pause", timeout=timeout, actor=actor, reason=reason, resume_at=resume_at).confirmed

    def resume(self, *, actor: str | None = None, reason: str | None = None) -> bool:
        """Let it go on; True if the request stands (D9)."""
        return self.do("resume", actor=actor, reason=reason).confirmed

    def retry(
        self,
        *,
        force: bool = False,
        alongside: bool = False,
        actor: str | None = None,
        reason: str | None = None,
    ) -> bool:
        """Revive it after an end without success; `force` allows one attempt beyond the budget (D5, D10)."""
        return self.do("retry", force=force, alongside=alongside, actor=actor, reason=reason).confirmed

    def skip(self, *, reason: str | None = None, actor: str | None = None, alongside: bool = False) -> bool:
        """Declare it unneeded (D2)."""
        return self.do("skip", reason=reason, actor=actor, alongside=alongside).confirmed

    def reset(self, *, actor: str, reason: str, alongside: bool = False) -> bool:
        """Back to pending with a full budget; the history is kept (D12)."""
        return self.do("reset", actor=actor, reason=reason, alongside=alongside).confirmed

    def force_transition(self, to: TaskStatus | str, *, actor: str, reason: str) -> bool:
        """Record the terminal state `to` by a person's word (D2, D11)."""
        return self.do("force_transition", to=to, actor=actor, reason=reason).confirmed

    def do(self, verb: str, **ask: Any) -> Answer:
        """Any control verb by name, with the parameters of its row; says whether it changed anything (D13).

        Raises what the verb's guards refuse it with, and ConfigurationError for an unknown verb or parameter.
        """
        answer = self._driver.ask(asked(verb, ask))
        self._driver.carry_inline()
        return answer

    def _request(self, snapshot: TaskSnapshot) -> ExecutionRequest:
        args, kwargs = self._arguments
        return ExecutionRequest(
            task_id=snapshot.task_id,
            name=snapshot.name,
            attempt=snapshot.attempt,
            max_attempts=snapshot.max_attempts,
            target=self._target,
            args=args,
            kwargs=kwargs,
            clock=self._clock,
            retry=self._retry,
            epoch=snapshot.epoch,
            pipeline_run_id=snapshot.pipeline_run_id,
            upstream=self._upstream,
            artifact_dir=self._artifact_dir,
            deadline=self._deadline,
            context=self._context,
        )

    def _deadline(self) -> datetime | None:
        return self._supervisor.attempt_ends_at(Moment(self._clock.now(), self._clock.mono_ms()))


def run_task(
    target: Callable[..., Any],
    *args: Any,
    task_id: str | None = None,
    name: str | None = None,
    tags: Iterable[str] = (),
    retry: RetryPolicy | None = None,
    timeout: Timeout | None = None,
    executor: Executor | None = None,
    clock: Clock | None = None,
    graceful_stop: float | None = None,
    artifact_dir: str | os.PathLike[str] | None = None,
    upstream: Mapping[str, Any] | None = None,
    owner: str | None = None,
    kwargs: Mapping[str, Any] | None = None,
    **keywords: Any,
) -> TaskOutcome:
    """Run a body to its end and return what came of it; blocks until then.

    Further keywords go to the body. A body with a parameter of one of our names gets its arguments as `kwargs={...}`
    (D42).
    """
    check_target(target)
    if kwargs is None:
        check_reserved(target)
    run = TaskRun(
        target, args, {**keywords, **(kwargs or {})},
        task_id=task_id, name=name, tags=tags, retry=retry, timeout=timeout, executor=executor, clock=clock,
        graceful_stop=graceful_stop, artifact_dir=artifact_dir, upstream=upstream, owner=owner,
    )  # fmt: skip
    return run.start().wait()


def _name(target: object) -> str:
    return name_of(target).rpartition(".")[2] or name_of(target)


def _arguments(args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(args, (str, bytes)) or not isinstance(args, Sequence):
        raise ConfigurationError(f"args must be a tuple or list of arguments, not {type(args).__name__}")
    if kwargs is not None and not isinstance(kwargs, Mapping):
        raise ConfigurationError(f"kwargs must be a mapping of arguments, not {type(kwargs).__name__}")
    return tuple(args), dict(kwargs or {})
