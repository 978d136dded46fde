"""The life of one task: inputs in, actions out.

A supervisor decides nothing by itself. It turns what it is told into a verb, asks the state machine, and turns the
answer into actions: what must be saved, what the carrier must be told, which timers run, who gets an answer. It does
no I/O, reads no clock and starts no thread; `now` comes with every input.

While a record must be durable before anything else happens (D23: creation, the start of an attempt, moves out of
band), the other inputs wait; everything else is saved behind.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from chongming_spec import predicates
from chongming_spec.algebra import Tell
from chongming_spec.decide import Decision
from chongming_spec.errors import InvalidTransition, TaskError
from chongming_spec.facts import CarrierState, CarrierView, Deadline, EndingKind
from chongming_spec.timeouts import TIMEOUT_OF
from chongming_task.clock import Moment
from chongming_task.core import actions as act
from chongming_task.core import inputs as inp
from chongming_task.core.deadlines import Deadlines
from chongming_task.core.ledger import Ledger
from chongming_task.core.ports import Ending, Signal
from chongming_task.core.reports import (
    defect_failure,
    described,
    exhausted_failure,
    lost_failure,
    request_text,
    timeout_failure,
    timeout_text,
)
from chongming_task.core.state_machine import StateMachine
from chongming_task.core.terms import Terms
from chongming_task.core.windows import Window

_SIGNALS = {Tell.STOP: Signal.STOP, Tell.PAUSE: Signal.PAUSE, Tell.RESUME: Signal.RESUME}
_NOT_PERFORMED = Ending(EndingKind.WITHDRAWN)
_DEADLINES: Mapping[str, Deadline] = {str(deadline): deadline for deadline in TIMEOUT_OF}
_WINDOW, _BACKOFF, _RESUME, _PAUSE = "window", "backoff", "resume", "pause:"


class Supervisor:
    """One task's supervisor; `handle(input, now)` returns what is to be done, in order."""

    def __init__(self, machine: StateMachine, terms: Terms, rng: random.Random) -> None:
        self._machine = machine
        self._terms = terms
        self._rng = rng
        self._now: Moment
        self._actions: list[act.Action] = []
        self._deadlines = Deadlines(terms.limits_ms)
        self._window = Window(terms.grace_ms, terms.kill_grace_ms)
        self._ledger = Ledger(machine)
        self._held: deque[inp.Input] = deque()
        self._pausers: dict[int, tuple[int, bool]] = {}
        self._runs = 0
        self._run: int | None = None
        self._strays: dict[int, int] = {}
        self._wants_slot = self._has_slot = False
        self._backoff_end_ms: int | None = None
        self._armed: dict[str, int] = {}
        machine.timed_by(lambda: self._now.wall)
        machine.watch(pausable=terms.executor.pausable, killable=terms.executor.killable)

    @property
    def machine(self) -> StateMachine:
        """The machine; nobody else may use its verbs."""
        return self._machine

    @property
    def strays(self) -> int:
        """How many abandoned carriers have not exited yet."""
        return len(self._strays)

    def attempt_ends_at(self, now: Moment) -> datetime | None:
        """D15: when the time of the attempt will be over: computed, not stored; None without a limit."""
        left = self._deadlines.left_ms(Deadline.ATTEMPT, now.mono_ms)
        return None if left is None else now.wall + timedelta(milliseconds=left)

    def created(self, now: Moment) -> list[act.Action]:
        """The actions of a new task: its creation must be durable before anything else (D22, D23)."""
        self._now = now
        self._actions = []
        self._do(self._ledger.save(ahead=True))
        return self._actions

    def handle(self, given: inp.Input, now: Moment) -> list[act.Action]:
        """Take one input; never raises for anything that a body, a caller or a carrier may do."""
        self._now = now
        self._actions = []
        if self._ledger.ahead is not None and not isinstance(given, inp.Saved):
            self._held.append(given)
        else:
            self._take(given)
        return self._actions

    def give_up(self, broken: BaseException, now: Moment) -> list[act.Action]:
        """A defect of ours was met while an input was handled: nobody can know any more what the task does (D18)."""
        self._now = now
        self._actions = []
        self._ledger.ahead = None
        self._try("mark_lost", reason="supervisor_error", values={"failure": defect_failure(broken)})
        self._run = None
        self._settle()
        return self._actions

    # Inputs

    def _take(self, given: inp.Input) -> None:
        match given:
            case inp.Asked():
                self._asked(given)
            case inp.Saved(version):
                self._saved(version)
            case inp.SlotGranted(run):
                if self._wants_slot and run == self._runs:  # else it was returned while the grant was on its way
                    self._granted()
            case inp.SlotDenied():
                if predicates.awaits_backoff(self._machine.view):
                    self._try("mark_queued", reason="the backoff is over and no slot is free")
            case inp.Started(run, pid):
                if run == self._run:
                    self._try("mark_running", values={"pid": pid})
            case inp.Parked(run):
                if run == self._run:
                    self._try("mark_paused")
            case inp.Exited(run, ending):
                self._exited(run, ending)
            case inp.TimerFired(key, beats):
                if self._armed.get(key, self._now.mono_ms + 1) <= self._now.mono_ms:
                    del self._armed[key]
                    self._fired(key, beats)
        self._settle()

    def _asked(self, asked: inp.Asked) -> None:
        text = request_text(asked.verb, asked.actor or self._machine.peek("owner"), asked.reason)
        try:
            decision = self._step(asked.verb, asked.actor, asked.reason, asked.values, asked.trigger, text)
        except TaskError as refused:
            self._do(act.Resolve(asked.waiter, refused))
            return
        told = predicates.tells(decision)
        if Tell.STOP in told:
            self._window.open(text, self._now.mono_ms, asked.window_ms)
        elif Tell.SHORTEN in told:
            self._window.shorten(text, self._now.mono_ms, asked.window_ms)
        self._withdraw_if_told(decision)
        if asked.verb == "pause" and predicates.awaits_parking(self._machine.view):
            wait_ms = self._terms.pause_ms if asked.wait_ms is None else asked.wait_ms
            self._pausers[asked.waiter] = (self._now.mono_ms + wait_ms, decision.changed)
        else:
            self._answer(asked.waiter, asked.verb, decision.changed)

    def _saved(self, version: int) -> None:
        was_ahead = self._ledger.ahead is not None
        self._actions += self._ledger.saved(version)
        if was_ahead and self._ledger.ahead is None:
            self._take_held()

    def _take_held(self) -> None:
        """Catch up on what waited for the record; what was not withdrawn by it is launched now."""
        while self._held:
            self._take(self._held.popleft())
            if self._ledger.ahead is not None:
                return
        if self._run is None and predicates.launch_pending(self._machine.view):
            self._launch()

    def _granted(self) -> None:
        self._wants_slot = False
        self._has_slot = True
        started = self._try("mark_starting", values={"executor": self._terms.executor.name})
        if started is None:  # the budget shrank since it was queued (D5)
            self._try("mark_failed", values={"failure": exhausted_failure()})

    def _launch(self) -> None:
        self._run = self._runs
        self._has_slot = False
        self._machine.watch(carrier=CarrierView.LAUNCHING)
        self._do(act.Launch(self._runs, self._machine.snapshot))
        if predicates.awaits_parking(self._machine.view):
            self._do(act.Tell(self._runs, Signal.PAUSE, ""))

    def _exited(self, run: int, ending: Ending) -> None:
        self._do(act.ReturnSlot(run))
        if run == self._run:
            self._finish(ending)
        elif run in self._strays:
            self._machine.note_late_result(self._strays.pop(run), described(ending))
            if not self._strays:
                self._machine.touch(carrier_state=CarrierState.NONE)
                if self._run is None:
                    self._window.close()
                    self._try("finish", values={"ending": ending.kind})

    def _finish(self, ending: Ending) -> None:
        """The carrier of the attempt is gone: what becomes of the task is the table's to say."""
        facts = self._machine.facts
        failure, retries = ending.failure, ending.retries
        late = predicates.timed_out(facts)
        if late:
            failure = timeout_failure(facts.verdict, self._terms.limits_ms[facts.verdict], ending)
            retries, failure = self._terms.retries_after(facts.verdict, failure)
        delay_ms = 0
        if retries:
            delay_ms, retries, failure = self._terms.delay_after(facts.attempt, self._rng, failure)
        not_before = self._now.wall + timedelta(milliseconds=delay_ms)
        self._backoff_end_ms = self._now.mono_ms + delay_ms
        values = {
            "ending": ending.kind,
            "retries": retries,
            "failure": failure,
            "outcome": ending.value,
            "not_before": not_before,
        }
        self._run = None
        self._window.close()
        self._do(act.Ended(ending))
        attempt = self._machine.attempt_count - 1
        asked_to_end = late or facts.requested.ends
        self._try("finish", reason=self._window.asked_by if asked_to_end else None, values=values)
        if late and ending.kind is not EndingKind.WITHDRAWN:
            self._machine.note_late_result(attempt, described(ending))

    def _fired(self, key: str, beats: tuple[int, int | None]) -> None:
        if key in _DEADLINES:
            self._deadline_looked_at(_DEADLINES[key], beats)
        elif key == _WINDOW:
            self._close_window()
        elif key == _RESUME:
            self._try("resume", actor="timer", reason="resume_at has come", trigger="timer:resume")
        elif key.startswith(_PAUSE):
            self._give_up_pausing(int(key.removeprefix(_PAUSE)))

    def _deadline_looked_at(self, deadline: Deadline, beats: tuple[int, int | None]) -> None:
        if not self._deadlines.passed(deadline, self._now.mono_ms, beats):
            return
        limit_ms = self._terms.limits_ms[deadline]
        text = timeout_text(deadline, limit_ms)
        values = {"deadline": deadline, "failure": timeout_failure(deadline, limit_ms)}
        decision = self._try("expire", reason=text, values=values)
        if decision is not None and Tell.STOP in predicates.tells(decision):
            self._window.open(text, self._now.mono_ms, None)
            self._withdraw_if_told(decision)

    def _close_window(self) -> None:
        self._window.close()
        facts = self._machine.facts
        verdict = facts.verdict if predicates.timed_out(facts) else None
        values = {"failure": lost_failure(self._window.asked_by, verdict)}
        closed = self._try("close_window", reason=self._window.asked_by, values=values)
        if closed is None and self._terms.executor.killable:  # it belonged to a carrier that a new attempt runs beside
            self._kill(self._strays)

    def _give_up_pausing(self, waiter: int) -> None:
        """D8: the last one who waits for the pause takes it back; if it held meanwhile, that was answered already."""
        _, changed = self._pausers.pop(waiter)
        if not self._pausers:
            self._try("abort_pause", reason="not parked in time")
        self._answer(waiter, "pause", changed)

    # Steps

    def _try(
        self,
        verb: str,
        *,
        actor: str | None = None,
        reason: str | None = None,
        values: Mapping[str, Any] | None = None,
        trigger: str | None = None,
    ) -> Decision | None:
        """Report what the world did; where the tables refuse it, the world came too late and nothing changes."""
        try:
            return self._step(verb, actor, reason, values, trigger, reason or verb)
        except InvalidTransition:
            return None

    def _step(
        self,
        verb: str,
        actor: str | None,
        reason: str | None,
        values: Mapping[str, Any] | None,
        trigger: str | None,
        text: str,
    ) -> Decision:
        attempts = self._machine.attempt_count
        decision = self._machine.step(verb, actor, reason, values, trigger)
        if decision.changed:
            self._do(self._ledger.save(ahead=predicates.saved_ahead(decision)))
            if predicates.clears_attempt(decision):
                self._deadlines.reset()
        for told in predicates.tells(decision):
            self._tell(told, text)
        if self._run is not None and predicates.is_abandoned(self._machine.view):
            self._strays[self._run] = attempts - 1
            self._do(act.Abandon(self._run))
            self._run = None
        return decision

    def _tell(self, told: Tell, text: str) -> None:
        """Pass on what the carrier must be told; before there is one, there is nobody to tell."""
        if told is Tell.KILL:
            self._window.open_for_kill(self._now.mono_ms)
            self._kill([*self._strays, *([] if self._run is None else [self._run])])
        elif told in _SIGNALS and self._run is not None:
            self._do(act.Tell(self._run, _SIGNALS[told], text))

    def _kill(self, runs: Iterable[int]) -> None:
        for run in runs:
            self._do(act.Kill(run))

    def _withdraw_if_told(self, decision: Decision) -> None:
        """D6: a stop, cancel or verdict that finds the launch not performed withdraws it."""
        if Tell.STOP in predicates.tells(decision) and self._has_slot and self._run is None:
            self._finish(_NOT_PERFORMED)

    def _answer(self, waiter: int, verb: str, changed: bool) -> None:
        """Answer once the present version is durable, so that a read after the verb sees it (D13)."""
        machine = self._machine
        confirmed = predicates.is_confirmed(verb, machine.status, changed)
        answer = act.Answer(machine.peek("task_id"), verb, machine.status, changed, confirmed, persisted=True)
        self._actions += self._ledger.answer(act.Resolve(waiter, answer))

    def _settle(self) -> None:
        """After every input: who waits for a parking, who holds or wants a slot, and which timers run."""
        facts = self._machine.view
        if self._pausers and not predicates.awaits_parking(facts):
            for waiter, (_, changed) in self._pausers.items():
                self._answer(waiter, "pause", changed)
            self._pausers.clear()
        now_ms = self._now.mono_ms
        if not predicates.awaits_slot(facts) and not predicates.is_held(facts):
            self._backoff_end_ms = None
        self._deadlines.follow(facts, now_ms, self._backoff_end_ms)
        ready = predicates.awaits_slot(facts) and (self._backoff_end_ms or 0) <= now_ms
        if ready and not self._wants_slot:
            self._wants_slot = True
            self._runs += 1
            self._do(act.NeedSlot(self._runs))
        elif (self._wants_slot and not ready) or (self._has_slot and not predicates.launch_pending(facts)):
            self._wants_slot = self._has_slot = False
            self._do(act.ReturnSlot(self._runs))
        self._rearm(self._timers(now_ms))

    def _timers(self, now_ms: int) -> dict[str, int]:
        facts = self._machine.view
        timers: dict[str, int] = {}
        for deadline, at_ms in self._deadlines.due(now_ms).items():
            timers[deadline] = min(at_ms, self._armed.get(deadline, at_ms)) if deadline is Deadline.IDLE else at_ms
        for waiter, (until_ms, _) in self._pausers.items():
            timers[f"{_PAUSE}{waiter}"] = until_ms
        if self._window.end_ms is not None:
            timers[_WINDOW] = self._window.end_ms
        if self._backoff_end_ms is not None and self._backoff_end_ms > now_ms and predicates.awaits_slot(facts):
            timers[_BACKOFF] = self._backoff_end_ms
        resume_at = self._machine.peek("resume_at")
        if resume_at is not None and predicates.is_held(facts):
            left = max(0, round((resume_at - self._now.wall) / timedelta(milliseconds=1)))
            timers[_RESUME] = self._armed.get(_RESUME, now_ms + left)
        return timers

    def _rearm(self, timers: dict[str, int]) -> None:
        for key in self._armed:
            if key not in timers:
                self._do(act.Disarm(key))
        for key, at_ms in timers.items():
            if self._armed.get(key) != at_ms:
                self._do(act.WakeAt(key, at_ms))
        self._armed = timers

    def _do(self, action: act.Action) -> None:
        self._actions.append(action)
