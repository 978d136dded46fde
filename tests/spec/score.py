"""Counts which table mutants are noticed, by whom, and which are not; run as a program it prints that as JSON.

The laws about rows are asked first, then the oracle, then the laws about cells and moves. Only the blocks that a
mutant changes are decided anew, so all of them together take well under a minute and a half on one core.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable

from chongming_spec.decide import SPEC, Lifecycle
from chongming_spec.laws import LAWS
from models.mutate import Mutant, mutants
from tests.spec import matrix

_LATE = {
    "complete",
    "deterministic",
    "no_dead_rule",
    "coherence_is_kept",
    "failures_fit",
    "sound",
    "no_dead_edge",
    "no_dead_out_of_band",
    "inside_the_tables",
    "no_way_back",
    "end_in_reach",
}


def killer(spec: Lifecycle) -> str | None:
    """Who notices first, or None."""
    for law in LAWS:
        if law.name not in _LATE and law.check(spec):
            return law.name
    if next(matrix.differences(spec), ""):
        return "matrix"
    return next((law.name for law in LAWS if law.name in _LATE and law.check(spec)), None)


def count(changed: Iterable[Mutant]) -> tuple[Counter[str], list[str]]:
    """Kills by check, and the names of the survivors."""
    kills: Counter[str] = Counter()
    survivors = []
    for mutant in changed:
        by = killer(mutant.spec)
        if by is None:
            survivors.append(mutant.name)
        else:
            kills[by] += 1
    return kills, survivors


def main() -> int:
    """Count all mutants; the exit code is 1 if the published tables themselves are noticed."""
    if killer(SPEC) is not None:
        return 1
    kills, survivors = count(mutants())
    sys.stdout.write(json.dumps({"kills": dict(kills.most_common()), "survivors": survivors}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
