"""What names and reasons may be, and how they are shown (D2, D41)."""

from __future__ import annotations

import pytest

from chongming_spec.errors import ConfigurationError
from chongming_spec.texts import check_id, check_text, is_blank, shown


@pytest.mark.parametrize("text", [None, "", " ", "\t\n", "\u200b\u2060", "\u3164", "\u2800", "\u00ad"])
def test_what_cannot_be_seen_is_blank(text: str | None) -> None:
    """A demanded actor or reason counts only if something of it can be seen (D2, P-098)."""
    assert is_blank(text)


def test_what_can_be_seen_is_not_blank() -> None:
    """One visible character among invisible ones is enough."""
    assert not is_blank("\u200bx\u200b")


@pytest.mark.parametrize("text", ["a\0b", "\ud800", "é\0", 7, None])
def test_a_text_without_a_place_to_be_kept_is_refused(text: object) -> None:
    """NUL and lone surrogates can be kept by no store; the argument is named (D41)."""
    with pytest.raises(ConfigurationError, match="reason"):
        check_text("reason", text)


@pytest.mark.parametrize("text", ["", "\u200b", "a\nb", "a\u2028b", "a\0b", 3])
def test_an_id_has_something_to_see_and_no_line_breaks(text: object) -> None:
    """An id stands in one line of a table."""
    with pytest.raises(ConfigurationError, match="task_id"):
        check_id("task_id", text)


@pytest.mark.parametrize("text", ["job-1", "抽取", "nightly import", "ü"])
def test_ids_may_be_any_other_text(text: str) -> None:
    """Ids are not limited to ASCII or to identifiers (D41)."""
    assert check_id("task_id", text) == text


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain", "plain"),
        ("抽取 é", "抽取 é"),
        ("a\u202eb", "a\\u202eb"),
        ("a\x1b[31m", "a\\x1b[31m"),
        ("two\nlines", "two\\nlines"),
        ("\u2028", "\\u2028"),
    ],
)
def test_what_could_move_the_cursor_is_shown_escaped(text: str, seen: str) -> None:
    """Control and bidirectional characters cannot rewrite the line they stand in (D41)."""
    assert shown(text) == seen
