"""Each rule of the spec is pinned by a test that names it: an untested rule is only a sentence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from chongming_spec.rules import RULES
from tests.meta.project_files import ROOT, python_files

ONLY_EXAMPLES = ("test_rules_cited.py", "test_tidy.py", "tidy_rules.py")


def uncited(ids: Iterable[str], texts: Iterable[str]) -> list[str]:
    """The ids that occur in none of the texts as a whole word."""
    words = {word for text in texts for word in re.findall(r"\bD\d+\b", text)}
    return [name for name in ids if name not in words]


def test_every_rule_is_cited_by_a_test() -> None:
    """Some file below tests/ (not those that cite ids as examples) names each rule's id."""
    texts = [path.read_text(encoding="utf-8") for path in python_files("tests") if path.name not in ONLY_EXAMPLES]
    assert uncited([rule.id for rule in RULES], texts) == []


def test_rule_ids_are_numbered_and_unique() -> None:
    """An id is D and a number, and no two rules have the same."""
    counts = Counter(rule.id for rule in RULES)
    assert counts, "the table of rules is empty"
    assert [name for name in counts if not re.fullmatch(r"D[1-9]\d*", name)] == []
    assert [name for name, count in counts.items() if count > 1] == []


def test_a_longer_id_does_not_stand_for_a_shorter_one() -> None:
    """The check itself can fail: D2 is not cited by D20, nor by xD2."""
    assert uncited(["D2"], ["pins D20 and xD2"]) == ["D2"]
    assert uncited(["D2", "D20"], ["pins D2, D20."]) == []


def test_the_citing_files_are_found() -> None:
    """The search is not empty: it holds at least this file."""
    assert ROOT / "tests" / "meta" / "test_rules_cited.py" in python_files("tests")
