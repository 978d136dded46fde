"""Breadth-first search of everything that can happen, and what must hold on the way.

A model says where it begins, what can happen next, and which statements must hold of each state and each step. The
search visits every reachable state once, shortest way first, so the first broken statement comes with a shortest
trace.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Generic, NamedTuple, TypeVar

S = TypeVar("S", bound=Hashable)


class Step(NamedTuple, Generic[S]):
    """One thing that can happen: its name, and the state it leads to."""

    name: str
    target: S


class Counterexample(NamedTuple):
    """A broken statement and a shortest way to it."""

    statement: str
    trace: tuple[str, ...]


class Space(NamedTuple):
    """What was searched: how many states and steps, how deep, and what was found broken."""

    states: int
    steps: int
    depth: int
    broken: tuple[Counterexample, ...]


def search(
    starts: Iterable[S],
    after: Callable[[S], Iterable[Step[S]]],
    of_state: Mapping[str, Callable[[S], bool]],
    of_step: Mapping[str, Callable[[S, Step[S]], bool]],
    goal: Callable[[S], bool],
) -> Space:
    """Search the whole space; each statement is reported once. From every state a `goal` must be reachable."""
    came_from: dict[S, tuple[S, str] | None] = dict.fromkeys(starts)
    depth_of = dict.fromkeys(came_from, 0)
    before: dict[S, list[S]] = {}
    broken: dict[str, Counterexample] = {}
    queue = deque(came_from)
    steps = 0
    while queue:
        state = queue.popleft()
        for name, holds in of_state.items():
            if name not in broken and not holds(state):
                broken[name] = Counterexample(name, _trace(came_from, state))
        for step in after(state):
            steps += 1
            for name, allows in of_step.items():
                if name not in broken and not allows(state, step):
                    broken[name] = Counterexample(name, (*_trace(came_from, state), step.name))
            before.setdefault(step.target, []).append(state)
            if step.target not in came_from:
                came_from[step.target] = (state, step.name)
                depth_of[step.target] = depth_of[state] + 1
                queue.append(step.target)
    stuck = came_from.keys() - _reaching(came_from, before, goal)
    if stuck:
        first = min(stuck, key=lambda state: depth_of[state])
        broken["an end is reachable"] = Counterexample("an end is reachable", _trace(came_from, first))
    return Space(len(came_from), steps, max(depth_of.values()), tuple(broken.values()))


def _reaching(states: Iterable[S], before: Mapping[S, list[S]], goal: Callable[[S], bool]) -> set[S]:
    reaching = {state for state in states if goal(state)}
    queue = deque(reaching)
    while queue:
        for earlier in before.get(queue.popleft(), ()):
            if earlier not in reaching:
                reaching.add(earlier)
                queue.append(earlier)
    return reaching


def _trace(came_from: Mapping[S, tuple[S, str] | None], state: S) -> tuple[str, ...]:
    names: list[str] = []
    step = came_from[state]
    while step is not None:
        state, name = step
        names.append(name)
        step = came_from[state]
    return tuple(reversed(names))
