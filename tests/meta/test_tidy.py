"""The house rules of `tidy_rules` hold for every file, and each is shown to catch its offence."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.meta import tidy_rules as tidy
from tests.meta.project_files import ROOT, python_files, text_files

Rule = Callable[[str], list[str]]


def complaints(rule: Rule, texts: Iterable[tuple[Path, str]]) -> str:
    """What a rule has to say, one line per place."""
    return "\n".join(f"{path.relative_to(ROOT)}: {said}" for path, text in texts for said in rule(text))


def sources(*folders: str) -> list[tuple[Path, str]]:
    """Python files with their text."""
    return [(path, path.read_text(encoding="utf-8")) for path in python_files(*folders)]


def test_the_search_finds_the_project() -> None:
    """The list holds this very file and the library: with an empty list every rule would pass."""
    found = python_files()
    assert Path(__file__).resolve() in found
    assert any(path.is_relative_to(ROOT / "src" / "chongming_task") for path in found)
    assert any(path.is_relative_to(ROOT / "spec" / "chongming_spec") for path in found)


@pytest.mark.parametrize("rule", [tidy.file_too_long, tidy.functions_too_long])
def test_files_and_functions_stay_small(rule: Rule) -> None:
    """No file is longer than 400 lines and no function longer than 60."""
    assert complaints(rule, sources()) == ""


def test_the_library_asks_the_spec_about_a_status() -> None:
    """Nothing outside the spec compares a `TaskStatus` with a member: two tables drift apart."""
    assert complaints(tidy.status_comparisons, sources("src")) == ""


def test_the_library_has_no_thread_pool() -> None:
    """Threads are daemons of ours: a pool joins its threads at exit, so one stuck body hangs it."""
    assert complaints(tidy.pool_uses, sources("src")) == ""


def test_every_test_says_what_it_pins() -> None:
    """A test without a docstring cannot be judged when it fails."""
    assert complaints(tidy.silent_tests, sources("tests")) == ""


def test_nothing_is_left_for_later_and_the_project_stands_alone() -> None:
    """No text of the project postpones work or speaks of a folder outside it."""
    assert complaints(tidy.forbidden_words, text_files()) == ""


LONG_FUNCTION = "def f() -> None:\n" + "    print()\n" * tidy.FUNCTION_LINES

BAD: list[tuple[Rule, str]] = [
    (tidy.file_too_long, "x = 1\n" * (tidy.FILE_LINES + 1)),
    (tidy.functions_too_long, LONG_FUNCTION),
    (tidy.functions_too_long, "class C:\n    async " + LONG_FUNCTION.replace("\n", "\n    ")),
    (tidy.status_comparisons, "ok = s == TaskStatus.RUNNING"),
    (tidy.status_comparisons, "ok = TaskStatus.RUNNING is s"),
    (tidy.status_comparisons, "ok = s in (TaskStatus.QUEUED, TaskStatus.RUNNING)"),
    (tidy.status_comparisons, "ok = s != states.TaskStatus.LOST"),
    (tidy.status_comparisons, "from a import TaskStatus as T\nok = s == T.LOST"),
    (tidy.status_comparisons, "match s:\n    case TaskStatus.LOST:\n        pass"),
    (tidy.pool_uses, "from concurrent.futures import ThreadPoolExecutor"),
    (tidy.pool_uses, "import concurrent.futures as f\nf.ThreadPoolExecutor()"),
    (tidy.silent_tests, "def test_it() -> None:\n    assert True"),
    (tidy.silent_tests, "class TestIt:\n    def test_it(self) -> None:\n        assert True"),
    *((tidy.forbidden_words, f"# so it is {word} a b") for word in tidy.FORBIDDEN),
]

GOOD: list[tuple[Rule, str]] = [
    (tidy.file_too_long, "x = 1\n" * tidy.FILE_LINES),
    (tidy.functions_too_long, LONG_FUNCTION.removesuffix("    print()\n")),
    (tidy.status_comparisons, "s = TaskStatus.PENDING\nok = is_terminal(s) and n == 3"),
    (tidy.pool_uses, "from threading import Thread"),
    (tidy.silent_tests, 'def test_it() -> None:\n    """D20."""'),
    (tidy.forbidden_words, "for" + " now in times: share d/ autodo Todo"),
]


def labels(cases: list[tuple[Rule, str]]) -> list[str]:
    """Test ids."""
    return [f"{rule.__name__}-{number}" for number, (rule, _) in enumerate(cases)]


@pytest.mark.parametrize(("rule", "text"), BAD, ids=labels(BAD))
def test_a_rule_catches_what_it_is_for(rule: Rule, text: str) -> None:
    """Each rule complains about a text that breaks it."""
    assert rule(text)


@pytest.mark.parametrize(("rule", "text"), GOOD, ids=labels(GOOD))
def test_a_rule_lets_the_rest_pass(rule: Rule, text: str) -> None:
    """Each rule is silent just inside its limit."""
    assert rule(text) == []
