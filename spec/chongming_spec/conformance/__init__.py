"""Whether a store is one: random calls against it and against the reference model, compared after each.

`run_conformance(target)` drives it from a program, the pytest plugin `chongming_spec.conformance.plugin` from a test
run. A *target* is a callable that takes a clock and returns an empty store that judges leases by it. Needs hypothesis;
nothing else of the specification does.
"""

from __future__ import annotations

from chongming_spec.conformance.report import Report, Target
from chongming_spec.conformance.run import run_conformance

__all__ = ["Report", "Target", "run_conformance"]
