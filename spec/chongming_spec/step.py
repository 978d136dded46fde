"""One step of a task, in four phases: project, decide, apply the changes, record.

`step` is the meaning of a verb on a frozen snapshot. A state machine that keeps its row mutable uses the same pieces
(`plan_of`, `kind_of`, `record_of`), and the tests hold the two against each other.

The *watch* is what whoever watches the carrier knows and the row does not store: the last block of `Facts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple

import attrs

from chongming_spec.algebra import Rule
from chongming_spec.decide import SPEC, Decision, Lifecycle, Refusal
from chongming_spec.effects import FAIL, OPEN, OVERRIDE, Change, Op
from chongming_spec.endings import ENDING_OF, VERDICT_KINDS, ended_by_body, failure_kind
from chongming_spec.facts import Ask, CarrierState, CarrierView, Deadline, Facts
from chongming_spec.failures import FAILURE_OF, FailureKind
from chongming_spec.snapshot import Details, Failure, TaskSnapshot, Transition
from chongming_spec.states import OCCUPYING, TaskStatus, occupies
from chongming_spec.timeouts import TIMEOUT_OF

FORCED_KINDS: Mapping[TaskStatus, FailureKind] = {
    TaskStatus.FAILED: FailureKind.OVERRIDDEN,
    TaskStatus.LOST: FailureKind.LOST,
}
DISPOSITIONS: Mapping[TaskStatus, str] = {
    TaskStatus.SUCCEEDED: "succeeded",
    TaskStatus.FAILED: "failed",
    TaskStatus.RETRY_WAIT: "failed",
    TaskStatus.PAUSED: "failed",
    TaskStatus.QUEUED: "failed",
    TaskStatus.STOPPED: "stopped",
    TaskStatus.CANCELLED: "cancelled",
    TaskStatus.LOST: "lost",
}
FORCED_DISPOSITION = "orphaned"
_kept = itemgetter(*(field.name for field in attrs.fields(TaskSnapshot)))


class Watch(NamedTuple):
    """What is known beside the row: of the carrier, of the upstream tasks, of the owner's lease."""

    carrier: CarrierView = CarrierView.NONE
    verdict: Deadline = Deadline.NONE
    abort_left: bool = False
    killed: bool = False
    pausable: bool = True
    killable: bool = False
    dependencies_open: bool = False
    lease_over: bool = False


@attrs.frozen
class Plan:
    """The changes of one rule, folded: what is constant, what is stamped, and what must be computed.

    `closes` is the disposition of the attempt whose occupancy the rule may end (None: it cannot end one).
    """

    constant: Mapping[str, Any]
    stamped: tuple[str, ...]
    stamped_if_none: tuple[str, ...]
    given: tuple[str, ...]
    given_or_kept: tuple[str, ...]
    counted: tuple[str, ...]
    computed: tuple[Change, ...]
    fails: bool
    holds: bool
    opens: bool
    closes: str | None
    trigger: str


_COMPUTED = frozenset({Op.RAISE_BUDGET, Op.DECLARED_BUDGET, Op.ADOPTED_BUDGET, Op.NEXT_EPOCH, Op.VERDICT})


@cache
def _folded(effects: tuple[Any, ...]) -> tuple[Change, ...]:
    final: dict[str, Change] = {}
    for effect in effects:
        for change in effect.changes:
            before = final.get(change.column)
            if change.op is Op.NOW_IF_NONE and before is not None:
                cleared = before.op is Op.SET and before.value is None
                change = Change(change.column, Op.NOW) if cleared else before
            final[change.column] = change
    return tuple(final.values())


def plan_of(decision: Decision) -> Plan:
    """Fold the changes of a decision, so that applying them is one update and a few stamps."""
    rule = decision.rule
    changes = _folded(rule.effects if rule is not None else ())
    effects = rule.effects if rule is not None else ()
    return Plan(
        constant={c.column: c.value for c in changes if c.op is Op.SET},
        stamped=tuple(c.column for c in changes if c.op is Op.NOW),
        stamped_if_none=tuple(c.column for c in changes if c.op is Op.NOW_IF_NONE),
        given=tuple(c.column for c in changes if c.op is Op.GIVEN),
        given_or_kept=tuple(c.column for c in changes if c.op is Op.GIVEN_OR_KEPT),
        counted=tuple(c.column for c in changes if c.op is Op.ADD_ONE),
        computed=tuple(c for c in changes if c.op in _COMPUTED),
        fails=FAIL in effects or OVERRIDE in effects,
        holds=any(change.column == "held_by" and change.op is Op.GIVEN for change in changes),
        opens=OPEN in effects,
        closes=disposition_of(rule) if rule is not None and _may_close(rule) else None,
        trigger=decision.verb.trigger if rule is None or rule.trigger is None else rule.trigger,
    )


