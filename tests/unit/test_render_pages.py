"""The reference pages: complete, linked, and made from the rows alone."""

from __future__ import annotations

import re
import subprocess
import sys

import attrs
import pytest

from chongming_spec import guards as g
from chongming_spec.algebra import Caller, Rule, Tell
from chongming_spec.decide import SPEC
from chongming_spec.effects import EFFECTS
from chongming_spec.errors import ERRORS
from chongming_spec.facts import CarrierView
from chongming_spec.failures import FAILURES
from chongming_spec.guards import GUARDS
from chongming_spec.render import QUESTIONS, mermaid, pages
from chongming_spec.render.life import states_page, transitions_page
from chongming_spec.render.table_pages import CLASS_MEANINGS, errors_page
from chongming_spec.render.verb_pages import ASKER, TELLS, TITLES, verbs_page
from chongming_spec.rules import RULES
from chongming_spec.states import STATES, TaskStatus
from chongming_spec.transitions import EDGES
from chongming_spec.triggers import CLASSES, TRIGGERS
from tests.unit.gen_toy import IDLE, LIGHT, LIT, TOY
from tests.unit.gen_toy import STATES as TOY_STATES

PAGES = pages()


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_page_opens_with_prose(name: str) -> None:
    """Banner, title, then a paragraph of two or three sentences before anything else."""
    banner, title, intro, *_ = PAGES[name].split("\n\n")
    assert banner.startswith("<!-- Generated")
    assert title.startswith("# ")
    assert 2 <= len(re.findall(r"[.?](?:\s|$)", intro)) <= 4
    assert PAGES[name].endswith("\n")
    assert not PAGES[name].endswith("\n\n")


@pytest.mark.parametrize("name", sorted(PAGES))
def test_every_link_leads_somewhere(name: str) -> None:
    """A link names a page that is written, and an anchor that is a heading there."""
    for target in re.findall(r"\]\(([^)]+)\)", PAGES[name]):
        page, _, anchor = target.partition("#")
        text = PAGES[page or name]
        if anchor:
            assert re.search(rf"^### {anchor}$", text, re.MULTILINE), target


@pytest.mark.parametrize("name", sorted(PAGES))
def test_tables_are_regular(name: str) -> None:
    """All lines of a table have as many cells as its head; escaped pipes are no borders."""
    width = 0
    for line in PAGES[name].splitlines():
        if not line.startswith("|"):
            width = 0
            continue
        count = len(re.findall(r"(?<!\\)\|", line))
        width = width or count
        assert count == width, line


def test_the_index_names_every_page() -> None:
    """Whoever opens the folder finds each page and what it answers."""
    assert set(PAGES) == {"README.md", *(f"{name}.md" for name in QUESTIONS)}
    assert all(f"({name}.md)" in PAGES["README.md"] for name in QUESTIONS)


def test_every_row_of_the_tables_is_on_its_page() -> None:
    """D1, D2: no state, edge, verb, guard, effect, kind, error, trigger or rule is left out."""
    assert all(f"| `{state.status}` |" in PAGES["states.md"] for state in STATES)
    assert all(f"| `{edge.source}` | `{edge.target}` |" in PAGES["transitions.md"] for edge in EDGES)
    assert all(f"\n### {verb.name}\n" in PAGES["verbs.md"] for verb in SPEC.verbs)
    assert PAGES["guards.md"].count("\n| `") == len(GUARDS)
    assert all(f"| `{effect.name}` |" in PAGES["effects.md"] for effect in EFFECTS)
    assert all(f"| `{row.kind}` |" in PAGES["failures.md"] for row in FAILURES)
    assert all(f"**{error.__name__}**" in PAGES["errors.md"] for error in ERRORS)
    assert all(f"| `{trigger.name}` |" in PAGES["triggers.md"] for trigger in TRIGGERS)
    assert all(f"| `{rule.id}` |" in PAGES["rules.md"] for rule in RULES)


def test_every_member_that_pages_explain_has_its_words() -> None:
    """A new caller, tell or class of trigger needs words of its own."""
    assert set(TITLES) == set(ASKER) == set(Caller)
    assert set(TELLS) == set(Tell)
    assert tuple(CLASS_MEANINGS) == CLASSES


def test_the_pages_do_not_depend_on_hashes() -> None:
    """The same spec gives the same text in another interpreter with other hashes."""
    program = "import sys; from chongming_spec.render import pages; sys.stdout.buffer.write(repr(pages()).encode())"
    answers = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert answers == {repr(PAGES).encode()}


