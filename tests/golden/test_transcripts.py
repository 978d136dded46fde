"""The transcripts beside this file are what users read in a history; they are compared as whole texts.

`CHONGMING_GOLDEN=write pytest tests/golden` writes them anew: read the difference before you keep it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.golden.lives import LIVES, told
from tests.integration.running import SleepersClock

HERE = Path(__file__).parent


@pytest.mark.parametrize("name", LIVES)
def test_a_life_is_told_as_it_was(name: str) -> None:
    """D2, D5, D6, D8, D14, D43, P-063, P-098: states, triggers, actors, reasons and attempts, word for word."""
    text = told(LIVES[name](SleepersClock()), str(LIVES[name].__doc__))
    golden = HERE / f"{name}.txt"
    if os.environ.get("CHONGMING_GOLDEN") == "write":
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_no_transcript_is_left_over() -> None:
    """Each text belongs to a life."""
    assert {path.stem for path in HERE.glob("*.txt")} == set(LIVES)
