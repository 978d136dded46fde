"""The life of one task as a space of states: every verb a person may use, and everything the world may do meanwhile.

The state is the task's `Facts`. What happens is what a supervisor can meet: it launches what is pending, the carrier
confirms, parks and ends in every way its kind can, deadlines pass while they run, windows close while somebody is
awaited. Machine verbs appear where the supervisor uses them, and `mark_lost` where a reconciler does, whose owner is
gone. The configurations are the three kinds of carrier, alone and as a node that waits for upstream tasks, with
budgets of one and two attempts.

The counts are pinned in `manifest.json`: a change of the tables that changes the space is seen, and must be meant.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from chongming_spec.decide import SPEC, Decision, Lifecycle, Refusal, advance
from chongming_spec.endings import OF_BODY, VERDICT_KINDS
from chongming_spec.executors import EXECUTOR_OF, EXECUTORS
from chongming_spec.facts import Ask, CarrierView, Deadline, EndingKind, Facts, coherent
from chongming_spec.predicates import launch_pending
from chongming_spec.states import TERMINAL, TaskStatus, is_terminal, occupies
from chongming_spec.step import as_testified
from chongming_spec.timeouts import TIMEOUTS, runs
from models.search import Space, Step, search

MANIFEST = Path(__file__).with_name("manifest.json")
MOST_ATTEMPTS = 3
_NONE, _LAUNCHING, _LIVE, _PARKED, _ABANDONED = CarrierView
_E = EndingKind


class Configuration(NamedTuple):
    """One space to search: the kind of carrier, whether the task is a node, and its budget."""

    carrier: str
    is_node: bool
    max_attempts: int

    @property
    def name(self) -> str:
        """As it stands in the manifest."""
        return f"{self.carrier} {'node' if self.is_node else 'lone'} {self.max_attempts}"


CONFIGURATIONS: tuple[Configuration, ...] = tuple(
    Configuration(row.name, is_node, attempts) for row in EXECUTORS for is_node in (False, True) for attempts in (1, 2)
)


def beginning(configuration: Configuration) -> Facts:
    """A new task."""
    row = EXECUTOR_OF[configuration.carrier]
    return Facts(
        TaskStatus.PENDING,
        max_attempts=configuration.max_attempts,
        pausable=row.pausable,
        killable=row.killable,
        dependencies_open=configuration.is_node,
    )


# What can happen


def person_asks() -> Iterator[Ask]:
    """Everything a person may ask, with an actor and a reason."""
    for verb in ("start", "stop", "cancel", "pause", "resume", "skip"):
        yield Ask(verb, has_actor=True, has_reason=True)
    for force in (False, True):
        for alongside in (False, True):
            yield Ask("retry", force=force, alongside=alongside)
    for alongside in (False, True):
        yield Ask("reset", has_actor=True, has_reason=True, alongside=alongside)
    for target in TERMINAL:
        yield Ask("force_transition", has_actor=True, has_reason=True, target=target)


def world_asks(facts: Facts) -> Iterator[Ask]:
    """Everything the world may report in this state, by what the carrier is."""
    yield Ask("mark_starting")
    yield Ask("mark_queued")
    yield Ask("abort_pause")
    yield Ask("mark_lost")
    if facts.carrier is _LAUNCHING:
        yield Ask("mark_running")
    if facts.carrier is _LIVE:
        yield Ask("mark_paused")
    for ending in endings(facts):
        for retries in (False, True):
            yield Ask("finish", ending=ending, retries=retries)
    for row in TIMEOUTS:
        if runs(row, facts):
            yield Ask("expire", deadline=row.deadline, kind=VERDICT_KINDS[row.deadline])
    awaited = facts.requested.ends or facts.verdict is not Deadline.NONE or is_terminal(facts.status)
    if awaited and facts.carrier is not _NONE:
        yield Ask("close_window")


def endings(facts: Facts) -> Iterator[EndingKind]:
    """The ways in which what carries the task can end now."""
    told_to_end = facts.requested.ends or facts.verdict is not Deadline.NONE
    if facts.carrier is _NONE:
        if told_to_end:
            yield _E.WITHDRAWN
        return
    if facts.carrier is _LAUNCHING:
        yield _E.LAUNCH_FAILED
        if told_to_end:
            yield _E.WITHDRAWN
    else:
        yield from sorted(OF_BODY)
    if facts.killable:
        yield _E.DIED
    if facts.killed:
        yield _E.KILLED


def steps(facts: Facts, spec: Lifecycle = SPEC) -> Iterator[Step[Facts]]:
    """All that can happen next."""
    if launch_pending(facts):
        yield Step("launch", facts._replace(carrier=_LAUNCHING))
    if facts.stray and facts.carrier is not _ABANDONED:
        yield Step("the stray exits", facts._replace(stray=False))
    if facts.dependencies_open:
        yield Step("upstream is done", facts._replace(dependencies_open=False))
    for ask in (*person_asks(), *world_asks(facts)):
        heard = as_testified(facts, ask, spec)
        answer = spec.decide(heard, ask)
        if isinstance(answer, Decision) and answer.rule is not None:
            target = advance(heard, ask, answer)
            if target != facts and target.max_attempts <= MOST_ATTEMPTS:
                yield Step(told(ask), target)


def told(ask: Ask) -> str:
    """An ask in a few words."""
    extras = [str(extra) for extra in (ask.target, ask.ending) if extra is not None]
    extras += [ask.deadline] if ask.deadline is not Deadline.NONE else []
    extras += [name for name in ("force", "alongside", "retries") if getattr(ask, name)]
    return " ".join((ask.verb, *extras))


# What must hold


def can_be_ended(facts: Facts, spec: Lifecycle = SPEC) -> bool:
    """Whoever is not over can be stopped, cancelled or overridden by a person (P-070)."""
    if is_terminal(facts.status):
        return True
    asks = (
        Ask("stop"),
        Ask("cancel"),
        Ask("force_transition", has_actor=True, has_reason=True, target=TaskStatus.FAILED),
    )
    return all(not isinstance(spec.decide(facts, ask), Refusal) for ask in asks)


def carrier_is_accounted_for(facts: Facts) -> bool:
    """Who occupies has a carrier, awaits its launch, or is about to withdraw it; who does not has none of its own."""
    if occupies(facts.status, facts.in_place):
        withdrawn = facts.requested.ends or facts.verdict is not Deadline.NONE
        return facts.carrier is not _NONE or launch_pending(facts) or withdrawn
    return facts.carrier in (_NONE, _ABANDONED)


OF_STATE: Mapping[str, Callable[[Facts], bool]] = {
    "the facts are coherent": coherent,
    "the carrier is accounted for": carrier_is_accounted_for,
    "running means confirmed": lambda facts: facts.status is not TaskStatus.RUNNING or facts.carrier is _LIVE,
    "an abandoned carrier is remembered": lambda facts: facts.carrier is not _ABANDONED or facts.stray,
}


def _by_person(step: Step[Facts]) -> bool:
    return step.name.startswith("force_transition")


def _lost_only_if_unkillable(facts: Facts, step: Step[Facts]) -> bool:
    becomes = step.target.status is TaskStatus.LOST and facts.status is not TaskStatus.LOST
    settled_by_others = _by_person(step) or step.name == "mark_lost"
    return not becomes or settled_by_others or not facts.killable or facts.killed


def _stopping_never_retries(facts: Facts, step: Step[Facts]) -> bool:
    return facts.status is not TaskStatus.STOPPING or step.target.status is not TaskStatus.RETRY_WAIT


def _verdict_never_succeeds(facts: Facts, step: Step[Facts]) -> bool:
    succeeds = step.target.status is TaskStatus.SUCCEEDED and facts.status is not TaskStatus.SUCCEEDED
    return not succeeds or facts.verdict is Deadline.NONE or _by_person(step)


_REVIVING = frozenset({"retry", "reset", "skip", "force_transition"})


def _ended_stays_ended(facts: Facts, step: Step[Facts]) -> bool:
    person = step.name.partition(" ")[0] in _REVIVING
    return not is_terminal(facts.status) or step.target.status is facts.status or person


def _attempts_count_starts(facts: Facts, step: Step[Facts]) -> bool:
    starts = step.target.status is TaskStatus.STARTING and facts.status is not TaskStatus.STARTING
    return step.target.attempt == facts.attempt + starts or step.name.startswith("reset")


OF_STEP: Mapping[str, Callable[[Facts, Step[Facts]], bool]] = {
    "lost only where nothing could end it": _lost_only_if_unkillable,
    "stopping never retries": _stopping_never_retries,
    "a verdict never succeeds": _verdict_never_succeeds,
    "only a person revives": _ended_stays_ended,
    "attempt counts starts": _attempts_count_starts,
}


def explore(configuration: Configuration, spec: Lifecycle = SPEC) -> Space:
    """The whole space of one configuration."""
    return search(
        [beginning(configuration)],
        lambda facts: steps(facts, spec),
        {**OF_STATE, "a task that is not over can be ended": lambda facts: can_be_ended(facts, spec)},
        OF_STEP,
        lambda facts: is_terminal(facts.status),
    )


def pinned() -> dict[str, dict[str, int]]:
    """The counts of the manifest."""
    counts: dict[str, dict[str, int]] = json.loads(MANIFEST.read_text(encoding="utf-8"))
    return counts


def counts(space: Space) -> dict[str, int]:
    """What is pinned of a space."""
    return {"states": space.states, "steps": space.steps, "depth": space.depth}
