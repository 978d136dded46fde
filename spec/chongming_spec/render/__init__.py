"""The spec as pages to read: Markdown tables and Mermaid diagrams, made from the rows.

`python -m chongming_spec.render DIR` writes the pages into a folder, `--check` compares them. The same spec gives
the same text everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from chongming_spec import SPEC_VERSION
from chongming_spec.decide import SPEC, Lifecycle
from chongming_spec.render import table_pages as tables
from chongming_spec.render.life import states_page, transitions_page
from chongming_spec.render.markdown import page, table
from chongming_spec.render.store_pages import audit_page, leases_page, stores_page
from chongming_spec.render.verb_pages import verbs_page
from chongming_spec.states import STATES, State

# In the order in which a newcomer reads them, each with the question it answers.
QUESTIONS: dict[str, tuple[str, str]] = {
    "states": ("States", "Which states are there, and what does each mean?"),
    "transitions": ("Transitions", "From where to where may a task go, and under which condition?"),
    "verbs": ("Verbs", "What happens when I ask for something, in any state?"),
    "guards": ("Guards", "Why was I refused?"),
    "failures": ("Failures and endings", "Why did it not succeed, and would a retry help?"),
    "timeouts": ("Timeouts", "What does each timeout measure?"),
    "executors": ("Executors", "What can each kind of carrier do?"),
    "errors": ("Errors", "Which exception means what?"),
    "effects": ("Effects", "Which columns does a verb change?"),
    "triggers": ("Triggers", "What do the triggers in a history mean?"),
    "stores": ("Stores", "What may be written, and under which condition?"),
    "leases": ("Leases and commands", "Who may act for a task, and how does another process ask?"),
    "audit": ("Audit", "What is checked when a database is audited?"),
    "rules": ("Rules", "Why is it so?"),
}

WORDS: dict[str, str] = {
    "task": "Something to be done once, with one state and one history.",
    "body": "The function that does it.",
    "attempt": "One try at it. An attempt begins when a slot is granted; a task may have several.",
    "carrier": "The thread, process or call that runs the body during one attempt.",
    "slot": "The right to have a carrier. It is held until the carrier is gone.",
    "checkpoint": "A place in the body where it may be asked to park or to end.",
    "parked": "Waiting at a checkpoint, with carrier and slot, until it may go on.",
    "grace window": "The time a body has to end by itself after it was asked to.",
    "verdict": "What a timeout leaves that passed: it decides the attempt, whatever the body still says.",
    "edge": "A way from one state to another.",
    "guard": "A named condition. Where it does not hold, the request is refused under that name.",
    "verb": "What may be asked of a task.",
    "owner": "The program that answers for a task. Its lease says until when it is believed to be alive.",
    "epoch": "The number of the present right to act for a task. Whoever holds an older one may write nothing.",
}

INTRO = """\
These pages say what a task may ever do, completely: they are made from the tables that the program itself asks at
every step, version {version} of them. Whoever reads the first three knows the life of a task; the others answer
questions as they come up. Numbers such as D3 name the decisions on the last page."""


def pages(spec: Lifecycle = SPEC, states: Sequence[State] = STATES) -> dict[str, str]:
    """Every page: its file name and its text."""
    made = {
        "states": states_page(spec, states),
        "transitions": transitions_page(spec, states),
        "verbs": verbs_page(spec, states),
        "guards": tables.guards_page(spec),
        "failures": tables.failures_page(),
        "timeouts": tables.timeouts_page(),
        "executors": tables.executors_page(),
        "errors": tables.errors_page(),
        "effects": tables.effects_page(spec),
        "triggers": tables.triggers_page(spec),
        "stores": stores_page(),
        "leases": leases_page(),
        "audit": audit_page(),
        "rules": tables.rules_page(),
    }
    return {"README.md": _index(), **{f"{name}.md": text for name, text in made.items()}}


def _index() -> str:
    rows = [(f"[{title}]({name}.md)", question) for name, (title, question) in QUESTIONS.items()]
    return page(
        "What a task may ever do",
        INTRO.format(version=SPEC_VERSION),
        table(("Page", "Answers"), rows),
        "## Words",
        table(("Word", "What it means here"), list(WORDS.items())),
    )
