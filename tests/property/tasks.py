"""Generated tasks, requests and calls: what a property is asked about."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from chongming_spec.algebra import Verb
from chongming_spec.cells import coherent_facts
from chongming_spec.decide import SPEC
from chongming_spec.facts import Ask, CarrierState, Deadline, EndingKind, Facts
from chongming_spec.failures import KINDS_IN, FailureKind
from chongming_spec.snapshot import Failure, TaskSnapshot
from chongming_spec.states import TERMINAL, TaskStatus
from chongming_spec.step import Watch

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
FREE = ("stray", "pausable", "dependencies_open", "lease_over")
TEXTS = st.sampled_from((None, "ann", "deploy", "雨"))
TIMES = st.none() | st.integers(0, 10**6).map(lambda seconds: BEGIN + timedelta(seconds=seconds))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)
FAILURES = st.none() | st.builds(Failure, st.sampled_from(FailureKind), st.just("why"), retryable=st.booleans())

# What a call may give for each parameter; a verb's own parameters choose among them.
PARAMETERS: dict[str, st.SearchStrategy[Any]] = {
    "actor": TEXTS,
    "reason": TEXTS,
    "force": st.booleans(),
    "alongside": st.booleans(),
    "gone": st.booleans(),
    "failure": FAILURES,
    "to": st.sampled_from(TaskStatus),
    "not_before": TIMES,
    "resume_at": TIMES,
    "pid": st.none() | st.integers(1, 99),
    "executor": st.sampled_from((None, "thread", "process")),
    "outcome": JSON,
    "owner": st.sampled_from(("me#1", "you#2")),
    "declared_attempts": st.integers(1, 3),
    "graceful": st.booleans(),
    "timeout": st.none() | st.integers(0, 9).map(float),
    "ending": st.sampled_from(EndingKind),
    "deadline": st.sampled_from([deadline for deadline in Deadline if deadline is not Deadline.NONE]),
    "retries": st.booleans(),
}
# The verbs of the world are asked without parameters of their own; this is what a supervisor gives.
WORLD: dict[str, tuple[str, ...]] = {
    "finish": ("ending", "retries", "failure", "outcome", "not_before", "reason"),
    "expire": ("deadline", "failure", "reason"),
    "close_window": ("failure", "reason"),
}


def calls(verb: Verb) -> st.SearchStrategy[dict[str, Any]]:
    """Calls of a verb: all that it demands, and any of the rest."""
    names = WORLD.get(verb.name) or tuple(param.name for param in verb.params)
    demanded = {param.name for param in verb.params if not param.default} | {"ending", "deadline"}
    given = {name: PARAMETERS[name] for name in names}
    if verb.name == "close_window":  # the supervisor says why the window was open (D2), and it can only end as lost
        given["reason"] = st.sampled_from(("it was asked to stop", "too slow"))
        demanded.add("reason")
        given["failure"] = st.builds(Failure, st.just(FailureKind.LOST), st.just("why"), retryable=st.booleans())
    return st.fixed_dictionaries(
        {name: strategy for name, strategy in given.items() if name in demanded},
        optional={name: strategy for name, strategy in given.items() if name not in demanded},
    )


def ask_of(verb: str, call: dict[str, Any]) -> Ask:
    """What a call asks, said a second time."""
    failure = call.get("failure")
    return Ask(
        verb,
        has_actor=bool(call.get("actor")),
        has_reason=bool(call.get("reason")),
        kind=None if failure is None else failure.kind,
        target=call.get("to"),
        **{
            name: call[name] for name in ("force", "alongside", "gone", "retries", "ending", "deadline") if name in call
        },
    )


SPEC_VERBS = tuple(verb.name for verb in SPEC.verbs)
FACTS: st.SearchStrategy[Facts] = st.sampled_from(TaskStatus).flatmap(
    lambda status: st.sampled_from(coherent_facts(status, FREE))
)
ASKS: st.SearchStrategy[Ask] = st.sampled_from(SPEC.verbs).flatmap(
    lambda verb: calls(verb).map(lambda call: ask_of(verb.name, call))
)


@st.composite
def snapshots(draw: st.DrawFn, facts: Facts) -> TaskSnapshot:
    """A snapshot of which `facts` are the facts, as far as it holds them."""
    status = facts.status
    kinds: tuple[FailureKind | None, ...] = tuple(sorted(KINDS_IN[status])) or (None,)
    is_over = status in TERMINAL
    kind = draw(st.sampled_from(kinds)) if is_over or facts.attempt else None
    has_begun = facts.started
    return TaskSnapshot(
        "t-1",
        "job",
        "job",
        status,
        draw(st.integers(1, 9)),
        BEGIN,
        BEGIN,
        attempt=facts.attempt,
        max_attempts=facts.max_attempts,
        declared_attempts=draw(st.integers(1, facts.max_attempts)),
        requested_action=facts.requested,
        paused_in_place=facts.in_place,
        started_at=BEGIN if has_begun else None,
        first_started_at=BEGIN if facts.attempt else None,
        queued_at=draw(st.sampled_from((None, BEGIN))),
        ended_at=BEGIN if is_over else None,
        failure=None if kind is None or (has_begun and not is_over) else Failure(kind),
        owner="me#1",
        carrier_state=draw(st.sampled_from((CarrierState.ABANDONED, CarrierState.ORPHANED)))
        if facts.stray
        else CarrierState.NONE,
    )


def watch_of(facts: Facts) -> Watch:
    """The part of the facts that stands beside the row."""
    return Watch(*(getattr(facts, name) for name in Watch._fields))
