"""Each law holds for the published tables, and each is shown a copy that breaks it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from chongming_spec.algebra import Rule
from chongming_spec.cells import survey
from chongming_spec.decide import SPEC, Lifecycle
from chongming_spec.effects import CLOSE, END, NEW_EPOCH, OPEN, PARK, Change, Effect, Op
from chongming_spec.facts import Ask, Facts
from chongming_spec.failures import FailureKind
from chongming_spec.guards import GUARDS, LEASE_OVER, Guard
from chongming_spec.laws import LAW_OF, LAWS, Law
from chongming_spec.postconditions import ALL, POSTCONDITIONS, sound
from chongming_spec.probe import columns_read
from chongming_spec.states import TaskStatus
from chongming_spec.transitions import Edge
from models.mutants import (
    historic_running_never_started,
    with_rules,
    with_verb,
    without_edge,
    without_edge_guard,
    without_verb_guard,
    without_when,
)

S = TaskStatus


def _raises(facts: Facts, ask: Ask) -> bool:
    raise RuntimeError("boom")


def _with_guard(guard: Guard) -> Lifecycle:
    return with_verb(attrs.evolve(SPEC.verb_of["adopt"], guards=(guard,)))


def _with_effects(name: str, change: Callable[[tuple[Effect, ...]], tuple[Effect, ...]]) -> Lifecycle:
    rules = SPEC.verb_of[name].rules
    return with_rules(name, tuple(attrs.evolve(rule, effects=change(rule.effects)) for rule in rules))


def _with_edge(source: TaskStatus, target: TaskStatus) -> Lifecycle:
    return attrs.evolve(SPEC, edges=(*SPEC.edges, Edge(source, target, "A fault.")))


def _revived_in_band() -> Lifecycle:
    rules = tuple(attrs.evolve(rule, out_of_band=False) for rule in SPEC.verb_of["retry"].rules)
    return with_rules("retry", rules, _with_edge(S.FAILED, S.QUEUED))


def _without_ends_of_stopping() -> Lifecycle:
    return attrs.evolve(SPEC, edges=tuple(edge for edge in SPEC.edges if edge.source is not S.STOPPING))


def _row(verb: str, **changes: Any) -> Lifecycle:
    rows = tuple(attrs.evolve(row, **changes) if row.verb == verb else row for row in SPEC.out_of_band)
    return attrs.evolve(SPEC, out_of_band=rows)


_ODD = Effect("odd", (Change("no_such_column", Op.NOW),), "A fault.")
BROKEN: dict[str, list[Lifecycle]] = {
    "rows_are_unique": [
        attrs.evolve(SPEC, edges=(*SPEC.edges, SPEC.edges[0])),
        attrs.evolve(SPEC, verbs=(*SPEC.verbs, SPEC.verbs[0])),
        attrs.evolve(SPEC, out_of_band=(*SPEC.out_of_band, SPEC.out_of_band[0])),
    ],
    "terminal_is_final": [_with_edge(S.FAILED, S.QUEUED), _without_ends_of_stopping()],
    "revivable_is_terminal": [_row("retry", sources=frozenset({S.FAILED}))],
    "guards_are_paired": [_with_guard(attrs.evolve(LEASE_OVER, name="nobody_knows"))],
    "guards_are_rows": [_with_guard(attrs.evolve(LEASE_OVER, sentence="Another one."))],
    "guards_read_what_they_declare": [
        _with_guard(attrs.evolve(LEASE_OVER, reads=())),
        _with_guard(attrs.evolve(LEASE_OVER, reads=("lease_over", "attempt"))),
    ],
    "triggers_exist": [
        with_verb(attrs.evolve(SPEC.verb_of["stop"], trigger="user:nothing")),
        with_rules("mark_blocked", (Rule(S.PENDING, S.BLOCKED, trigger="user:nothing"),)),
    ],
    "edges_guard_themselves": [without_edge_guard(S.PAUSED, S.LOST), without_edge_guard(S.QUEUED, S.STARTING)],
    "epochs": [
        _with_effects("adopt", lambda effects: tuple(e for e in effects if e != NEW_EPOCH)),
        _with_effects("stop", lambda effects: (*effects, NEW_EPOCH)),
    ],
    "attempts_open_at_starting": [
        _with_effects("mark_starting", lambda effects: ()),
        _with_effects("mark_queued", lambda effects: (*effects, OPEN)),
    ],
    "in_place_by_parking": [_with_effects("pause", lambda effects: (*effects, PARK))],
    "columns_exist": [_with_effects("mark_queued", lambda effects: (*effects, _ODD))],
    "complete": [_with_guard(attrs.evolve(LEASE_OVER, holds=_raises))],
    "deterministic": [without_when("resume", "paused_in_place")],
    "no_dead_rule": [without_edge(S.PAUSED, S.LOST)],
    "no_dead_edge": [_with_edge(S.PENDING, S.RUNNING)],
    "no_dead_out_of_band": [_row("skip", sources=frozenset({S.FAILED, S.LOST}))],
    "inside_the_tables": [_row("skip", sources=frozenset()), _row("adopt", sources=frozenset())],
    "no_way_back": [_revived_in_band()],
    "end_in_reach": [_without_ends_of_stopping()],
    "coherence_is_kept": [historic_running_never_started.SPEC],
    "failures_fit": [
        with_verb(attrs.evolve(SPEC.verb_of["stop"], kind=FailureKind.EXCEPTION)),
        _with_effects("mark_lost", lambda effects: (END,)),
    ],
    "sound": [without_verb_guard("retry", "carrier_still_running")],
}


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_law_holds(law: Law) -> None:
    """The published tables have nothing against them (D1-D15, D18, D39, D43)."""
    assert law.check(SPEC) == []
    assert law.sentence.endswith(".")


@pytest.mark.parametrize("name", list(LAW_OF))
def test_law_can_fail(name: str) -> None:
    """A law that nothing breaks says nothing: each finds the fault in its broken copies."""
    for spec in BROKEN[name]:
        assert LAW_OF[name].check(spec) != []


def test_findings_are_few_and_say_where() -> None:
    """A block reports a few of its findings, with the verb and the state."""
    found = LAW_OF["deterministic"].check(without_when("resume", "paused_in_place"))
    assert 0 < len(found) <= 3
    assert all(line.startswith("resume in paused: 2 rules") for line in found)


def test_a_survey_is_shared() -> None:
    """The blocks of unchanged rows are those of the published tables, so a changed copy costs only its change."""
    published = survey(SPEC).by_key
    changed = survey(_with_effects("mark_blocked", lambda effects: (*effects, CLOSE))).by_key
    assert [key for key in changed if changed[key] is not published[key]] == [("mark_blocked", S.PENDING)]


def test_every_guard_has_a_postcondition_and_none_is_left_over() -> None:
    """Guards and postconditions are paired by name, one way and the other (D39)."""
    assert {guard.name for guard in GUARDS} == set(POSTCONDITIONS)
    assert all(POSTCONDITIONS.values())
    assert len({holds.__name__ for holds in ALL}) == len(ALL)


def test_a_probe_sees_what_is_read() -> None:
    """A predicate that looks at a column it does not declare is seen to (completeness of the matrix hangs on it)."""
    assert columns_read(LEASE_OVER) == {"lease_over"}
    assert columns_read(attrs.evolve(LEASE_OVER, reads=("attempt",))) == {"lease_over"}


def test_a_refusal_is_always_sound() -> None:
    """What changes nothing breaks nothing."""
    refused = SPEC.decide(Facts(S.PENDING), Ask("pause"))
    assert sound(Facts(S.PENDING), Ask("pause"), refused)
    assert all(holds(Facts(S.PENDING), Ask("pause"), refused) for holds in ALL)
