"""The pages that are one or two tables of the spec with a word before them.

Most are the rows as they are, one column per field (`markdown.rows_table`). Guards, effects and triggers also say
where they are used, so that a row nobody uses shows.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from chongming_spec.decide import Lifecycle
from chongming_spec.effects import EFFECTS, WATCHED, Change, Op
from chongming_spec.endings import ENDINGS, VERDICT_KINDS
from chongming_spec.errors import ERRORS
from chongming_spec.executors import EXECUTORS
from chongming_spec.failures import FAILURES
from chongming_spec.guards import GUARDS, Guard
from chongming_spec.render.markdown import code, listed, one_line, ordered, page, prose, rows_table, shown, table
from chongming_spec.rules import RULES
from chongming_spec.timeouts import TIMEOUTS
from chongming_spec.triggers import CLASSES, TRIGGERS, Trigger


def guards_page(spec: Lifecycle) -> str:
    """guards.md: every guard, what it demands, what it reads, and who asks it."""
    return page(
        "Guards",
        "A guard is a condition with a name. The sentence says what must hold; the name is what a refused "
        "caller reads in `error.guard`, so it says what was in the way. The same guard may stand before a "
        "whole verb, on one edge, or in the `when` that chooses between two rules of a verb; in that last "
        "place it often chooses and never refuses.",
        prose(
            "A guard looks at the columns it reads and at nothing else. It raises `InvalidTransition` or "
            "one of its kinds; see [Errors](errors.md). Two guards may share a name where they answer the "
            "same question for different callers."
        ),
        table(
            ("Refuses as", "Must hold", "Reads", "Raises", "Edges", "Verbs"),
            [
                (
                    code(guard.name),
                    one_line(guard.sentence),
                    listed(map(code, guard.reads)),
                    code(guard.error.__name__),
                    listed(f"{edge.source} → {edge.target}" for edge in spec.edges if edge.guard is guard),
                    listed(_asking(spec, guard)),
                )
                for guard in GUARDS
            ],
        ),
    )


def _asking(spec: Lifecycle, guard: Guard) -> list[str]:
    """The verbs that demand a guard, and those that choose by it."""
    found = []
    for verb in spec.verbs:
        if guard in verb.guards:
            found.append(f"[{verb.name}](verbs.md#{verb.name}) (demanded)")
        elif any(guard in rule.when for rule in verb.rules):
            found.append(f"[{verb.name}](verbs.md#{verb.name})")
    return found


def effects_page(spec: Lifecycle) -> str:
    """effects.md: every effect and the columns it changes."""
    return page(
        "Effects",
        "An effect is a named list of columns and how they change; a rule of a verb has some of them, "
        "applied in order, a later one winning. Nothing else of a task may change with a verb. Status, "
        "version and time of change are set by every record and are not listed.",
        prose(
            "Some columns are not stored but live with whoever watches the carrier: "
            f"{listed(map(code, ordered(WATCHED)))}."
        ),
        table(
            ("Effect", "Meaning", "Changes", "Verbs"),
            [
                (
                    code(effect.name),
                    one_line(effect.sentence),
                    listed(map(_change, effect.changes), "<br>"),
                    listed(verb.name for verb in spec.verbs if any(effect in rule.effects for rule in verb.rules)),
                )
                for effect in EFFECTS
            ],
        ),
    )


def _change(change: Change) -> str:
    if change.op is not Op.SET:
        return f"{code(change.column)}: {change.op}"
    return f"{code(change.column)}: {'cleared' if change.value is None else shown(change.value)}"


def failures_page() -> str:
    """failures.md: failure kinds, endings of a carrier, verdicts."""
    return page(
        "Failures and endings",
        "A failure says why a task did not succeed; it is a column, never a state of its own, so a timeout "
        "is `failed` with the kind `timeout_attempt`. An ending is what a carrier did, reported once. The "
        "rules of the verb [finish](verbs.md#finish) turn an ending into a state.",
        "## Kinds of failure",
        prose(
            "*By policy* says whether a retry policy may act on it, *retryable* whether a person may "
            "expect a retry to help."
        ),
        rows_table(FAILURES),
        "## Endings of a carrier",
        prose(
            "*Of body* says that the body ran, so such an ending also confirms a start that nobody had confirmed (D8)."
        ),
        rows_table(ENDINGS, heads={"kind": "Failure it leaves"}),
        "## Timeouts as verdicts",
        prose(
            "A timeout that passed decides the attempt (D14): unless the task was asked to end, the kind "
            "it leaves is the timeout's."
        ),
        table(("Timeout", "Kind"), [(shown(deadline), shown(kind)) for deadline, kind in VERDICT_KINDS.items()]),
    )


def errors_page(errors: Sequence[type[BaseException]] = ERRORS) -> str:
    """errors.md: the tree of errors, and what each carries."""
    roots = [error for error in errors if _parent(error, errors) is None]
    return page(
        "Errors",
        "Each class answers one question: what should I do next? Catch the narrowest that you can answer, "
        "or the root for everything this library raises at a caller. All carry their facts as attributes "
        "and survive pickling.",
        "## The tree",
        "\n".join(line for root in roots for line in _branch(root, errors, 0)),
        "## What each carries",
        prose(
            "These attributes are always there; where the sentence in the tree names more, those come with the error."
        ),
        table(
            ("Error", "Also a", "Attributes"),
            [
                (code(error.__name__), listed(_also(error, errors)), listed(map(code, _attributes(error))))
                for error in errors
            ],
        ),
    )


def _parent(error: type[BaseException], errors: Sequence[type[BaseException]]) -> type[BaseException] | None:
    return next((base for base in error.__bases__ if base in errors), None)


def _also(error: type[BaseException], errors: Sequence[type[BaseException]]) -> list[str]:
    """The bases that are not in the tree."""
    return [code(base.__name__) for base in error.__bases__ if base not in errors]


def _branch(error: type[BaseException], errors: Sequence[type[BaseException]], depth: int) -> list[str]:
    lines = [f"{'  ' * depth}- **{error.__name__}**: {_doc(error)}"]
    for child in errors:
        if _parent(child, errors) is error:
            lines += _branch(child, errors, depth + 1)
    return lines


def _doc(error: type[BaseException]) -> str:
    return " ".join((error.__doc__ or "").split())


def _attributes(error: type[BaseException]) -> list[str]:
    """The named parameters of its constructor, each an attribute of the error."""
    parameters = inspect.signature(error).parameters.values()
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]


def timeouts_page() -> str:
    """timeouts.md."""
    return page(
        "Timeouts",
        "There are three timeouts, and each measures only the time its row names: time spent parked never "
        "counts. A timeout that passes is a verdict and no stop: the status stays, the body is asked to "
        "end, and the verdict decides what its ending means (D14, D15). The supervisor enforces all of "
        "them; a body never has to.",
        rows_table(TIMEOUTS, heads={"deadline": "Timeout", "kind": "Failure it leaves"}),
    )


def executors_page() -> str:
    """executors.md."""
    return page(
        "Executors",
        "An executor makes carriers: what runs the body of a task. What a kind of carrier can do decides "
        "what may truthfully be said of a body that ignores its grace window: where it can be killed it "
        "is, and where it cannot the task is `lost` (D6). A carrier that cannot be paused refuses a pause "
        "at once (D8).",
        rows_table(EXECUTORS),
    )


CLASS_MEANINGS: dict[str, str] = {
    "user": "A person's ordinary verb.",
    "scheduler": "The one that grants slots and releases tasks whose upstream is done.",
    "executor": "What a carrier reported.",
    "runtime": "The supervisor of the task, or whoever drives the machine by hand.",
    "reconciler": "The one that settles what owners who are gone have left.",
    "admin": "A person's override.",
    "timer": "A time that came.",
}


def triggers_page(spec: Lifecycle) -> str:
    """triggers.md: all triggers by class."""
    sections = [prose("A trigger without a verb is named by whoever acts, in place of the verb's own.")]
    for name in CLASSES:
        members = [trigger for trigger in TRIGGERS if trigger.name.startswith(f"{name}:")]
        rows = [(code(row.name), one_line(row.meaning), listed(_triggering(spec, row))) for row in members]
        sections += [f"## {name}", CLASS_MEANINGS[name], table(("Trigger", "Meaning", "Verbs"), rows)]
    return page(
        "Triggers",
        "Every record of a task's history names its trigger, `class:event`: what set the transition off. "
        "The class says who is answerable for it, so a history can be read for *who did this* before *what "
        "happened* (D43).",
        *sections,
    )


def _triggering(spec: Lifecycle, trigger: Trigger) -> list[str]:
    """The verbs that record this trigger; endings and timeouts name their own when the world reports them."""
    by_ending = trigger.name in {row.trigger for row in ENDINGS}
    by_timeout = trigger.name in {row.trigger for row in TIMEOUTS}
    return [
        verb.name
        for verb in spec.verbs
        if verb.trigger == trigger.name
        or any(trigger.name in (rule.trigger, rule.via_trigger) for rule in verb.rules)
        or (verb.name == "finish" and by_ending)
        or (verb.name == "expire" and by_timeout)
    ]


def rules_page() -> str:
    """rules.md."""
    return page(
        "Rules",
        "These are the decisions behind the tables, each with the trace of events that made it necessary. "
        "Code, tests and the other pages name them by number. A number that is missing here belongs to a "
        "part that is not part of the task's life.",
        rows_table(RULES, heads={"id": "Rule", "sentence": "What holds", "trace": "What went wrong without it"}),
    )
