"""Which columns a guard really reads: its predicate is called with stand-ins that take note.

Status and verb are always known and count as no column. The values vary over what the guard declares, so that a
column read only in some case is seen; one that is read without being declared is seen at its usual value.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any, cast

from chongming_spec.facts import Ask, CarrierView, Deadline, EndingKind, Facts, Requested
from chongming_spec.failures import FailureKind
from chongming_spec.guards import Guard
from chongming_spec.states import TaskStatus

_KNOWN = frozenset({"status", "verb"})
_DOMAINS: dict[str, tuple[Any, ...]] = {
    "requested": tuple(Requested),
    "carrier": tuple(CarrierView),
    "verdict": tuple(Deadline),
    "attempt": (0, 1, 2),
    "max_attempts": (1, 2),
    "kind": (None, *FailureKind),
    "target": (None, *TaskStatus),
    "ending": tuple(EndingKind),
    "deadline": tuple(Deadline),
}
_PROBED_VERB = "mark_failed"


class _Noting:
    """Stands in for facts or an ask and notes which attributes are read."""

    def __init__(self, inner: Facts | Ask, noted: set[str]) -> None:
        self._inner = inner
        self._noted = noted

    def __getattr__(self, name: str) -> Any:
        self._noted.add(name)
        return getattr(self._inner, name)


@cache
def columns_read(guard: Guard) -> frozenset[str]:
    """The columns of facts and ask that the predicate of `guard` looks at."""
    noted: set[str] = set()
    for row in product(*(_DOMAINS.get(name, (False, True)) for name in guard.reads)):
        values = dict(zip(guard.reads, row, strict=True))
        facts = Facts(TaskStatus.RUNNING, **{k: v for k, v in values.items() if k in Facts._fields})
        ask = Ask(_PROBED_VERB, **{k: v for k, v in values.items() if k in Ask._fields})
        guard.holds(cast(Facts, _Noting(facts, noted)), cast(Ask, _Noting(ask, noted)))
    return frozenset(noted) - _KNOWN
