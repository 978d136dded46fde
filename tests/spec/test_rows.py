"""The smaller tables: failure kinds, endings, triggers, effects, facts; each is said once more by hand."""

from __future__ import annotations

import attrs
import pytest

from chongming_spec.algebra import Caller, Rule, each
from chongming_spec.effects import EFFECTS, WATCHED, Op
from chongming_spec.endings import ENDING_OF, ENDINGS, OF_BODY, ended_by_body, failure_kind
from chongming_spec.facts import Ask, CarrierView, Deadline, EndingKind, Facts, Requested, coherent
from chongming_spec.failures import FAILURE_OF, FAILURES, KINDS_IN, FailureKind, failure_fits
from chongming_spec.guards import GUARDS
from chongming_spec.states import TaskStatus
from chongming_spec.triggers import CLASSES, TRIGGER_NAMES, TRIGGERS
from chongming_spec.verbs import VERB_OF, VERBS

S = TaskStatus
K = FailureKind
BY_POLICY = {K.EXCEPTION, K.NONZERO_EXIT, K.TIMEOUT_START, K.TIMEOUT_ATTEMPT, K.TIMEOUT_IDLE}


def test_failure_kinds() -> None:
    """Each kind is one row; five may be retried by a policy, and a lost task only by a person (D10, D19)."""
    assert [row.kind for row in FAILURES] == list(FailureKind)
    assert set(FAILURE_OF) == set(FailureKind)
    assert {row.kind for row in FAILURES if row.by_policy} == BY_POLICY
    assert {row.kind for row in FAILURES if row.retryable} == BY_POLICY | {K.LOST}


def test_where_failures_may_stand() -> None:
    """Kinds by state: failed and lost need one, succeeded has none, a hold or a wait keeps the last attempt's (D18)."""
    assert KINDS_IN[S.FAILED] == BY_POLICY | {K.RESULT_INVALID, K.ATTEMPTS_EXHAUSTED, K.OVERRIDDEN}
    assert KINDS_IN[S.RETRY_WAIT] == KINDS_IN[S.PAUSED] == KINDS_IN[S.QUEUED] == BY_POLICY
    assert KINDS_IN[S.STOPPED] == KINDS_IN[S.CANCELLED] == {K.CANCELLED}
    assert KINDS_IN[S.SKIPPED] == {K.DEPENDENCY_FAILED, K.CONDITION_FALSE}
    assert KINDS_IN[S.LOST] == {K.LOST}
    for status in (S.PENDING, S.BLOCKED, S.STARTING, S.RUNNING, S.PAUSING, S.STOPPING, S.SUCCEEDED):
        assert KINDS_IN[status] == frozenset()
    assert not failure_fits(S.FAILED, None)
    assert not failure_fits(S.LOST, None)
    assert failure_fits(S.STOPPED, None)
    assert failure_fits(S.FAILED, K.EXCEPTION)
    assert not failure_fits(S.SUCCEEDED, K.EXCEPTION)


def test_endings() -> None:
    """Each way to end is one row; four prove that the body ran (D6, D8, D19)."""
    assert [row.ending for row in ENDINGS] == list(EndingKind) == list(ENDING_OF)
    assert set(OF_BODY) == {EndingKind.RETURNED, EndingKind.INVALID, EndingKind.RAISED, EndingKind.CANCELLED}
    assert ended_by_body(Ask("finish", ending=EndingKind.RAISED))
    assert not ended_by_body(Ask("finish", ending=EndingKind.DIED))
    assert not ended_by_body(Ask("stop"))


