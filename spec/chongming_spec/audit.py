"""An audit: every invariant that can be checked on stored rows, on any database or history, with nothing running.

Each invariant is a row: its number, its sentence, the tables it needs, and its check. The check names the places where
it does not hold, first the first. An audit asks the same laws a store asks before it writes (`records`), so a clean
store is one that could have been written by the rules alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import attrs

from chongming_spec import audit_history as h
from chongming_spec import audit_rows as r
from chongming_spec import audit_tables as t
from chongming_spec.audit_view import FILE, AuditRows, Check, Damage, Flaw, View, each_history, each_row

__all__ = ["INVARIANTS", "AuditRows", "Damage", "Finding", "Invariant", "audit", "checked"]


class Finding(NamedTuple):
    """One broken invariant and where: the task ("" where it is no task's), a record's version, and what is wrong."""

    invariant: int
    task_id: str
    version: int | None
    message: str

    def __str__(self) -> str:
        where = f", task {self.task_id!r}" if self.task_id else ""
        version = "" if self.version is None else f", version {self.version}"
        return f"invariant {self.invariant}{where}{version}: {self.message}"


@attrs.frozen
class Invariant:
    """One row. `needs` are the tables without which it cannot be judged."""

    id: int
    sentence: str
    check: Check
    needs: tuple[str, ...]


def _sound(view: View) -> Iterator[Flaw]:
    return (Flaw("", None, one.problem) for one in view.rows.damage if one.table == FILE)


def _readable(view: View) -> Iterator[Flaw]:
    for one in view.rows.damage:
        if one.table != FILE:
            yield Flaw(one.task_id, None, f"{one.table}: {one.problem}")


_ROW, _HISTORY, _BOTH = ("tasks",), ("records",), ("tasks", "records")

INVARIANTS: tuple[Invariant, ...] = (
    Invariant(0, "The file is sound, and its tables and triggers are those of the schema.", _sound, ()),
    Invariant(2, "`ended_at` is set exactly in terminal states.", each_row(r.ended), _ROW),
    Invariant(3, "Times are in UTC, and created ≤ queued ≤ started ≤ ended ≤ updated.", each_row(r.times), _ROW),
    Invariant(4, "Whatever holds a carrier has started an attempt.", each_row(r.occupied), _ROW),
    Invariant(5, "Whatever waits or is held back has no start time.", each_row(r.unoccupied), _ROW),
    Invariant(6, "0 ≤ attempt ≤ max_attempts, which is at least 1 and as recorded.", h.within_budget, _ROW),
    Invariant(7, "`requested_action` is pause in pausing, stop or cancel in stopping.", each_row(r.requested), _ROW),
    Invariant(8, "Only a paused task is paused in place.", each_row(r.in_place), _ROW),
    Invariant(9, "The failure can stand in the state; failed and lost have one.", each_row(r.failure), _ROW),
    Invariant(10, "`retryable` is what the kind of the failure says.", r.retryable, _ROW),
    Invariant(11, "Only a task that succeeded has an outcome, and it is JSON.", each_row(r.outcome), _ROW),
    Invariant(12, "Whatever holds a carrier names its owner; what is over has no lease.", each_row(r.owned), _ROW),
    Invariant(13, "The bucket is that of the key.", r.bucketed, _ROW),
    Invariant(14, "No heartbeat is older than its attempt.", each_row(r.heartbeat), _ROW),
    Invariant(15, "`overridden` iff this generation was forced.", each_history(h.overridden), _BOTH),
    Invariant(16, "Every row can be read, and would be written again as it stands.", _readable, ()),
    Invariant(17, "The versions of a history are 1 to that of the row.", h.complete, _HISTORY),
    Invariant(18, "Each record comes from where the last led; the row is at the newest.", h.by_the_laws(18), _HISTORY),
    Invariant(19, "Each record is an edge whose guard held, or a move out of band.", h.by_the_laws(19), _HISTORY),
    Invariant(21, "Records stand in the store in the order of their versions.", each_history(h.placed), _HISTORY),
    Invariant(22, "Time does not run back in a history.", h.by_the_laws(22), _HISTORY),
    Invariant(23, "`attempt` counts the starts of a generation; only a reset begins one.", h.by_the_laws(23), _HISTORY),
    Invariant(24, "Every start opens one attempt, closed once, by its end.", h.attempts, (*_BOTH, "attempts")),
    Invariant(25, "Only a move out of band leads on from an end.", each_history(h.final), _HISTORY),
    Invariant(26, "The epoch rises at each move out of band and stays otherwise.", h.sequence, _HISTORY),
    Invariant(27, "Every record is signed; overrides and expired leases give a reason.", h.by_the_laws(27), _HISTORY),
    Invariant(28, "No record and no command's effect is there twice.", h.unique, _HISTORY),
    Invariant(29, "The counters are the numbers of rows.", t.counted, ("tasks", "counters")),
    Invariant(30, "A command is new, held by a claim, or done with an outcome.", t.lived, ("commands",)),
    Invariant(31, "An effect is of the task and epoch its command was meant for.", t.aimed, ("records", "commands")),
    Invariant(32, "Effects stand in the order of their commands.", t.in_order, ("records", "commands")),
    Invariant(34, "Of a pruned task nothing is left.", t.buried, ("tombstones",)),
    Invariant(35, "A lease that is over ends what it should, and is declared by another.", t.expired, _HISTORY),
    Invariant(36, "Within an epoch one owner writes.", t.written, _HISTORY),
    Invariant(38, "No lease runs further ahead than any could be asked for.", t.bounded, ("owners",)),
)  # fmt: skip


def checked(rows: AuditRows) -> list[Invariant]:
    """The invariants that can be judged on these rows."""
    view = View(rows)
    return [one for one in INVARIANTS if all(view.has(table) for table in one.needs)]


def audit(rows: AuditRows) -> list[Finding]:
    """Every place where an invariant does not hold, in the order of the invariants; empty if all do."""
    view = View(rows)
    return [
        Finding(one.id, *flaw)
        for one in INVARIANTS
        if all(view.has(table) for table in one.needs)
        for flaw in one.check(view)
    ]
