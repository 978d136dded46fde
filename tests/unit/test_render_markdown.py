"""Markdown cells and tables: one text per value, whatever set or machine it comes from."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import Enum

import attrs
import pytest

from chongming_spec.errors import AttemptsExhausted
from chongming_spec.failures import FailureKind
from chongming_spec.guards import BUDGET, has_budget
from chongming_spec.render import markdown as md
from chongming_spec.states import TaskStatus


@attrs.frozen
class Row:
    name: str
    limit_ms: int
    why: str | None = None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (True, "yes"),
        (False, "no"),
        (TaskStatus.RETRY_WAIT, "`retry_wait`"),
        (AttemptsExhausted, "`AttemptsExhausted`"),
        ("a | b\n  c", r"a \| b c"),
        ("", "–"),
        (7, "7"),
        (0.5, "0.5"),
        (timedelta(seconds=2), "0:00:02"),
        (datetime(2024, 1, 2, tzinfo=UTC), "2024-01-02 00:00:00+00:00"),
        ({TaskStatus.LOST: 1, TaskStatus.FAILED: 2}, "`lost`: 1, `failed`: 2"),
        ((3, "x"), "3, x"),
        ((), "–"),
        (BUDGET, "`attempts_exhausted`"),
        (has_budget, "`has_budget`"),
        (3j, "`3j`"),
    ],
)
def test_a_value_is_shown_as_one_cell(value: object, text: str) -> None:
    """Each kind of value has one form, without line breaks or bare pipes."""
    assert md.shown(value) == text


def test_sets_come_in_the_order_of_their_enum() -> None:
    """A set of states reads in the order of the states, whatever order the set has."""
    statuses = frozenset({TaskStatus.LOST, TaskStatus.PENDING, TaskStatus.RUNNING})
    assert md.shown(statuses) == "`pending`, `running`, `lost`"
    assert md.ordered(reversed(FailureKind)) == list(FailureKind)


def test_sets_of_anything_else_are_sorted_by_text() -> None:
    """Mixed enums and plain texts still have one order."""

    class Other(Enum):
        A = "a"

    assert md.ordered({"b", "a"}) == ["a", "b"]
    assert md.ordered({Other.A, TaskStatus.LOST}) == md.ordered([TaskStatus.LOST, Other.A])
    assert md.ordered(()) == []


def test_rows_of_a_frozen_class_become_a_table() -> None:
    """One column per field, headed by its name unless another heading is given; the first column is code."""
    rows = (Row("a", 1), Row("b", 2, "x | y"))
    assert md.rows_table(rows, heads={"why": "Reason"}) == "\n".join(
        (
            "| Name | Limit ms | Reason |",
            "| --- | --- | --- |",
            "| `a` | 1 | – |",
            r"| `b` | 2 | x \| y |",
        )
    )
    assert "Limit" not in md.rows_table(rows, skip=("limit_ms",))


def test_a_table_of_nothing_is_refused() -> None:
    """An empty table of the spec is a mistake, not a page with a head and no body."""
    with pytest.raises(ValueError, match="no rows"):
        md.rows_table(())


def test_a_ragged_row_is_refused() -> None:
    """A row must have one cell per head, else later cells would stand under the wrong one."""
    with pytest.raises(ValueError, match="2 cells under 1 heads"):
        md.table(["a"], [["1", "2"]])


def test_a_page_opens_with_banner_title_and_wrapped_prose() -> None:
    """The first line says that the page is generated; prose is wrapped, sections stay as they are."""
    text = md.page("T", "word " * 40, "| a |")
    lines = text.splitlines()
    assert "do not edit" in lines[0]
    assert "make gen" in lines[0]
    assert lines[2] == "# T"
    assert max(map(len, lines[3:])) <= md.WIDTH
    assert text.endswith("\n\n| a |\n")
