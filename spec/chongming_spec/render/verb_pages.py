"""The page about verbs: the matrix of verb and state, and then each verb in full.

The cells of the matrix come from asking the spec about every case (see `matrix`); the rules below it are the rows.
Rules that differ only in the state they start from share a line.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from chongming_spec.algebra import Caller, Param, Rule, Tell, Verb
from chongming_spec.decide import Lifecycle
from chongming_spec.guards import Guard
from chongming_spec.render.markdown import NOTHING, code, listed, one_line, ordered, page, prose, table
from chongming_spec.render.matrix import Cell, cells
from chongming_spec.states import State, TaskStatus

INTRO = """\
A verb is what somebody may ask of a task. What it comes to depends on the state and on a few facts, and on nothing
else; this page has the answer for every verb in every state. A refused verb raises, says which guard refused it,
and changes nothing."""

LEGEND = """\
- **a state**: the task goes there, at once. Several: the rules of the verb, further down, say which one when.
- **same**, **as asked**: the same state, recorded anew; the state that the caller names.
- **stays**: it is accepted and the status stays; something may be noted, or the carrier told.
- **already**: it is so before it is asked; nothing changes and nothing is wrong (D13).
- **✗ name**: the guard of that name may refuse it; [Guards](guards.md) says what each demands. Those that
  may refuse it wherever it has a meaning stand once, in the first column.
