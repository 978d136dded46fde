"""The pages about the life itself: states and transitions.

Sentences that belong to one row come from that row. What is written here explains how to read a page, and says
nothing that a changed row could make untrue; every number is counted.
"""

from __future__ import annotations

from collections.abc import Sequence

from chongming_spec.algebra import Caller
from chongming_spec.decide import Lifecycle
from chongming_spec.render import mermaid
from chongming_spec.render.markdown import NOTHING, code, listed, one_line, ordered, page, prose, shown, table
from chongming_spec.render.matrix import changed_by
from chongming_spec.states import State, TaskStatus
from chongming_spec.transitions import Edge, OutOfBand

STATES_INTRO = """\
A state says in which phase of its life a task is, and nothing else: how often it was tried, how far it got and why
it ended are other columns. There are {count}, and a task is in exactly one of them at any time. This page says what
each means and where it can go from there."""

PHASES_INTRO = """\
Four phases say what a state holds. A *waiting* task holds nothing, so whatever is asked of it happens at once. An
*occupying* task has a carrier (the thread, process or call that runs its body) and with it a slot; it has to be
asked, and a state says that it was. `paused` is *held*: it occupies only when its body was parked in place (D3). An
*ended* task is over, until a person says otherwise."""

TRANSITIONS_INTRO = """\
These {count} edges are the only ways from one state to another; whatever asks, a move that is not here is refused
and changes nothing. A guard binds everybody who takes the edge. The few moves that only persons may make outside
the edges stand in a table of their own at the end."""

DIAGRAM_NOTE = """\
An edge marked *unless* has a guard, and that is the name a refused caller reads. [Guards](guards.md) says what each
demands."""

ADDED_NOTE = """\
{count} edges carry the mark *added*: the table published before this one did not have them, and without them a
parked body, a cancel under way or a task that fails before its first attempt would have nowhere true to go (D1)."""

OUT_OF_BAND_INTRO = """\
These moves are no edges: a person overrides the life cycle, or a new owner takes over. Each begins a new epoch, so
whoever still acts for the old one is fenced off and can write nothing more (D2)."""


def states_page(spec: Lifecycle, states: Sequence[State]) -> str:
    """states.md: phases, the table of states, and what can happen in each."""
    return page(
        "States",
        STATES_INTRO.format(count=len(states)),
        "## Phases",
        prose(PHASES_INTRO),
        mermaid.phases(states, spec.edges),
        "## What each state means",
        table(
            ("State", "Phase", "Meaning", "Final", "A person may revive it"),
            [(code(s.status), s.phase, one_line(s.meaning), shown(s.terminal), shown(s.revivable)) for s in states],
        ),
        "## What can happen next",
        prose("Of the verbs of persons, those that can change something there. [Verbs](verbs.md) has the conditions."),
        table(
            ("State", "Comes from", "Edges lead to", "Verbs of persons"),
            [
                (
                    code(state.status),
                    listed(code(edge.source) for edge in spec.edges if edge.target is state.status),
                    listed(code(status) for status in spec.allowed(state.status)),
                    listed(_verb_link(verb) for verb in changed_by(spec, (Caller.PERSON,), state.status)),
                )
                for state in states
            ],
        ),
    )


def _verb_link(verb: str) -> str:
    return f"[{code(verb)}](verbs.md#{verb})"


def transitions_page(spec: Lifecycle, states: Sequence[State]) -> str:
    """transitions.md: the diagram, the edges, and the moves outside them."""
    added = sum(edge.added for edge in spec.edges)
    return page(
        "Transitions",
        TRANSITIONS_INTRO.format(count=len(spec.edges)),
        "## The diagram",
        mermaid.life(states, spec.edges),
        prose(DIAGRAM_NOTE),
        "## The edges",
        *([prose(ADDED_NOTE.format(count=added))] if added else []),
        table(("From", "To", "Only if", "Why it exists", "Mark"), map(_edge_row, spec.edges)),
        "## Outside the edges",
        prose(OUT_OF_BAND_INTRO),
        table(("Verb", "From", "To", "Why it exists"), map(_out_of_band_row, spec.out_of_band)),
    )


def _edge_row(edge: Edge) -> tuple[str, ...]:
    return (
        code(edge.source),
        code(edge.target),
        NOTHING if edge.guard is None else f"{one_line(edge.guard.sentence)} Else {code(edge.guard.name)}.",
        one_line(edge.why),
        "added" if edge.added else "",
    )


def _out_of_band_row(row: OutOfBand) -> tuple[str, ...]:
    return (
        _verb_link(row.verb),
        "any state" if row.sources == frozenset(TaskStatus) else listed(map(code, ordered(row.sources))),
        "the same state" if row.targets is None else listed(map(code, ordered(row.targets))),
        one_line(row.why),
    )
