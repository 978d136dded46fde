"""Every example runs and prints what it says it prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doc.programs import EXAMPLES, run

SHOWS: dict[str, tuple[str, ...]] = {
    "01_quickstart.py": (
        "succeeded 6 True",
        "failed None False",
        "exception: unsupported operand type(s) for +=: 'int' and 'NoneType'",
        "it got to 1 of 3",
    ),
    "02_control.py": (
        "pause:  True paused",
        "again:  False (already so: nothing recorded)",
        "resume: True running",
        "ended:  stopped",
        "refused: illegal transition: stopped -> pause; trigger 'user:pause'; allowed now: none (terminal state)",
        " 9 stopping  -> stopped   executor:cancelled",
        "refused; needed: An attempt is left in the budget; retry(force=True) raises it by one (D5).",
        "ended:  cancelled in attempt 2",
    ),
    "03_retry_and_timeout.py": (
        "fetched in attempt 2",
        "failed after 3 attempts",
        "  attempt 3: failed, attempt 3 found nobody",
        "failed timeout_attempt",
        "came through in attempt 2",
    ),
    "04_async.py": ("['LEFT', 'RIGHT']", "stopped ['waiting', 'cleaned up']"),
    "05_testing_with_fakeclock.py": (
        "passed: test_it_comes_through_after_two_backoffs",
        "passed: test_an_attempt_that_takes_too_long_fails",
    ),
    "06_spec_at_hand.py": (
        "15 states, 53 edges, 5 kinds of move outside them",
        "stop a task paused in place: -> stopping",
        "stop a task paused before it ran: -> stopped",
        "can it be paused? True | can it be retried? False",
        "replayed: 4 moves, ok: True",
    ),
}


@pytest.mark.parametrize("name", sorted(SHOWS))
def test_an_example_prints_what_it_shows(name: str) -> None:
    """It ends well, says nothing on stderr, and its stable lines are there in this order."""
    answer = run(EXAMPLES / name)
    assert (answer.returncode, answer.stderr) == (0, "")
    lines = iter(answer.stdout.splitlines())
    missing = [line for line in SHOWS[name] if line not in lines]
    assert missing == []


def test_every_example_is_run() -> None:
    """None is left out: the demo has tests of its own."""
    assert {path.name for path in EXAMPLES.glob("*.py")} == {*SHOWS, "demo.py"}


def test_an_example_that_breaks_is_seen(tmp_path: Path) -> None:
    """The check itself can fail: an assertion, a warning and a missing name end with another code than 0."""
    for code in ("assert False", "import warnings; warnings.warn('old')", "from chongming_task import nothing"):
        program = tmp_path / "broken.py"
        program.write_text(code, encoding="utf-8")
        assert run(program).returncode == 1