- **–**: the verb has no meaning there and is always refused."""

IN_FULL = """\
Of the rules of one state, exactly one applies when none refuses. What an effect changes is in [Effects](effects.md).
*Out of band* marks a move that is no edge; see the end of [Transitions](transitions.md)."""

ASKER: dict[Caller, str] = {Caller.PERSON: "a person", Caller.MACHINE: "the machine", Caller.WORLD: "the world"}

TITLES: dict[Caller, tuple[str, str]] = {
    Caller.PERSON: ("Verbs of persons", "These are what a user, an operator or a program acting for them calls."),
    Caller.MACHINE: (
        "Verbs of the machine",
        "These record what became true (`mark_…`) or what was asked of a body (`request_…`, `abort_…`). "
        "Each takes one edge, and where it is already so it is refused: only the verbs of persons forgive.",
    ),
    Caller.WORLD: (
        "Verbs of the world",
        "Nobody calls these by name. The supervisor asks them when a carrier ends, a timeout passes or a "
        "grace window closes.",
    ),
}

TELLS: dict[Tell, str] = {
    Tell.STOP: "asked to end, grace window opens",
    Tell.SHORTEN: "grace window may shorten",
    Tell.PAUSE: "asked to park",
    Tell.RESUME: "let go on",
    Tell.KILL: "killed",
}


def verbs_page(spec: Lifecycle, states: Sequence[State]) -> str:
    """verbs.md."""
    callers = ordered({verb.caller for verb in spec.verbs})
    sections: list[str] = ["## How to read the tables", LEGEND]
    for caller in callers:
        title, note = TITLES[caller]
        verbs = [verb for verb in spec.verbs if verb.caller is caller]
        sections += [f"## {title}", prose(note), _matrix(spec, verbs, states)]
    sections += ["## Each verb in full", prose(IN_FULL)]
    for verb in spec.verbs:
        sections += _verb_sections(verb)
    return page("Verbs", INTRO, *sections)


def _matrix(spec: Lifecycle, verbs: Sequence[Verb], states: Sequence[State]) -> str:
    return table(["", *(code(state.status) for state in states)], [_matrix_row(spec, verb, states) for verb in verbs])


def _matrix_row(spec: Lifecycle, verb: Verb, states: Sequence[State]) -> list[str]:
    answers = cells(spec)[verb.name]
    row = {state.status: answers[state.status] for state in states}
    everywhere = refused_everywhere(list(row.values()))
    head = "<br>".join((f"[{code(verb.name)}](#{verb.name})", *(f"✗ {name}" for name in everywhere)))
    return [head, *(cell_text(found, status, everywhere) for status, found in row.items())]


def refused_everywhere(row: Sequence[Cell]) -> tuple[str, ...]:
    """The guards that may refuse a verb in every state in which it can be done, if there are several such states."""
    active = [found for found in row if not found.unknown and not found.already]
    if len(active) < 2:
        return ()
    return tuple(name for name in active[0].refused if all(name in found.refused for found in active))


def cell_text(found: Cell, status: TaskStatus, everywhere: Collection[str] = ()) -> str:
    """One cell of the matrix, as the legend explains it; guards in `everywhere` are left out."""
    if found.unknown:
        return NOTHING
    if found.already:
        return "already"
    lines = ["as asked"] if found.as_asked else ["same" if t is status else t.value for t in found.targets]
    lines += ["stays"] * found.stays
    lines += [f"✗ {name or 'no such edge'}" for name in found.refused if name not in everywhere]
    return "<br>".join(lines)


def _verb_sections(verb: Verb) -> list[str]:
    facts = [f"Asked by {ASKER[verb.caller]}", f"trigger {code(verb.trigger)}"]
    if verb.kind is not None:
        facts.append(f"failure recorded if none is given: {code(verb.kind)}")
    if verb.testifies is not None:
        facts.append(f"the call itself says that the carrier is {verb.testifies}")
    sections = [f"### {verb.name}", prose(f"{verb.meaning} {'; '.join(facts)}.")]
    if verb.already:
        sections.append(f"Already so in {_states_text(ordered(verb.already))}.")
    if verb.params:
        sections.append(table(("Parameter", "Type", "Default", "Meaning"), map(_param_row, verb.params)))
    if verb.guards:
        steps = (f"{number}. {_demand(guard)}" for number, guard in enumerate(verb.guards, start=1))
        sections.append("Wherever it has a rule it demands, in this order:\n\n" + "\n".join(steps))
    if verb.rules:
        sections.append(table(("From", "When", "To", "Effects", "The carrier is"), _rule_rows(verb.rules)))
    return sections


def _param_row(param: Param) -> tuple[str, ...]:
    default = code(param.default) if param.default else "demanded"
    return code(param.name), code(one_line(param.type)), default, one_line(param.meaning)


def _demand(guard: Guard) -> str:
    return f"{one_line(guard.sentence)} Else {code(guard.name)}."


def _rule_rows(rules: Sequence[Rule]) -> list[tuple[str, ...]]:
    """One line per rule; rules that read alike but for their source share it."""
    sources: dict[tuple[str, ...], list[TaskStatus]] = {}
    for rule in rules:
        sources.setdefault(_rule_cells(rule), []).append(rule.source)
    return [(_states_text(found), *cells) for cells, found in sources.items()]


def _states_text(statuses: Sequence[TaskStatus]) -> str:
    return "any state" if len(statuses) == len(TaskStatus) else listed(map(code, ordered(statuses)))


def _rule_cells(rule: Rule) -> tuple[str, ...]:
    return (
        listed((one_line(guard.sentence) for guard in rule.when), "<br>"),
        _target_text(rule),
        listed(code(effect.name) for effect in rule.effects),
        listed(TELLS[tell] for tell in rule.tells),
    )


def _target_text(rule: Rule) -> str:
    if rule.asked_target:
        text = "the state asked for"
    elif rule.target is None:
        text = "stays"
    elif rule.target is rule.source:
        text = "the same state"
    else:
        text = " → ".join(code(status) for status in (rule.via, rule.target) if status is not None)
    notes = []
    if rule.via_reason is not None:
        notes.append(f"first record: {code(rule.via_reason)}")
    if rule.trigger is not None:
        notes.append(f"trigger {code(rule.trigger)}")
    if rule.out_of_band:
        notes.append("*out of band*")
    return "<br>".join((text, *notes))
