"""A task in a form that a solver goes through quickly, and what every answer about it must keep.

A solver splits on every member of an enum before it runs a single line, so five enum columns alone would make 1,200
paths. Most of those no task can have. `SITUATIONS` lists the ones that a coherent task can have; a `Task` names one by
its place in that list and leaves the rest to ints and bools, which split only where a rule looks at them. That the list
is neither too long nor too short is checked by going through every combination (`test_contracts.py`). Only Python's own
types and enums appear here: no times, no texts.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

from chongming_spec.decide import SPEC, Decision, Refusal, advance
from chongming_spec.facts import Ask, CarrierView, Deadline, Facts, Requested, coherent
from chongming_spec.postconditions import sound
from chongming_spec.states import TaskStatus

Answer = Decision | Refusal


class Situation(NamedTuple):
    """The columns of `Facts` that coherence ties to each other."""

    status: TaskStatus
    requested: Requested
    in_place: bool
    started: bool
    carrier: CarrierView
    verdict: Deadline


def _occurs(situation: Situation) -> bool:
    """Whether some task can be in it, as far as attempts go: one that started has started one."""
    return coherent(Facts(**situation._asdict(), attempt=int(situation.started)))


SITUATIONS: tuple[Situation, ...] = tuple(
    situation
    for columns in product(TaskStatus, Requested, (False, True), (False, True), CarrierView, Deadline)
    if _occurs(situation := Situation(*columns))
)


class Task(NamedTuple):
    """Any task: its situation by place (one out of range counts as the nearest), and the columns free of it."""

    place: int
    attempt: int
    max_attempts: int
    stray: bool
    abort_left: bool
    killed: bool
    pausable: bool
    killable: bool
    dependencies_open: bool
    lease_over: bool


def situation_at(place: int) -> Situation:
    """The situation at `place`, found by halving: a solver needs seven decisions for it and not ninety."""
    low, high = 0, len(SITUATIONS)
    while high - low > 1:
        middle = (low + high) // 2
        if place < middle:
            high = middle
        else:
            low = middle
    return SITUATIONS[low]


def facts_of(task: Task) -> Facts:
    """The facts that a `Task` stands for."""
    here = situation_at(task.place)
    return Facts(
        here.status,
        here.requested,
        here.in_place,
        here.started,
        task.attempt,
        task.max_attempts,
        task.stray,
        here.carrier,
        here.verdict,
        task.abort_left,
        task.killed,
        task.pausable,
        task.killable,
        task.dependencies_open,
        task.lease_over,
    )


def is_task(task: Task) -> bool:
    """The precondition of every verb: the facts can be a task at all (D3, D4, D5, D14).

    This is `coherent`, in one expression on which a solver splits once; that the two agree is proved in
    `contracts_decide`. Among bools, `a <= b` is "a implies b".
    """
    here = situation_at(task.place)
    return bool(
        (task.attempt >= int(here.started))
        & (task.attempt <= task.max_attempts)
        & (task.max_attempts >= 1)
        & (task.abort_left <= (here.status is TaskStatus.PAUSING))
        & (task.killed <= task.killable)
    )


def answered(task: Task, ask: Ask) -> Answer:
    """What the published tables say."""
    return SPEC.decide(facts_of(task), ask)


def went(result: Answer, *path: TaskStatus) -> bool:
    """Whether the records lead just there."""
    return isinstance(result, Decision) and result.path == path


def stays(result: Answer) -> bool:
    """Whether nothing is recorded and nothing refused."""
    return isinstance(result, Decision) and not result.path


def is_so(result: Answer) -> bool:
    """Whether it was so before it was asked: no record and no change (D13)."""
    return isinstance(result, Decision) and not result.path and (result.rule is None or not result.rule.effects)


def refused(result: Answer, guard: str | None = None) -> bool:
    """Whether just this guard refuses it; None: the tables have no such rule."""
    return isinstance(result, Refusal) and (result.guard.name if result.guard is not None else None) == guard


def kept(facts: Facts, ask: Ask, result: Answer) -> bool:
    """What must come true of every answer: a task again, by no way that some guard forbids (D39)."""
    if isinstance(result, Refusal) or result.rule is None:
        return True
    return coherent(advance(facts, ask, result)) and sound(facts, ask, result)


def asking(verb: str, columns: tuple[str, ...], by: Callable[[Facts, Ask], Answer]) -> Callable[..., Answer]:
    """A function of a task and of those columns of the request, answered by `by`."""

    def ask(task: Task, *values: object) -> Answer:
        wanted: dict[str, Any] = dict(zip(columns, values, strict=True))
        return by(facts_of(task), Ask(verb, **wanted))

    return ask
