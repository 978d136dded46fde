"""One file per way in which the tables could be wrong, and who notices.

Each file holds `SPEC`, the tables with one fault, and `KILLED_BY`, the check that must reject it: the name of a law,
of a postcondition, or "matrix" for the comparison with the oracle. The functions here take the published tables and
leave something out; each refuses to leave out what is not there.
"""

from __future__ import annotations

import attrs

from chongming_spec.algebra import Rule, Verb
from chongming_spec.decide import SPEC, Lifecycle
from chongming_spec.guards import Guard
from chongming_spec.states import TaskStatus


def with_verb(verb: Verb, spec: Lifecycle = SPEC) -> Lifecycle:
    """`spec` with `verb` in place of the one of that name."""
    return attrs.evolve(spec, verbs=tuple(verb if row.name == verb.name else row for row in spec.verbs))


def with_rules(name: str, rules: tuple[Rule, ...], spec: Lifecycle = SPEC) -> Lifecycle:
    """`spec` with other rules for the verb `name`."""
    return with_verb(attrs.evolve(spec.verb_of[name], rules=rules), spec)


def _less(guards: tuple[Guard, ...], name: str) -> tuple[Guard, ...]:
    return tuple(guard for guard in guards if guard.name != name)


def without_verb_guard(name: str, guard: str) -> Lifecycle:
    """The verb `name` is no longer refused by `guard`."""
    verb = SPEC.verb_of[name]
    left = _less(verb.guards, guard)
    if left == verb.guards:
        raise LookupError(f"{name} has no guard {guard}")
    return with_verb(attrs.evolve(verb, guards=left))


def without_when(name: str, guard: str) -> Lifecycle:
    """No rule of the verb `name` asks for `guard` any more."""
    rules = SPEC.verb_of[name].rules
    left = tuple(attrs.evolve(rule, when=_less(rule.when, guard)) for rule in rules)
    if left == rules:
        raise LookupError(f"no rule of {name} has {guard}")
    return with_rules(name, left)


def without_edge_guard(source: TaskStatus, target: TaskStatus) -> Lifecycle:
    """The edge from `source` to `target` binds nobody any more."""
    if SPEC.edge_of[source][target].guard is None:
        raise LookupError(f"{source} to {target} has no guard")
    edges = tuple(
        attrs.evolve(edge, guard=None) if (edge.source, edge.target) == (source, target) else edge
        for edge in SPEC.edges
    )
    return attrs.evolve(SPEC, edges=edges)


def without_edge(source: TaskStatus, target: TaskStatus) -> Lifecycle:
    """Nothing leads from `source` to `target` any more."""
    left = tuple(edge for edge in SPEC.edges if (edge.source, edge.target) != (source, target))
    if left == SPEC.edges:
        raise LookupError(f"there is no edge from {source} to {target}")
    return attrs.evolve(SPEC, edges=left)
