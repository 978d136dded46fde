"""What a verb can come to in a state, found by asking the spec about every case.

Nothing is read off the rows: for each verb and state all coherent tasks and requests (`chongming_spec.cells`) are put
to `decide`, and the answers are collected. So a page shows what the program will do, and a guard that can never be the
one to refuse is not shown as if it could.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

import attrs

from chongming_spec.algebra import Caller
from chongming_spec.cells import Block, survey
from chongming_spec.decide import Lifecycle, Refusal
from chongming_spec.endings import VERDICT_KINDS
from chongming_spec.facts import Ask, Deadline
from chongming_spec.states import TaskStatus
from chongming_spec.step import as_testified


@attrs.frozen
class Cell:
    """All that a verb can come to in one state.

    `targets`: where it may lead, in the order of the states; `as_asked`: the caller names the target; `stays`: it
    can be accepted without a change of status; `already`: it is so before it is asked (D13); `refused`: the names
    of the guards that can refuse it, in the order in which they are met (an empty name: the move is no edge).
    """

    targets: tuple[TaskStatus, ...] = ()
    as_asked: bool = False
    stays: bool = False
    already: bool = False
    refused: tuple[str, ...] = ()

    @property
    def unknown(self) -> bool:
        """Whether the verb means nothing in this state and is always refused."""
        return self == Cell()

    @property
    def changes(self) -> bool:
        """Whether the verb can lead to a record here."""
        return bool(self.targets)


@cache
def cells(spec: Lifecycle) -> Mapping[str, Mapping[TaskStatus, Cell]]:
    """The whole matrix: by verb, then by state in the order of the states."""
    found: dict[str, dict[TaskStatus, Cell]] = {verb.name: {} for verb in spec.verbs}
    for block in survey(spec).blocks:
        found[block.verb.name][block.status] = _cell(spec, block)
    return found


def _cell(spec: Lifecycle, block: Block) -> Cell:
    if block.is_already:
        return Cell(already=True)
    if not block.rules:
        return Cell()
    targets: set[TaskStatus] = set()
    stays = False
    refused: set[str] = set()
    for facts, ask in block.inputs():
        ask = _with_its_kind(ask)
        answer = spec.decide(as_testified(facts, ask, spec), ask)
        if isinstance(answer, Refusal):
            refused.add("" if answer.guard is None else answer.guard.name)
        elif answer.changed:
            targets.add(answer.target)
        else:
            stays = True
    names = dict.fromkeys((*(guard.name for guard in block.guards()), ""))
    return Cell(
        targets=tuple(target for target in TaskStatus if target in targets),
        as_asked=any(rule.asked_target for rule in block.rules),
        stays=stays,
        refused=tuple(name for name in names if name in refused),
    )


def _with_its_kind(ask: Ask) -> Ask:
    """A deadline that passed brings its own kind of failure and no other (D14)."""
    return ask if ask.deadline is Deadline.NONE else ask._replace(kind=VERDICT_KINDS[ask.deadline])


def changed_by(spec: Lifecycle, callers: Iterable[Caller], status: TaskStatus) -> list[str]:
    """The verbs of these callers that can change something in `status`, in the order of the table."""
    wanted = frozenset(callers)
    found = cells(spec)
    return [verb.name for verb in spec.verbs if verb.caller in wanted and found[verb.name][status].changes]