def disposition_of(rule: Rule) -> str | None:
    """How the attempt that a rule ends is closed (D5); None where no attempt can end."""
    if rule.asked_target:
        return FORCED_DISPOSITION
    first = rule.target if rule.via is None else rule.via
    decisive = first if rule.target is TaskStatus.QUEUED else rule.target
    return None if decisive is None else DISPOSITIONS.get(decisive)


def _may_close(rule: Rule) -> bool:
    """Whether a task that held a carrier may hold none after `rule`; where it is paused, that is for its row to say."""
    held = rule.source in OCCUPYING or rule.source is TaskStatus.PAUSED
    return held and (rule.asked_target or (rule.target is not None and rule.target not in OCCUPYING))


def computed_value(change: Change, row: Mapping[str, Any], ask: Ask, given: Mapping[str, Any]) -> Any:
    """The value of a change that depends on the row or the request."""
    match change.op:
        case Op.RAISE_BUDGET:
            return max(row["max_attempts"], row["attempt"] + 1) if ask.force else row["max_attempts"]
        case Op.DECLARED_BUDGET:
            return row["declared_attempts"]
        case Op.ADOPTED_BUDGET:
            return max(given.get("declared_attempts") or row["declared_attempts"], row["attempt"], 1)
        case Op.NEXT_EPOCH:
            return given.get("epoch", row["epoch"] + 1)
    return ask.deadline


def project(snapshot: TaskSnapshot, watch: Watch) -> Facts:
    """The facts of a snapshot and what is known beside it."""
    return Facts(
        status=snapshot.status,
        requested=snapshot.requested_action,
        in_place=snapshot.paused_in_place,
        started=snapshot.started_at is not None,
        attempt=snapshot.attempt,
        max_attempts=snapshot.max_attempts,
        stray=snapshot.carrier_state is not CarrierState.NONE,
        carrier=watch.carrier,
        verdict=watch.verdict,
        abort_left=watch.abort_left,
        killed=watch.killed,
        pausable=watch.pausable,
        killable=watch.killable,
        dependencies_open=watch.dependencies_open,
        lease_over=watch.lease_over,
    )


def as_testified(facts: Facts, ask: Ask, spec: Lifecycle = SPEC) -> Facts:
    """The facts with what the very call says of the carrier: whoever marks a task running says that it runs."""
    says = spec.verb_of[ask.verb].testifies
    if says is None or facts.status not in OCCUPYING or not spec.rules_of[ask.verb][facts.status]:
        return facts
    return facts._replace(carrier=says)


def seen_carrier(facts: Facts, ask: Ask) -> CarrierView:
    """The carrier as evidence: a body that has ended was live, whether or not that had been confirmed (D8)."""
    if ended_by_body(ask) and facts.carrier in (CarrierView.NONE, CarrierView.LAUNCHING):
        return CarrierView.LIVE
    return facts.carrier


def kind_of(facts: Facts, ask: Ask, decision: Decision) -> FailureKind | None:
    """The kind of failure a decision records, if it records one."""
    if ask.ending is not None:
        kind = failure_kind(facts, ask.ending, decision.target)
        told_more = kind is FailureKind.EXCEPTION and ask.kind is FailureKind.NONZERO_EXIT  # of a command
        return ask.kind if told_more else kind
    if ask.deadline is not Deadline.NONE:
        return VERDICT_KINDS[ask.deadline]
    if decision.rule is not None and decision.rule.asked_target:
        return FORCED_KINDS.get(decision.target)
    return ask.kind or decision.verb.kind


def failure_of(kind: FailureKind | None, given: Failure | None, reason: str | None) -> Failure | None:
    """The failure to record: the given one under the kind that was decided, or a plain one of that kind."""
    if kind is None:
        return None
    retryable = FAILURE_OF[kind].retryable
    if given is None:
        return Failure(kind, message=reason or FAILURE_OF[kind].meaning, retryable=retryable)
    return attrs.evolve(given, kind=kind, retryable=retryable)


class Step(NamedTuple):
    """What came of a step. `closed` is the disposition of the attempt whose occupancy ended, if one did."""

    decision: Decision
    snapshot: TaskSnapshot
    watch: Watch
    transitions: tuple[Transition, ...]
    opened: bool
    closed: str | None


