"""The tables once more, by hand: the published transitions, the five guarded edges, and what may happen beside."""

from __future__ import annotations

import pytest

from chongming_spec.decide import SPEC
from chongming_spec.states import OCCUPYING, REVIVABLE, STATE_OF, STATES, TERMINAL, TaskStatus, is_terminal, occupies
from chongming_spec.transitions import EDGES, OUT_OF_BAND, TRANSITIONS

PUBLISHED = """
pending: blocked queued skipped cancelled stopped
blocked: queued skipped cancelled stopped
queued: starting paused skipped stopped cancelled
starting: running retry_wait pausing stopping failed cancelled lost
running: succeeded failed retry_wait pausing stopping cancelled lost
pausing: paused running stopping failed cancelled lost
paused: queued running stopped cancelled
retry_wait: starting queued paused stopped failed cancelled
stopping: stopped succeeded failed lost
"""
ADDED = {
    ("paused", "lost"),
    ("paused", "stopping"),
    ("paused", "failed"),
    ("stopping", "cancelled"),
    ("queued", "failed"),
}
GUARDED = {
    ("paused", "lost"): "not_paused_in_place",
    ("paused", "stopping"): "not_paused_in_place",
    ("paused", "failed"): "not_paused_in_place",
    ("paused", "running"): "not_paused_in_place",
    ("paused", "queued"): "paused_in_place",
    ("paused", "stopped"): "paused_in_place",
    ("paused", "cancelled"): "paused_in_place",
    ("stopping", "stopped"): "stop_not_asked",
    ("stopping", "cancelled"): "cancel_not_asked",
    ("starting", "cancelled"): "carrier_exists",
    ("starting", "running"): "carrier_unconfirmed",
    ("pausing", "running"): "carrier_unconfirmed",
    ("queued", "failed"): "kind_needs_attempt",
    ("retry_wait", "failed"): "kind_needs_attempt",
    ("queued", "starting"): "attempts_exhausted",
    ("retry_wait", "starting"): "attempts_exhausted",
}
ENDS = {"succeeded", "failed", "stopped", "cancelled", "skipped", "lost"}
WAITING = "pending blocked queued retry_wait"
# For each verb: where it may lead from where, one hop or the last of two.
VERBS = f"""
start: pending blocked -> queued; pending -> blocked
stop: {WAITING} paused -> stopped; starting running pausing paused -> stopping
pause: queued retry_wait -> paused; starting running -> pausing
resume: paused pausing -> running; paused -> queued
cancel: {WAITING} paused starting -> cancelled; starting running pausing paused -> stopping
retry: failed stopped cancelled lost -> queued
skip: pending blocked queued failed -> skipped
reset: succeeded failed stopped cancelled skipped lost blocked queued retry_wait paused -> pending
wait:
adopt: pending -> pending; blocked -> blocked; queued -> queued; retry_wait -> retry_wait; paused -> paused; \
failed -> failed; stopped -> stopped; cancelled -> cancelled; lost -> lost
mark_queued: pending blocked retry_wait -> queued
mark_blocked: pending -> blocked
mark_starting: queued retry_wait -> starting
mark_running: starting pausing paused -> running
mark_paused: queued retry_wait pausing -> paused
mark_retry_wait: starting running -> retry_wait
mark_succeeded: running stopping -> succeeded
mark_failed: queued starting running pausing paused retry_wait stopping -> failed
mark_stopped: {WAITING} paused stopping -> stopped
mark_cancelled: {WAITING} starting running pausing paused stopping -> cancelled
mark_skipped: pending blocked queued -> skipped
mark_lost: starting running pausing paused stopping -> lost
request_stop: {WAITING} paused -> stopped; starting running pausing paused -> stopping
request_cancel: {WAITING} paused starting -> cancelled; starting running pausing paused -> stopping
request_pause: queued retry_wait -> paused; starting running -> pausing
abort_pause: pausing -> running
finish: starting running pausing paused stopping -> succeeded failed cancelled; starting running pausing \
-> retry_wait; pausing -> paused queued; stopping -> stopped
expire: queued -> failed
close_window: starting running pausing stopping -> lost
"""


