"""The checks by name: a law, a postcondition, or the matrix; each lists what it has against a spec."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from chongming_spec.cells import Block, survey
from chongming_spec.decide import Lifecycle
from chongming_spec.laws import LAW_OF
from chongming_spec.postconditions import ALL
from tests.spec import matrix

POSTCONDITION_OF = {holds.__name__: holds for holds in ALL}


@cache
def _over_decisions(name: str) -> Callable[[Block], list[str]]:
    holds = POSTCONDITION_OF[name]

    def check(block: Block) -> list[str]:
        wrong = (
            f"{name}: {facts}, {ask}" for facts, ask, decision in block.decisions if not holds(facts, ask, decision)
        )
        return [line for line in [next(wrong, "")] if line]

    return check


def findings(name: str, spec: Lifecycle) -> list[str]:
    """What the check called `name` has against `spec`."""
    if name in LAW_OF:
        return LAW_OF[name].check(spec)
    if name == "matrix":
        return list(matrix.differences(spec))
    return survey(spec).findings(_over_decisions(name))
