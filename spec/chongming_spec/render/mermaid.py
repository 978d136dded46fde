"""State diagrams as Mermaid text, which Git hosts draw where a page holds it.

`life` draws every edge, coloured by phase, a guarded edge with the name under which its guard refuses; `phases`
draws the same edges between phases only, for a first look. Colours are the lighter half of a palette that readers
with any colour vision can tell apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from chongming_spec.render.markdown import ordered
from chongming_spec.states import Phase, State
from chongming_spec.transitions import Edge

COLOURS: dict[Phase, str] = {
    Phase.WAITING: "#fff4cc",
    Phase.OCCUPYING: "#d4edda",
    Phase.HELD: "#dbe9fb",
    Phase.ENDED: "#eeeeee",
}
_INK = "color:#222,stroke:#666"


def fenced(lines: Sequence[str]) -> str:
    """The lines as a Mermaid block."""
    return "\n".join(("```mermaid", *lines, "```"))


def life(states: Sequence[State], edges: Sequence[Edge]) -> str:
    """Every edge between the states. The first state is where a task begins; terminal states lead to the end mark."""
    lines = ["stateDiagram-v2", f"    [*] --> {states[0].status}"]
    lines += [f"    {edge.source} --> {edge.target}{_label(edge)}" for edge in edges]
    lines += [f"    {state.status} --> [*]" for state in states if state.terminal]
    for phase in ordered({state.phase for state in states}):
        members = ", ".join(state.status for state in states if state.phase is phase)
        lines += [f"    classDef {phase} fill:{COLOURS[phase]},{_INK}", f"    class {members} {phase}"]
    return fenced(lines)


def _label(edge: Edge) -> str:
    return "" if edge.guard is None else f" : unless {edge.guard.name}"


def phases(states: Sequence[State], edges: Sequence[Edge]) -> str:
    """Between which phases edges lead; edges inside one phase are left out."""
    phase_of = {state.status: state.phase for state in states}
    hops = dict.fromkeys((phase_of[edge.source], phase_of[edge.target]) for edge in edges)
    lines = ["stateDiagram-v2", "    direction LR", f"    [*] --> {states[0].phase}"]
    lines += [f"    {source} --> {target}" for source, target in hops if source is not target]
    lines += [f"    {phase} --> [*]" for phase in ordered({state.phase for state in states if state.terminal})]
    return fenced(lines)
