"""Drives one supervisor: hands its actions to the world, and the world's answers back as inputs.

Whoever finds the mailbox idle drains it; everybody else only leaves a letter. Nothing in here decides, and
nothing waits while the mailbox is drained: carriers are launched without waiting for them, timers belong to the
clock, and a caller who waits does so outside. One lock guards the mailbox and what may be read from outside; it
is never held while anything else is called.

A task that nobody stores is durable at once: each save is acknowledged in the same drain.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from datetime import datetime
from functools import partial

import attrs

from chongming_spec import predicates
from chongming_spec.facts import EndingKind
from chongming_spec.snapshot import AttemptRecord, Progress, TaskSnapshot, Transition
from chongming_task.clock import Clock, Moment, Timer
from chongming_task.core import actions as act
from chongming_task.core import inputs as inp
from chongming_task.core.ports import Carrier, Ending, ExecutionRequest, Executor, LogLine, Retries, Signal
from chongming_task.core.supervisor import Supervisor
from chongming_task.runtime.executors.inline import InlineCarrier, InlineExecutor
from chongming_task.runtime.failing import ask_policy, describe

logger = logging.getLogger("chongming_task.driver")
NOBODY = 0
_WAKES = frozenset({Signal.STOP, Signal.RESUME})


class _Sink:
    """Turns what one carrier answers into inputs."""

    __slots__ = ("_driver", "_run", "awaited", "is_parked")

    def __init__(self, driver: TaskDriver, run: int) -> None:
        self._driver = driver
        self._run = run
        self.awaited = False
        self.is_parked = False

    def expect(self) -> None:
        """Somebody was told something and will answer: a fake clock waits for that (`Clock.in_flight`)."""
        if not self.awaited:
            self.awaited = True
            self._driver.clock.in_flight(1)

    def _answered(self) -> None:
        if self.awaited:
            self.awaited = False
            self._driver.clock.in_flight(-1)

    def started(self) -> None:
        self._driver.post(inp.Started(self._run))
        self._answered()

    def parked(self) -> None:
        self.is_parked = True
        self._driver.post(inp.Parked(self._run))
        self._answered()

    def unparked(self) -> None:
        self.is_parked = False
        self._answered()

    def progress(self, progress: Progress) -> None:
        self._driver.progress = progress

    def line(self, line: LogLine) -> None:
        self._driver.lines.append(line)

    def exited(self, ending: Ending) -> None:
        self._driver.post(inp.Exited(self._run, ending))
        self._answered()


class TaskDriver:
    """One task under supervision. `request_of` makes the execution request of an attempt from its snapshot."""

    def __init__(
        self,
        supervisor: Supervisor,
        executor: Executor,
        clock: Clock,
        retry: Retries,
        request_of: Callable[[TaskSnapshot], ExecutionRequest],
    ) -> None:
        self.clock = clock
        self.progress: Progress | None = None
        self.lines: deque[LogLine] = deque(maxlen=200)
        self._supervisor = supervisor
        self._executor = executor
        self._retry = retry
        self._request_of = request_of
        self._changed = threading.Condition()
        self._mailbox: deque[inp.Input] = deque()
        self._draining = False
        self._carriers: dict[int, Carrier] = {}
        self._sinks: dict[int, _Sink] = {}
        self._timers: dict[str, Timer] = {}
        self._inline: deque[InlineCarrier] = deque()
        self._carrying = False
        self._run = 0
        self._answers: dict[int, act.Answer | BaseException] = {}
        self._waiters = 0
        self._ending: Ending | None = None
        self._beats = 0
        self._beaten_at: datetime | None = None
        self._seen = supervisor.machine.snapshot
        self._history: list[Transition] = []
        self._attempts: tuple[AttemptRecord, ...] = ()
        self._perform(supervisor.created(self._moment()))
        self._drain()

    # Reading, from any thread

    @property
    def snapshot(self) -> TaskSnapshot:
        """The newest durable version, with the progress and the heartbeat seen since."""
        with self._changed:
            seen, carrier = self._seen, self._carriers.get(self._run)
        if carrier is not None and carrier.beats[0] != self._beats:
            self._beats, self._beaten_at = carrier.beats[0], self.clock.now()
        heartbeat = self._beaten_at or seen.last_heartbeat_at
        if self.progress is seen.progress and heartbeat is seen.last_heartbeat_at:
            return seen
        return attrs.evolve(seen, progress=self.progress, last_heartbeat_at=heartbeat)

    @property
    def transitions(self) -> tuple[Transition, ...]:
        """The durable history, oldest first."""
        with self._changed:
            return tuple(self._history)

    @property
    def attempts(self) -> tuple[AttemptRecord, ...]:
        """One record per attempt started, oldest first."""
        with self._changed:
            return self._attempts

    @property
    def ending(self) -> Ending | None:
        """How the newest attempt's carrier ended, if it did."""
        return self._ending

    @property
    def running(self) -> bool:
        """Whether any carrier of the task is alive, abandoned ones and those just being launched included."""
        with self._changed:
            carriers = [self._carriers.get(run) for run in self._sinks]
        return any(carrier is None or carrier.running for carrier in carriers)

    # Asking, from any thread

    def ask(self, asked: inp.Asked) -> act.Answer:
        """Ask for a verb and wait for its answer; raises what the tables refuse it with."""
        with self._changed:
            self._waiters += 1
            waiter = self._waiters
        self.post(asked._replace(waiter=waiter))
        with self._changed:
            while waiter not in self._answers:
                self.clock.wait(self._changed, None)
            answer = self._answers.pop(waiter)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def wait_until_over(self, timeout_ms: int | None) -> bool:
        """Wait until the task is durably over; False if that takes longer than `timeout_ms`."""
        until_ms = None if timeout_ms is None else self.clock.mono_ms() + timeout_ms
        with self._changed:
            while not self._seen.is_terminal:
                if not self.clock.wait(self._changed, until_ms):
                    return self._seen.is_terminal
        return True

    def carry_inline(self) -> None:
        """Run the bodies that wait for their caller's thread, until none is left to come (D20: fatal errors pass)."""
        with self._changed:
            if self._carrying or not isinstance(self._executor, InlineExecutor):
                return
            self._carrying = True
        try:
            while (carrier := self._next_inline()) is not None:
                carrier.run()
        finally:
            self._carrying = False

    def _next_inline(self) -> InlineCarrier | None:
        """The next body to run here; None once nothing more will come of itself."""
        with self._changed:
            while not self._inline and predicates.moves_by_itself(self._seen.status):
                self.clock.wait(self._changed, None)
            return self._inline.popleft() if self._inline else None

    # The mailbox

    def post(self, letter: inp.Input) -> None:
        """Leave an input; drain the mailbox if nobody does."""
        with self._changed:
            self._mailbox.append(letter)
            if self._draining:
                return
            self._draining = True
        self._drain()

    def _drain(self) -> None:
        """Work off the letters. An interrupt of this thread is met like a defect, and raised once all is worked off."""
        interrupt: BaseException | None = None
        while (letter := self._next_letter()) is not None:
            try:
                self._perform(self._supervisor.handle(letter, self._moment()))
            except BaseException as broken:
                interrupt = interrupt if isinstance(broken, Exception) else broken
                self._give_up(letter, broken)
            self._look()
            if isinstance(letter, inp.Exited):
                self._forget(letter.run)
        if interrupt is not None:
            raise interrupt

    def _give_up(self, letter: inp.Input, broken: BaseException) -> None:
        """Half an input was handled, and nobody knows which half: the task is lost, and nobody waits for ever (D18)."""
        logger.error("task %s: a defect was met", self._seen.task_id, exc_info=broken)
        if isinstance(letter, inp.Asked):
            self._resolve(letter.waiter, broken)
        try:
            self._perform(self._supervisor.give_up(broken, self._moment()))
        except Exception:
            logger.exception("task %s: giving up failed", self._seen.task_id)

    def _next_letter(self) -> inp.Input | None:
        with self._changed:
            if not self._mailbox:
                self._draining = False
                return None
            letter = self._mailbox.popleft()
        if isinstance(letter, inp.Started) and letter.run in self._carriers:
            return letter._replace(pid=self._carriers[letter.run].pid)
        return letter

    def _forget(self, run: int) -> None:
        with self._changed:
            self._carriers.pop(run, None)
            del self._sinks[run]

    def _look(self) -> None:
        """Let readers see what changed without a new version, such as a late result."""
        machine = self._supervisor.machine
        with self._changed:
            if machine.version == self._seen.status_version:
                self._seen = machine.snapshot
            self._attempts = machine.attempts

    def _moment(self) -> Moment:
        return Moment(self.clock.now(), self.clock.mono_ms())

    # Actions

    def _perform(self, actions: list[act.Action]) -> None:
        for action in actions:
            match action:
                case act.Save(snapshot):
                    self._reply(inp.Saved(snapshot.status_version))
                case act.NeedSlot(run):
                    self._reply(inp.SlotGranted(run))
                case act.ReturnSlot():
                    pass
                case act.Publish(snapshot, transitions):
                    self._publish(snapshot, transitions)
                case act.Launch(run, snapshot):
                    self._launch(run, snapshot)
                case act.Tell(run, signal, reason):
                    self._tell(run, signal, reason)
                case act.Kill(run):
                    if run in self._carriers:
                        self._carriers[run].kill()
                case act.Abandon(run):
                    if run in self._carriers:
                        self._carriers[run].abandon()
                case act.WakeAt(key, mono_ms):
                    self._disarm(key)
                    self._timers[key] = self.clock.call_at(mono_ms, partial(self._fire, key))
                case act.Disarm(key):
                    self._disarm(key)
                case act.Resolve(waiter, answer):
                    self._resolve(waiter, answer)
                case act.Ended(ending):
                    self._ending = ending

    def _reply(self, letter: inp.Input) -> None:
        with self._changed:
            self._mailbox.append(letter)

    def _publish(self, snapshot: TaskSnapshot, transitions: tuple[Transition, ...]) -> None:
        with self._changed:
            self._seen = snapshot
            self._history += transitions
            self._attempts = self._supervisor.machine.attempts
            self._changed.notify_all()

    def _launch(self, run: int, snapshot: TaskSnapshot) -> None:
        sink = _Sink(self, run)
        with self._changed:
            self._sinks[run] = sink
        self.progress = None
        self._beats, self._beaten_at = 0, None
        try:
            request = self._request_of(snapshot)
            self._executor.check(request)
            sink.expect()
            carrier = self._executor.launch(request, sink)
        except Exception as error:
            self._launch_failed(run, error)
            return
        with self._changed:
            self._run = run
            self._carriers[run] = carrier
            if isinstance(carrier, InlineCarrier):
                self._inline.append(carrier)
                self._changed.notify_all()

    def _launch_failed(self, run: int, error: Exception) -> None:
        """No carrier could be made; what the policy says of the error is asked here, where the error is (D18)."""
        retries, note = ask_policy(self._retry, error)
        failure = describe(error, note)
        self._sinks[run].exited(Ending(EndingKind.LAUNCH_FAILED, failure=failure, retries=retries, exception=error))

    def _tell(self, run: int, signal: Signal, reason: str) -> None:
        carrier, sink = self._carriers.get(run), self._sinks[run]
        if carrier is None:  # its launch failed; that answer is in the mailbox
            return
        if sink.is_parked and signal in _WAKES:
            sink.expect()
        carrier.signal(signal, reason)

    def _disarm(self, key: str) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()

    def _fire(self, key: str) -> None:
        carrier = self._carriers.get(self._run)
        self.post(inp.TimerFired(key, (0, None) if carrier is None else carrier.beats))

    def _resolve(self, waiter: int, answer: act.Answer | BaseException) -> None:
        if waiter == NOBODY:
            return
        with self._changed:
            self._answers.setdefault(waiter, answer)
            self._changed.notify_all()
