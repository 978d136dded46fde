"""What can be said of an answer without the tables: where it goes, by which steps, and whom it tells.

The postconditions are written in these words. The body's endings and the rule for a due retry are spelt out once more
here, from the endings themselves, so that a mistake in a guard does not hide in what checks it.
"""

from __future__ import annotations

from chongming_spec.algebra import Tell
from chongming_spec.decide import Decision, Refusal
from chongming_spec.facts import Ask, CarrierView, Deadline, EndingKind, Facts
from chongming_spec.states import TaskStatus

Answer = Decision | Refusal
_E = EndingKind


def goes(answer: Answer, target: TaskStatus) -> bool:
    """Whether the answer ends in `target` by a record."""
    return isinstance(answer, Decision) and len(answer.path) > 0 and answer.path[-1] is target


def does(ask: Ask, answer: Answer, verb: str) -> bool:
    """Whether `verb` was asked and led to a record."""
    return ask.verb == verb and isinstance(answer, Decision) and len(answer.path) > 0


def hops(facts: Facts, answer: Answer, source: TaskStatus, target: TaskStatus) -> bool:
    """Whether the answer takes the step from `source` to `target` along an edge."""
    if not isinstance(answer, Decision) or answer.rule is None or answer.rule.out_of_band:
        return False
    step = facts.status
    for state in answer.path:
        if step is source and state is target:
            return True
        step = state
    return False


def tells(answer: Answer, tell: Tell) -> bool:
    """Whether the carrier is told so."""
    return isinstance(answer, Decision) and answer.rule is not None and tell in answer.rule.tells


def is_confirmed(facts: Facts, ask: Ask) -> bool:
    """A carrier that is live or parked is confirmed, and so is one whose body has just ended (D8)."""
    return facts.carrier in (CarrierView.LIVE, CarrierView.PARKED) or ask.ending in (
        _E.RETURNED,
        _E.INVALID,
        _E.RAISED,
        _E.CANCELLED,
    )


def has_budget(facts: Facts) -> bool:
    """Whether an attempt is left (D5)."""
    return facts.attempt < facts.max_attempts


def timed_out(facts: Facts) -> bool:
    """Whether a timeout has decided this attempt (D14)."""
    return facts.verdict is not Deadline.NONE


def retry_is_due(facts: Facts, ask: Ask) -> bool:
    """It went wrong, the policy retries it, budget is left, and it is no invalid result (D10, D14, D19)."""
    went_wrong = timed_out(facts) or ask.ending not in (_E.RETURNED, _E.CANCELLED)
    is_final = ask.ending is _E.INVALID and not timed_out(facts)
    return went_wrong and ask.retries and has_budget(facts) and not is_final
