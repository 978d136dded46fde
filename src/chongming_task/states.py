"""The states of a task and the edges between them; part of the specification, offered under their usual names."""

from chongming_spec.states import REVIVABLE, TERMINAL, TaskStatus, is_terminal, occupies
from chongming_spec.transitions import TRANSITIONS

__all__ = ["REVIVABLE", "TERMINAL", "TRANSITIONS", "TaskStatus", "is_terminal", "occupies"]
