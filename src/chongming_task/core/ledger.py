"""What of a task is durable and what is not yet, and who waits for that (D13, D23, D31).

Records are sent in version order and acknowledged in version order. What others may see, and the answers to verbs,
are held back until the record they speak of is durable.
"""

from __future__ import annotations

from collections import deque

from chongming_task.core import actions as act
from chongming_task.core.state_machine import StateMachine


class Ledger:
    """The outgoing records of one machine. `ahead` is the version that must be durable before anything else happens."""

    def __init__(self, machine: StateMachine) -> None:
        self._machine = machine
        self._sent = 0
        self._durable = 0
        self._unsaved: deque[act.Save] = deque()
        self._unanswered: deque[tuple[int, act.Resolve]] = deque()
        self.ahead: int | None = None

    def save(self, *, ahead: bool) -> act.Save:
        """The save of all records that were not sent yet."""
        machine = self._machine
        save = act.Save(machine.snapshot, machine.transitions_since(self._sent), ahead)
        self._sent = machine.version
        self._unsaved.append(save)
        if ahead:
            self.ahead = machine.version
        return save

    def saved(self, version: int) -> list[act.Action]:
        """`version` is durable: what may be published and who may be answered now."""
        self._durable = version
        due: list[act.Action] = []
        while self._unsaved and self._unsaved[0].snapshot.status_version <= version:
            save = self._unsaved.popleft()
            due.append(act.Publish(save.snapshot, save.transitions))
        while self._unanswered and self._unanswered[0][0] <= version:
            due.append(self._unanswered.popleft()[1])
        if self.ahead is not None and self.ahead <= version:
            self.ahead = None
        return due

    def answer(self, resolve: act.Resolve) -> list[act.Action]:
        """The answer, if the present version is durable; else it waits for that."""
        if self._machine.version <= self._durable:
            return [resolve]
        self._unanswered.append((self._machine.version, resolve))
        return []