def test_the_diagram_has_every_edge_once() -> None:
    """D1: 53 edges are drawn, a guarded one with the name under which it refuses."""
    text = mermaid.life(STATES, EDGES)
    drawn = re.findall(r"^    (\w+) --> (\w+)(?: : unless (\w+))?$", text, re.MULTILINE)
    assert drawn == [(e.source, e.target, "" if e.guard is None else e.guard.name) for e in EDGES]
    assert text.startswith("```mermaid\nstateDiagram-v2\n    [*] --> pending\n")
    assert text.count("--> [*]") == sum(state.terminal for state in STATES)


def test_the_phases_are_drawn_without_loops() -> None:
    """The first look shows hops between phases, each once."""
    hops = re.findall(r"^    (\w+) --> (\w+)$", mermaid.phases(STATES, EDGES), re.MULTILINE)
    assert ("waiting", "occupying") in hops
    assert len(hops) == len(set(hops))
    assert all(source != target for source, target in hops)


def test_pages_of_a_toy_spec() -> None:
    """The pages follow from the rows they are given: two states, one edge, one verb."""
    assert "These 1 edges" in transitions_page(TOY, TOY_STATES)
    assert "*added*" not in transitions_page(TOY, TOY_STATES)
    assert "There are 2," in states_page(TOY, TOY_STATES)
    text = verbs_page(TOY, TOY_STATES)
    assert "| [`light`](#light) | starting<br>✗ attempts_exhausted | already |" in text
    assert "| `wick` | `float` | `1.0` | How far it is turned up. |" in text
    assert "Verbs of the machine" not in text


def test_what_a_verb_brings_along_is_said() -> None:
    """The failure a verb records by itself and what its call testifies stand in its first paragraph."""
    verb = attrs.evolve(LIGHT, kind=FAILURES[0].kind, testifies=CarrierView.LIVE, guards=(g.NO_STRAY,))
    text = verbs_page(attrs.evolve(TOY, verbs=(verb,)), TOY_STATES)
    assert "failure recorded if none is given: `exception`" in " ".join(text.split())
    assert "says that the carrier is live" in " ".join(text.split())
    assert "1. No earlier carrier of this task may still be at work" in text


def test_a_rule_says_where_it_leads_and_how() -> None:
    """Way, reason, trigger and out-of-band mark are notes on the target; alike rules share a line."""
    rules = (
        Rule(IDLE, LIT, via=TaskStatus.PAUSED, via_reason="why", trigger="user:x", out_of_band=True),
        Rule(LIT, LIT),
        Rule(TaskStatus.LOST, TaskStatus.LOST),
        Rule(TaskStatus.FAILED, tells=(Tell.KILL,)),
        Rule(TaskStatus.STOPPED, asked_target=True),
    )
    verb = attrs.evolve(LIGHT, rules=rules, already=frozenset(TaskStatus))
    text = verbs_page(attrs.evolve(TOY, verbs=(verb,)), TOY_STATES)
    assert "Already so in any state." in text
    assert "| `paused` → `starting`<br>first record: `why`<br>trigger `user:x`<br>*out of band* |" in text
    assert "| `starting`, `lost` | – | the same state |" in text
    assert "| `failed` | – | stays | – | killed |" in text
    assert "| `stopped` | – | the state asked for |" in text


def test_errors_form_a_tree() -> None:
    """A class stands below its base, with the bases outside the tree and the attributes it always has."""
    text = errors_page()
    assert "\n  - **InvalidTransition**: A verb was refused" in text
    assert "\n    - **AttemptsExhausted**: " in text
    assert "\n- **TaskCancelled**: " in text
    assert "| `UnknownTask` | `LookupError` | `message` |" in text
    assert "| `TaskCancelled` | `BaseException` | `reason` |" in text


def test_a_state_names_where_a_task_comes_from() -> None:
    """The second table of states.md has the edges both ways: in, then out."""
    lines = states_page(TOY, TOY_STATES).splitlines()
    assert "| `queued` | – | `starting` | [`light`](verbs.md#light) |" in lines
    assert "| `starting` | `queued` | – | – |" in lines


def test_a_guard_names_the_verbs_that_demand_it_and_those_that_choose_by_it() -> None:
    """D2: retry demands that no upstream is open, start only chooses by it."""
    row = next(line for line in PAGES["guards.md"].splitlines() if line.startswith("| `dependencies_open`"))
    assert "[retry](verbs.md#retry) (demanded)" in row
    assert "[start](verbs.md#start)," in row