@pytest.mark.parametrize(
    ("facts", "ending", "target", "kind"),
    [
        (Facts(S.STOPPING, Requested.STOP), EndingKind.KILLED, S.STOPPED, K.CANCELLED),
        (Facts(S.STOPPING, Requested.CANCEL), EndingKind.WITHDRAWN, S.CANCELLED, K.CANCELLED),
        (Facts(S.RUNNING, verdict=Deadline.IDLE), EndingKind.RETURNED, S.FAILED, K.TIMEOUT_IDLE),
        (Facts(S.STOPPING, Requested.STOP, verdict=Deadline.ATTEMPT), EndingKind.RAISED, S.FAILED, K.EXCEPTION),
        (Facts(S.RUNNING), EndingKind.DIED, S.RETRY_WAIT, K.NONZERO_EXIT),
        (Facts(S.RUNNING), EndingKind.INVALID, S.FAILED, K.RESULT_INVALID),
        (Facts(S.RUNNING), EndingKind.RETURNED, S.SUCCEEDED, None),
    ],
)
def test_what_an_ending_leaves(facts: Facts, ending: EndingKind, target: TaskStatus, kind: FailureKind | None) -> None:
    """A request explains an end on request, else the verdict decides, else the ending speaks for itself (D6, D14)."""
    assert failure_kind(facts, ending, target) is kind


def test_triggers() -> None:
    """Trigger names are rows of the form class:event, with the seven classes (D43)."""
    assert CLASSES == ("user", "scheduler", "executor", "runtime", "reconciler", "admin", "timer")
    assert len(TRIGGER_NAMES) == len(TRIGGERS)
    assert {row.name.partition(":")[0] for row in TRIGGERS} == set(CLASSES)


def test_effects_and_guards_have_sentences() -> None:
    """Each effect and guard is named and explained; only `set` has a value of its own."""
    assert len({effect.name for effect in EFFECTS}) == len(EFFECTS)
    assert all(effect.sentence.endswith(".") for effect in EFFECTS)
    assert all(guard.sentence.endswith(".") for guard in GUARDS)
    assert all(c.value is None for effect in EFFECTS for c in effect.changes if c.op is not Op.SET)
    assert {"carrier", "verdict", "abort_left", "killed"} == set(WATCHED)


def test_verbs_are_named_once() -> None:
    """Eleven verbs for persons, sixteen for the machine, three for the world (issue: control and machine verbs)."""
    assert len(VERB_OF) == len(VERBS) == 30
    callers = [verb.caller for verb in VERBS]
    assert [callers.count(caller) for caller in (Caller.PERSON, Caller.MACHINE, Caller.WORLD)] == [11, 16, 3]


def test_a_rule_leads_to_a_record_or_not() -> None:
    """A rule with a target leads to a record, one without only has effects (D13)."""
    first, second = each((S.RUNNING, S.PENDING), S.STOPPED)
    assert (first.source, second.source) == (S.PENDING, S.RUNNING)
    assert first.changes
    assert not Rule(S.PENDING).changes
    assert Rule(S.PENDING, asked_target=True).changes


def test_requests_that_end() -> None:
    """Stop and cancel ask the body to end, a pause does not (D6, D7)."""
    assert [request for request in Requested if request.ends] == [Requested.STOP, Requested.CANCEL]


PARKED = Facts(S.PAUSED, in_place=True, started=True, attempt=1, carrier=CarrierView.PARKED)
RUNNING = Facts(S.RUNNING, started=True, attempt=1, carrier=CarrierView.LIVE)


@pytest.mark.parametrize(
    "facts",
    [
        Facts(S.PENDING, Requested.STOP),
        RUNNING._replace(carrier=CarrierView.NONE),
        RUNNING._replace(in_place=True),
        PARKED._replace(in_place=False),
        RUNNING._replace(started=False),
        Facts(S.QUEUED, started=True, attempt=1),
        RUNNING._replace(attempt=0),
        RUNNING._replace(attempt=2),
        Facts(S.PENDING, max_attempts=0),
        Facts(S.QUEUED, verdict=Deadline.START),
        RUNNING._replace(abort_left=True),
        RUNNING._replace(killed=True),
        Facts(S.PENDING, attempt=-1),
    ],
)
def test_what_no_task_can_be(facts: Facts) -> None:
    """Facts that contradict each other are no task (D3, D4, D5, D14)."""
    assert coherent(PARKED)
    assert coherent(RUNNING)
    assert not coherent(facts)


def test_rows_are_frozen() -> None:
    """Nobody changes a row at run time."""
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        VERBS[0].name = "other"  # type: ignore[misc]
