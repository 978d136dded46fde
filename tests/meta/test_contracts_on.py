"""The tests run with the second opinion on: icontract conditions enabled and assertions alive."""

from __future__ import annotations

import os


def test_the_tests_run_with_contracts_on() -> None:
    """D39: without CHONGMING_CONTRACTS=1 conditions are off and a broken one goes unseen."""
    assert os.environ.get("CHONGMING_CONTRACTS") == "1", (
        "contracts are off; run `make test`, or `CHONGMING_CONTRACTS=1 python -m pytest …`"
    )


def test_the_tests_run_without_dash_o() -> None:
    """D39: `python -O` drops icontract's conditions; what must hold there has tests of its own."""
    assert __debug__, "run the tests without -O and with PYTHONOPTIMIZE unset"
