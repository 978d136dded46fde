"""The main job: what `make demo` shows is true, and the README shows a real run of it."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from functools import cache
from types import ModuleType

import pytest

from chongming_task import StateMachine, TaskStatus
from tests.doc.programs import EXAMPLES, ROOT, blocks, run

DEMO = EXAMPLES / "demo.py"


@cache
def answer() -> subprocess.CompletedProcess[str]:
    return run(DEMO)


def stable(text: str) -> list[str]:
    """Lines without what differs from run to run: digits, the digest, the spaces that align them."""
    text = re.sub(r"[0-9a-f]{16}…", "DIGEST", text)
    return [re.sub(r"\s+", " ", re.sub(r"\d[\d,.]*", "N", line)).strip() for line in text.splitlines()]


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("demo_under_test", DEMO)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_demo_keeps_its_promises() -> None:
    """D3, D6, D8, D14: it pauses in place, retries, stops one task, loses another, and replays all; code 0."""
    assert (answer().returncode, answer().stderr) == (0, "")
    assert answer().stdout.rstrip().endswith("moves, every one allowed by the specification")


def test_the_readme_shows_a_real_run() -> None:
    """The transcript in the README is this program's output, but for numbers and the digest."""
    (transcript,) = blocks(ROOT / "README.md", "text")
    assert stable(transcript) == stable(answer().stdout.rstrip())


def test_each_trajectory_is_shown_whole() -> None:
    """Each table begins with the creation and ends with the ending that belongs to it."""
    tables = re.split(r"\n\s+from\s+to\s+trigger.*\n", answer().stdout)[1:]
    assert len(tables) == 4
    assert all(" pending     user:create " in table.splitlines()[0] for table in tables)
    for table, last in zip(tables, ("succeeded", "succeeded", "stopped", "lost"), strict=True):
        records = [line for line in table.split("    attempt")[0].splitlines() if line.strip()]
        assert re.match(rf"\s+\w+\s+{last} ", records[-1])


def test_a_broken_promise_ends_with_code_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The verdict can be bad: a history the specification does not allow is named, and the code is 1."""
    demo = load()
    machine = StateMachine.create("bad", "bad")
    machine.start()

    class Forged:
        task_id = "bad"
        transitions = (machine.transitions[1], machine.transitions[0])

    demo.judged(Forged())
    demo.expect("the sky is green", False)
    assert [problem for problem in demo.problems if problem.startswith("bad, record")]
    for name in ("paused_and_retried", "stopped", "given_up", "table", "forged"):
        monkeypatch.setattr(demo, name, lambda *_: (Forged(), Forged()))
    monkeypatch.setattr(demo, "judged", lambda _: 0)
    monkeypatch.setattr(demo, "given_up", lambda: Forged())
    assert demo.main() == 1
    assert "not so: the sky is green" in capsys.readouterr().out
    assert TaskStatus.PENDING in {record.to_status for record in Forged.transitions}