def trigger_of(decision: Decision, ask: Ask) -> str:
    """What set the transition off: an ending and a deadline name their own triggers, a rule may, else its verb does."""
    if decision.rule is not None and decision.rule.trigger is not None:
        return decision.rule.trigger
    if ask.ending is not None:
        return ENDING_OF[ask.ending].trigger
    if ask.deadline is not Deadline.NONE:
        return TIMEOUT_OF[ask.deadline].trigger
    return decision.verb.trigger


def step(snapshot: TaskSnapshot, watch: Watch, ask: Ask, details: Details, spec: Lifecycle = SPEC) -> Step | Refusal:
    """Answer one request on a snapshot: the next snapshot with its records, or the refusal that leaves all as it is."""
    facts = as_testified(project(snapshot, watch), ask, spec)
    decision = spec.decide(facts, ask)
    if isinstance(decision, Refusal):
        return decision
    row = {**attrs.asdict(snapshot, recurse=False), **watch._asdict()}
    if decision.rule is not None:
        row["carrier"] = facts.carrier
    if details.reason is None and decision.verb.reason is not None:
        details = attrs.evolve(details, reason=decision.verb.reason)
    kind = kind_of(facts, ask, decision)
    now = max(snapshot.updated_at, details.now)
    plan = plan_of(decision)
    given = filled(plan, details.values, kind, details.actor, details.reason)
    apply_plan(plan, row, ask, given, now)
    transitions = record_of(decision, facts, ask, row, details, now, kind if plan.fails else None)
    if decision.changed:
        row.update(status=decision.target, status_version=snapshot.status_version + len(decision.path), updated_at=now)
    closes = snapshot.occupies and not occupies(row["status"], row["paused_in_place"])
    return Step(
        decision,
        snapshot_of(row),
        Watch(*map(row.__getitem__, Watch._fields)),
        transitions,
        plan.opens,
        plan.closes if closes else None,
    )


def filled(
    plan: Plan, given: Mapping[str, Any], kind: FailureKind | None, actor: str, reason: str | None
) -> Mapping[str, Any]:
    """What was given, with the failure under its decided kind, and with who holds a task and why."""
    if plan.fails:
        given = {**given, "failure": failure_of(kind, given.get("failure"), reason)}
    if plan.holds:
        given = {"held_by": actor, "held_reason": reason, **given}
    return given


def _computed(plan: Plan, row: Mapping[str, Any], ask: Ask, given: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((change.column, computed_value(change, row, ask, given)) for change in plan.computed)


def snapshot_of(row: dict[str, Any]) -> TaskSnapshot:
    """The columns of a row that are kept, frozen; what is only watched is left out."""
    return TaskSnapshot(*_kept(row))


def apply_plan(plan: Plan, row: dict[str, Any], ask: Ask, given: Mapping[str, Any], now: datetime) -> None:
    """Change `row`, which holds the watched columns too, as the plan says; computed values see it as it was."""
    computed = _computed(plan, row, ask, given) if plan.computed else ()
    if plan.constant:
        row.update(plan.constant)
    for column in plan.stamped:
        row[column] = now
    if plan.stamped_if_none:
        for column in plan.stamped_if_none:
            if row[column] is None:
                row[column] = now
    if plan.given:
        for column in plan.given:
            row[column] = given.get(column)
    if plan.given_or_kept:
        for column in plan.given_or_kept:
            if given.get(column) is not None:
                row[column] = given[column]
    if plan.counted:
        for column in plan.counted:
            row[column] += 1
    if computed:
        for column, value in computed:
            row[column] = value


def record_of(
    decision: Decision,
    facts: Facts,
    ask: Ask,
    row: Mapping[str, Any],
    details: Details,
    now: datetime,
    kind: FailureKind | None,
) -> tuple[Transition, ...]:
    """The records of a decision; `row` has the changes but still the old status and version."""
    records = []
    source = decision.source
    rule = decision.rule
    trigger = details.trigger or trigger_of(decision, ask)
    via_trigger = rule.via_trigger if rule is not None and rule.via_trigger else trigger
    for hop, target in enumerate(decision.path, start=1):
        last = hop == len(decision.path)
        records.append(
            Transition(
                task_id=row["task_id"],
                version=row["status_version"] + hop,
                from_status=source,
                to_status=target,
                trigger=trigger if last else via_trigger,
                actor=details.actor,
                reason=details.reason if last or rule is None else rule.via_reason,
                at=now,
                attempt=row["attempt"],
                max_attempts=row["max_attempts"],
                epoch=row["epoch"],
                generation=row["generation"],
                paused_in_place=facts.in_place,
                requested_action=facts.requested,
                failure_kind=kind if last else None,
                carrier=seen_carrier(facts, ask),
            )
        )
        source = target
    return tuple(records)