def table(text: str) -> dict[str, set[str]]:
    rows = (line.partition(":") for line in text.strip().splitlines())
    return {source: set(targets.split()) for source, _, targets in rows}


def moves(text: str) -> set[tuple[str, str]]:
    found = set()
    for part in filter(None, map(str.strip, text.split(";"))):
        sources, _, targets = part.partition("->")
        found |= {(source, target) for source in sources.split() for target in targets.split()}
    return found


@pytest.mark.parametrize("source", list(TaskStatus))
@pytest.mark.parametrize("target", list(TaskStatus))
def test_every_pair(source: TaskStatus, target: TaskStatus) -> None:
    """An edge is there exactly if it is published or one of the five (D1)."""
    is_published = target in table(PUBLISHED).get(source, set())
    assert (target in TRANSITIONS[source]) is (is_published or (source, target) in ADDED)


def test_the_difference_is_the_five() -> None:
    """48 published edges and five that are marked as added (D1)."""
    published = {(source, target) for source, targets in table(PUBLISHED).items() for target in targets}
    ours = {(edge.source, edge.target) for edge in EDGES}
    assert len(published) == 48
    assert len(EDGES) == len(ours) == 53
    assert published < ours
    assert ours - published == ADDED
    assert {(edge.source, edge.target) for edge in EDGES if edge.added} == ADDED


def test_the_guarded_edges() -> None:
    """Which edges are guarded, and by what (D1, D7, D8)."""
    assert {(edge.source, edge.target): edge.guard.name for edge in EDGES if edge.guard is not None} == GUARDED


def test_terminal_and_revivable() -> None:
    """Six states are final, four of them may be revived, and the declared set is the derived one (D2)."""
    assert set(TERMINAL) == ENDS == {status for status, targets in TRANSITIONS.items() if not targets}
    assert set(REVIVABLE) == {"failed", "stopped", "cancelled", "lost"}
    assert {status for status in TaskStatus if is_terminal(status)} == ENDS


def test_out_of_band_rows() -> None:
    """What may happen beside the edges, and nothing else (D2)."""
    rows = {row.verb: (set(row.sources), None if row.targets is None else set(row.targets)) for row in OUT_OF_BAND}
    held_or_waiting = {"pending", "blocked", "queued", "paused", "retry_wait"}
    assert rows == {
        "retry": ({"failed", "stopped", "cancelled", "lost"}, {"queued"}),
        "reset": (ENDS | held_or_waiting - {"pending"}, {"pending"}),
        "skip": ({"failed"}, {"skipped"}),
        "adopt": ({"failed", "stopped", "cancelled", "lost"} | held_or_waiting, None),
        "force_transition": (set(TaskStatus), ENDS),
    }


def test_where_each_verb_leads() -> None:
    """The published map of verbs from sources to targets, written out once more (D2, D6-D10)."""
    expected = {line.partition(":")[0]: moves(line.partition(":")[2]) for line in VERBS.strip().splitlines()}
    expected["force_transition"] = {(s, t) for s in TaskStatus for t in ENDS if s != t}
    actual: dict[str, set[tuple[str, str]]] = {}
    for verb in SPEC.verbs:
        led = actual.setdefault(verb.name, set())
        for rule in verb.rules:
            if rule.asked_target:
                led |= {(rule.source, target) for target in ENDS if target != rule.source}
            elif rule.target is not None:
                led.add((rule.source, rule.target))
    assert actual == expected


def test_occupied() -> None:
    """One predicate says what holds a carrier: four states always, paused only in place (D3)."""
    assert set(OCCUPYING) == {"starting", "running", "pausing", "stopping"}
    for status in TaskStatus:
        assert occupies(status, False) is (status in OCCUPYING)
        assert occupies(status, True) is (status in OCCUPYING or status is TaskStatus.PAUSED)


def test_states_are_rows() -> None:
    """Fifteen states, each one row, and the old name of succeeded still works (issue: FINISHED stays an alias)."""
    assert [row.status for row in STATES] == list(TaskStatus) == list(STATE_OF)
    assert len(STATES) == 15
    assert TaskStatus["FINISHED"] is TaskStatus["SUCCEEDED"]
    assert TaskStatus("succeeded").name == "SUCCEEDED"
    assert all(row.meaning.endswith(".") for row in STATES)
