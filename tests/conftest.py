"""What every test run shares: the hypothesis profiles and a header that says what is tested.

Two profiles. `ci` (the default) draws the same examples at each run, so one commit has one
verdict. `nightly` draws new ones each time and prints how to repeat a failure. Environment:

- `CHONGMING_PROFILE`: `ci` or `nightly`.
- `CHONGMING_EXAMPLES`: examples per property test, a whole number of at least 1.
- `CHONGMING_CONTRACTS=1`: icontract conditions are on (`make test` sets it).
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

from hypothesis import HealthCheck, settings

EXAMPLES = {"ci": 100, "nightly": 5000}


def _examples(profile: str) -> int:
    text = os.environ.get("CHONGMING_EXAMPLES", "")
    if not text:
        return EXAMPLES[profile]
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"CHONGMING_EXAMPLES must be a whole number of at least 1, not {text!r}")
    return int(text)


def _load_profile() -> str:
    profile = os.environ.get("CHONGMING_PROFILE", "") or "ci"
    if profile not in EXAMPLES:
        raise ValueError(f"CHONGMING_PROFILE must be one of {sorted(EXAMPLES)}, not {profile!r}")
    # Two busy cores make single examples slow without making them wrong.
    common = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("ci", common, max_examples=_examples("ci"), derandomize=True)
    settings.register_profile("nightly", common, max_examples=_examples("nightly"), derandomize=False, print_blob=True)
    settings.load_profile(profile)
    return profile


PROFILE = _load_profile()


def _origin(package: str) -> str:
    spec = find_spec(package)
    return (spec.origin if spec is not None else None) or "missing"


def pytest_report_header() -> list[str]:
    """Say which code is under test, with which contracts and how many examples."""
    contracts = "on" if os.environ.get("CHONGMING_CONTRACTS") == "1" else "OFF"
    return [
        f"target: chongming_spec {_origin('chongming_spec')}",
        f"target: chongming_task {_origin('chongming_task')}",
        f"contracts: {contracts}; examples: {settings().max_examples} ({PROFILE}); "
        f"python -O: {'yes' if sys.flags.optimize else 'no'}",
    ]
