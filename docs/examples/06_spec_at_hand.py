"""The specification answers questions without running anything: it is data, and so are its answers."""

from __future__ import annotations

from chongming_spec.decide import Decision, decide
from chongming_spec.facts import Ask, CarrierView, Facts
from chongming_spec.replay import replay
from chongming_spec.transitions import EDGES, OUT_OF_BAND
from chongming_task import TERMINAL, TRANSITIONS, InvalidTransition, StateMachine, TaskStatus

print(f"{len(TaskStatus)} states, {len(EDGES)} edges, {len(OUT_OF_BAND)} kinds of move outside them")
print("from paused:", ", ".join(sorted(TRANSITIONS[TaskStatus.PAUSED])))
print("terminal:   ", ", ".join(sorted(TERMINAL)))

# What would happen if ...? A task as a decision sees it, and a request.
parked = Facts(TaskStatus.PAUSED, in_place=True, started=True, attempt=1, carrier=CarrierView.PARKED)
held = Facts(TaskStatus.PAUSED)
for facts in (parked, held):
    answer = decide(facts, Ask("stop"))
    if isinstance(answer, Decision):
        print(f"stop a task paused {'in place' if facts.in_place else 'before it ran'}: -> {answer.target}")

# A machine is the only writer of a status. A refusal names the guard and changes nothing.
machine = StateMachine.create("job-1", "extract", max_attempts=1)
machine.start()
machine.mark_starting(executor="thread")
print("can it be paused?", bool(machine.can_pause), "| can it be retried?", bool(machine.can_retry))
print("why not:", machine.can_retry.reason)
machine.mark_running()
machine.mark_failed()
try:
    machine.retry()
except InvalidTransition as refused:
    print("refused:", refused.guard, "|", refused.sentence)

# Any history can be judged from its records alone.
found = replay(machine.transitions)
print(f"replayed: {len(found.steps)} moves, ok: {found.ok}")
