"""The verb × state × guard matrix, held against the oracle cell by cell.

Run as a program it goes through the whole matrix of the published tables, prints how many cells there were, and fails
at the first difference; this is how the matrix is checked under `python -O`, where asserts are gone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from chongming_spec.cells import Block, Cell, decided, survey
from chongming_spec.decide import SPEC, Decision, Lifecycle, Refusal, advance, changes_of
from chongming_spec.effects import Change, Op
from chongming_spec.facts import Facts
from chongming_spec.states import TaskStatus
from chongming_spec.step import kind_of
from tests.spec import oracle, oracle_effects

S = TaskStatus
_WORDS = {
    Op.NOW: "now",
    Op.NOW_IF_NONE: "now if none",
    Op.GIVEN: "given",
    Op.GIVEN_OR_KEPT: "given or kept",
    Op.ADD_ONE: "plus one",
    Op.NEXT_EPOCH: "next",
    Op.RAISE_BUDGET: "raised",
    Op.DECLARED_BUDGET: "declared",
    Op.ADOPTED_BUDGET: "adopted",
}
_SHOWN_IN_FACTS = {"requested_action", "paused_in_place", "attempt", "carrier", "verdict", "abort_left", "killed"}
_HOLD = {"held_by", "held_reason", "resume_at"}


def _word(change: Change) -> str:
    if change.op is Op.SET:
        return "none" if change.value in (None, "none") else str(change.value)
    return _WORDS[change.op]


def _is_no_news(facts: Facts, column: str, word: str) -> bool:
    """Whether a column is cleared that is empty in that state anyway, or kept where it can only be so."""
    if word != "none":
        return False
    if column in _HOLD:
        return facts.status not in (S.PAUSING, S.PAUSED)
    if column == "not_before":
        return facts.status not in (S.QUEUED, S.RETRY_WAIT, S.PAUSED)
    return False


def actual_stamps(facts: Facts, decision: Decision) -> dict[str, str]:
    """The columns a decision changes that are no facts, each in one word."""
    words: dict[str, str] = {}
    for change in changes_of(decision):
        if change.column in _SHOWN_IN_FACTS:
            continue
        word = _word(change)
        if word == "now if none" and change.column in words:
            word = "now" if words[change.column] == "none" else words[change.column]
        words[change.column] = word
    return {column: word for column, word in words.items() if not _is_no_news(facts, column, word)}


def difference(cell: Cell) -> str:
    """How the answer in one cell differs from the oracle's; empty if it does not."""
    facts, ask, answer, *_ = cell
    expected = oracle.expected(facts, ask)
    if answer is None:
        return f"raised {cell.error}, expected {expected}"
    if isinstance(answer, Refusal):
        given = ("refuse", answer.guard.name if answer.guard is not None else None)
        return "" if given == expected else f"{given}, expected {expected}"
    came = ("go", *answer.path) if answer.path else ("stay",)
    if came != expected:
        return f"{came}, expected {expected}"
    return _effects(cell, answer)


def _effects(cell: Cell, decision: Decision) -> str:
    facts, ask, path = cell.facts, cell.ask, decision.path
    after = advance(facts, ask, decision)
    expected = oracle_effects.after(facts, ask, path)
    if after != expected:
        return f"{after}, expected {expected}"
    words = actual_stamps(facts, decision)
    stamps = {c: w for c, w in oracle_effects.stamps(facts, ask, path).items() if not _is_no_news(facts, c, w)}
    if words != stamps:
        return f"changes {sorted(words.items() ^ stamps.items())} differ"
    rule = decision.rule
    tells = tuple(str(tell) for tell in rule.tells) if rule is not None else ()
    if tells != oracle_effects.tells(facts, ask, path):
        return f"tells {tells}, expected {oracle_effects.tells(facts, ask, path)}"
    texts = (rule.via_trigger, rule.via_reason, rule.trigger) if rule is not None else (None, None, None)
    if texts != oracle_effects.texts(facts, ask, path):
        return f"texts {texts}, expected {oracle_effects.texts(facts, ask, path)}"
    kind = kind_of(facts, ask, decision) if words.get("failure") == "given" else None
    if kind != oracle_effects.kind(facts, ask, path):
        return f"records {kind}, expected {oracle_effects.kind(facts, ask, path)}"
    return ""


def differs(block: Block) -> list[str]:
    """The first difference in a block, if there is one; cells after it are not decided."""
    for facts, ask in block.inputs():
        cell = decided(block.spec, facts, ask)
        found = difference(cell)
        if found:
            return [f"{block.verb.name} in {block.status}: {found} at {facts}, {ask}"]
    return []


def differences(spec: Lifecycle) -> Iterator[str]:
    """The first difference of each block."""
    for block in survey(spec).blocks:
        yield from block.findings(differs)


def size(spec: Lifecycle) -> int:
    """The number of cells."""
    return sum(len(block.cells) for block in survey(spec).blocks)


def main() -> int:
    """Check the published tables; the exit code is 1 if anything differs."""
    found = list(differences(SPEC))
    sys.stdout.write("\n".join([*found, f"{size(SPEC)} cells, optimize {sys.flags.optimize}"]) + "\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
