"""The only writer of a task's status.

A machine keeps its row mutable and private, asks the spec at every verb, and builds the frozen snapshot when somebody
reads it. A refused verb raises and changes nothing. A machine is not thread-safe: whoever shares one serialises the
calls, as `TaskRun` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, cast

from chongming_spec.checked import decide
from chongming_spec.contracts import ENABLED
from chongming_spec.decide import SPEC, Decision, Refusal
from chongming_spec.errors import ConfigurationError, InternalError
from chongming_spec.facts import Ask, CarrierView, Facts
from chongming_spec.failures import FAILURE_REQUIRED
from chongming_spec.snapshot import AttemptRecord, TaskSnapshot, Transition
from chongming_spec.states import TERMINAL, TaskStatus, occupies
from chongming_spec.step import Plan, apply_plan, filled, kind_of, seen_carrier, snapshot_of, trigger_of
from chongming_spec.texts import check_id, check_text
from chongming_task.clock import utcnow
from chongming_task.core._cells import CELLS, PLAIN_ASKS, SAYS, plan_for
from chongming_task.core._generated_verbs import GeneratedVerbs
from chongming_task.core._row import BLANK_ROW, WATCHABLE, Row, RowFacts, frozen
from chongming_task.core.asking import ASKED, ask_of, reachable, refusal_error
from chongming_task.core.names import near, status_named
from chongming_task.core.permission import Permission

_NOTHING: Mapping[str, Any] = {}
_OWN_COLUMNS = frozenset(
    {"priority", "bucket", "bucket_key", "pipeline_run_id", "task", "epoch", "declared_attempts", "executor"}
)


class StateMachine(GeneratedVerbs):
    """One task's life. Every verb of the spec is a method; `apply(verb, **request)` is the generic entry (D43)."""

    __slots__ = ("_attempts", "_facts", "_now", "_owner", "_records", "_row", "_snapshot")

    def __init__(self, row: Row, owner: str, now: Callable[[], datetime]) -> None:
        self._row = row
        self._facts = cast(Facts, RowFacts(row))
        self._owner = owner
        self._now = now
        self._records: list[Any] = []
        self._attempts: list[list[Any]] = []
        self._snapshot: TaskSnapshot | None = None

    @classmethod
    def create(
        cls,
        task_id: str,
        name: str,
        *,
        max_attempts: int = 1,
        tags: Iterable[str] = (),
        owner: str = "local",
        actor: str | None = None,
        reason: str | None = None,
        now: Callable[[], datetime] = utcnow,
        **columns: Any,
    ) -> StateMachine:
        """A new task in `pending`, version 1. `columns` are further columns of the snapshot, such as `priority`.

        `now` returns aware times. Raises ConfigurationError for an unusable argument.
        """
        if type(max_attempts) is not int or max_attempts < 1:
            raise ConfigurationError(f"max_attempts must be an int of at least 1, not {max_attempts!r}")
        at = now()
        if at.tzinfo is None:
            raise ConfigurationError("now must return aware datetimes; use datetime.now(timezone.utc)")
        if columns and (unknown := columns.keys() - _OWN_COLUMNS):
            raise ConfigurationError(
                f"create takes no {', '.join(sorted(unknown))}; use {', '.join(sorted(_OWN_COLUMNS))}"
            )
        row = BLANK_ROW.copy()
        row["task_id"] = check_id("task_id", task_id)
        row["name"] = row["task"] = check_text("name", name)
        row["created_at"] = row["updated_at"] = at
        row["max_attempts"] = row["declared_attempts"] = max_attempts
        row["owner"] = check_id("owner", owner)
        if tags != ():
            row["tags"] = _tags(tags)
        if columns:
            row.update(columns)
        machine = cls(row, owner, now)
        by = actor or owner
        machine._records.append(
            (task_id, 1, None, row["status"], "user:create", by, reason, at, 0, max_attempts, row["epoch"], 1)
        )
        return machine

    # Reading

    @property
    def snapshot(self) -> TaskSnapshot:
        """The present version, frozen; the same object until something changes."""
        if self._snapshot is None:
            self._snapshot = snapshot_of(self._row)
        return self._snapshot

    @property
    def status(self) -> TaskStatus:
        """Where the task is now."""
        status: TaskStatus = self._row["status"]
        return status

    @property
    def version(self) -> int:
        """How many transitions there were; the creation is 1."""
        version: int = self._row["status_version"]
        return version

    @property
    def facts(self) -> Facts:
        """The task as a decision sees it, now and for good."""
        return frozen(self._facts)

    @property
    def view(self) -> Facts:
        """The same, but it changes with the task; cheap, for a question that is asked at once."""
        return self._facts

    @property
    def transitions(self) -> tuple[Transition, ...]:
        """The whole history, oldest first."""
        return self.transitions_since(0)

    def transitions_since(self, version: int) -> tuple[Transition, ...]:
        """The history after `version`."""
        records = self._records
        for index in range(version, len(records)):
            if type(records[index]) is tuple:
                records[index] = Transition(*records[index])
        return tuple(records[version:])

    @property
    def attempt_count(self) -> int:
        """How many attempts were started, in all generations."""
        return len(self._attempts)

    @property
    def attempts(self) -> tuple[AttemptRecord, ...]:
        """One record per attempt started, oldest first (D5)."""
        return tuple(AttemptRecord(self._row["task_id"], *columns) for columns in self._attempts)

    def can(self, target: TaskStatus | str) -> Permission:
        """Whether an edge leads from here to the state `target` and its guard holds; unknown names are refused."""
        wanted = status_named(target)
        edge = SPEC.edge_of[self.status].get(wanted)
        if edge is None:
            return Permission(False, f"no edge leads from {self.status} to {wanted}; {reachable(self.status)}")
        if edge.guard is not None and not edge.guard.holds(self.facts, Ask("")):
            return Permission(False, f"{edge.guard.name}: {edge.guard.sentence}")
        return Permission(True)

    def _permission(self, verb: str) -> Permission:
        """Whether `verb` would be taken now, with an actor and a reason given."""
        answer = SPEC.decide(self.facts, Ask(verb, has_actor=True, has_reason=True))
        if isinstance(answer, Refusal):
            return Permission(False, str(refusal_error(answer, self._row["task_id"])))
        if not answer.changed and answer.rule is None:
            return Permission(False, f"it is {self.status} already")
        return Permission(True)

    # Writing

    def watch(self, **known: Any) -> None:
        """Tell the machine what its supervisor knows: fields of `chongming_spec.step.Watch`."""
        unknown = known.keys() - WATCHABLE
        if unknown:
            raise InternalError(f"nothing like {', '.join(sorted(unknown))} is watched")
        self._row.update(known)

    def timed_by(self, now: Callable[[], datetime]) -> None:
        """Take the time from somewhere else."""
        self._now = now

    def peek(self, column: str) -> Any:
        """One column of the present snapshot, without building it."""
        return self._row[column]

    def touch(self, **columns: Any) -> None:
        """Change columns that are no part of the life cycle, such as progress: no record, no version (D24)."""
        self._row.update(columns)
        self._snapshot = None

    def apply(self, verb: str, **request: Any) -> bool:
        """Use any verb by name, with its parameters; True if it changed the task, False if it was already so.

        Raises ConfigurationError for an unknown verb or parameter, and whatever the verb's guards raise.
        """
        row = SPEC.verb_of.get(verb)
        if row is None:
            raise ConfigurationError(f"unknown verb {verb!r}; {near(str(verb), SPEC.verb_of)}")
        known = {param.name for param in row.params}
        for name in request:
            if name not in known:
                raise ConfigurationError(f"{verb} takes no {name!r}; it takes {', '.join(sorted(known)) or 'nothing'}")
        return self._take(verb, request.pop("actor", None), request.pop("reason", None), request or None)

    def _take(self, verb: str, actor: str | None, reason: str | None, values: dict[str, Any] | None) -> bool:
        return self.step(verb, actor, reason, values).path != ()

    def step(
        self,
        verb: str,
        actor: str | None = None,
        reason: str | None = None,
        values: Mapping[str, Any] | None = None,
        trigger: str | None = None,
    ) -> Decision:
        """Take one verb: ask, change, record. `values` holds its other parameters and the columns to copy.

        A prepared answer is taken where there is one; a call that testifies of the carrier is heard with it.
        Raises InvalidTransition or one of its kinds, with nothing changed.
        """
        if actor is not None:
            check_text("actor", actor)
        if reason is not None:
            check_text("reason", reason)
        ask = PLAIN_ASKS.get(verb)
        is_plain = ask is not None and (values is None or ASKED.isdisjoint(values))
        given = _NOTHING if values is None else values
        if ask is None or not is_plain:
            ask = ask_of(verb, actor, reason, given)
        row = self._row
        carrier = row["carrier"]
        answer = None
        cell = CELLS[verb].get(row["status"])
        if cell is not None:
            if cell.says is not None:
                row["carrier"] = cell.says
            for guard in cell.guards:
                if not guard.holds(self._facts, ask):
                    break
            else:
                answer = cell.answer
        decision, plan = answer or self._asked(ask, carrier)
        if ENABLED:
            self._second_opinion(ask, decision)
        if trigger is None:
            trigger = plan.trigger if is_plain else trigger_of(decision, ask)
        if reason is None:
            reason = decision.verb.reason
        self._change(decision, plan, ask, given, trigger, actor or self._owner, reason)
        return decision

    def _asked(self, ask: Ask, carrier: CarrierView) -> tuple[Decision, Plan]:
        """The answer of the tables. Only if a call is heard, what it says of the carrier is how the carrier is."""
        row = self._row
        row["carrier"] = SAYS.get(ask.verb, _NOTHING).get(row["status"], carrier)
        answer = SPEC.decide(self.facts, ask)
        if isinstance(answer, Refusal):
            row["carrier"] = carrier
            raise refusal_error(answer, row["task_id"])
        if answer.rule is None:
            row["carrier"] = carrier
        return answer, plan_for(answer)

    def _second_opinion(self, ask: Ask, decision: Decision) -> None:
        """D39: where contracts are on, the contracted decision must be the same."""
        if decide(self.facts, ask) != decision:
            raise InternalError(f"the plan and the decision differ for {ask.verb} in {decision.source}")

    def _change(
        self,
        decision: Decision,
        plan: Plan,
        ask: Ask,
        given: Mapping[str, Any],
        trigger: str,
        actor: str,
        reason: str | None,
    ) -> None:
        """Apply a decision; its record is kept as a plain tuple and becomes a `Transition` when somebody reads it."""
        row = self._row
        in_place, requested = row["paused_in_place"], row["requested_action"]
        carrier = row["carrier"] if ask.ending is None else seen_carrier(self._facts, ask)
        kind = None
        if plan.fails or plan.holds:
            kind = kind_of(self._facts, ask, decision) if plan.fails else None
            given = filled(plan, given, kind, actor, reason)
        now = self._now()
        if now < row["updated_at"]:
            now = row["updated_at"]
        apply_plan(plan, row, ask, given, now)
        self._snapshot = None
        _, source, _, path = decision
        if not path:
            return
        target = path[-1]
        record = (
            row["task_id"],
            row["status_version"] + len(path),
            source if len(path) == 1 else path[0],
            target,
            trigger,
            actor,
            reason,
            now,
            row["attempt"],
            row["max_attempts"],
            row["epoch"],
            row["generation"],
            in_place,
            requested,
            kind,
            carrier,
        )
        if len(path) > 1:
            self._records.append(_first_hop(decision, record))
        self._records.append(record)
        row["status"] = target
        row["status_version"] = record[1]
        row["updated_at"] = now
        if plan.opens:
            self._attempts.append([row["attempt"], row["generation"], row["epoch"], now, None, None, None, None])
        elif plan.closes and occupies(source, in_place) and not occupies(target, row["paused_in_place"]):
            self._attempts[-1][4:7] = now, plan.closes, row["failure"]
        if (target in TERMINAL) is (row["ended_at"] is None) or (target in FAILURE_REQUIRED and row["failure"] is None):
            raise InternalError(f"{row['task_id']} would be {target} without its end or its failure")

    def note_late_result(self, attempt: int, note: str) -> None:
        """Keep what a carrier reported after its attempt was closed; `attempt` counts the records from 0 (D5, D11)."""
        self._attempts[attempt][7] = note


def _first_hop(decision: Decision, last: tuple[Any, ...]) -> tuple[Any, ...]:
    """The record before the `last` one, of a decision that goes through two states."""
    rule = decision.rule
    trigger, reason = (None, None) if rule is None else (rule.via_trigger, rule.via_reason)
    by = (trigger or last[4], last[5], reason)
    return (last[0], last[1] - 1, decision.source, decision.path[0], *by, *last[7:14], None, last[15])


def _tags(tags: Iterable[str]) -> frozenset[str]:
    if isinstance(tags, str):
        raise ConfigurationError(f"tags must be a collection of str, not one str; use {{{tags!r}}}")
    return frozenset(check_text("every tag", tag) for tag in tags)
