"""Python text laid out as the formatter would."""

from __future__ import annotations

import pytest

from chongming_gen.layout import WIDTH, docstring, imports, spread


def test_arguments_stay_on_the_line_while_it_holds_them() -> None:
    """A line of exactly the width is still one line."""
    name = "a" * (WIDTH - len("    f()"))
    assert spread("f", [name], "", 1) == [f"    f({name})"]


def test_arguments_move_to_one_line_of_their_own() -> None:
    """One character more, and they stand on an indented line without a trailing comma."""
    one, two = "a" * 60, "b" * 50
    assert spread("f", [one, two], " -> None:", 0) == ["f(", f"    {one}, {two}", ") -> None:"]


def test_arguments_get_a_line_each_when_one_is_not_enough() -> None:
    """Then each has its trailing comma, the last one too."""
    one, two = "a" * 60, "b" * 60
    assert spread("f", [one, two], ":", 1) == ["    f(", f"        {one},", f"        {two},", "    ):"]


def test_what_no_line_holds_is_refused() -> None:
    """The formatter would break inside the argument, which is not covered here."""
    with pytest.raises(ValueError, match="no line of 120 holds: aaa"):
        spread("f", ["a" * WIDTH, "b"], "", 0)


def test_a_short_docstring_is_one_line() -> None:
    """One paragraph that fits stays beside its quotes."""
    assert docstring(["Do it."], 1) == ['    """Do it."""']


def test_a_docstring_of_paragraphs_is_wrapped() -> None:
    """Paragraphs are apart by an empty line without blanks, and no line is too long."""
    lines = docstring(["Do it.", "word " * 40], 1)
    assert lines[:2] == ['    """Do it.', ""]
    assert lines[-1] == '    """'
    assert max(map(len, lines)) <= WIDTH


def test_a_long_first_paragraph_leaves_room_for_the_quotes() -> None:
    """The first line holds the quotes as well."""
    lines = docstring(["word " * 40], 2)
    assert lines[0].startswith('        """word')
    assert max(map(len, lines)) <= WIDTH


def test_imports_are_sorted() -> None:
    """By module, and the names of each as the sorter wants them."""
    assert imports({"b": {"y", "x"}, "a": {"z"}}) == ["from a import z", "from b import x, y"]


def test_an_import_line_that_is_too_long_is_refused() -> None:
    """It would have to be broken, which is not covered here."""
    with pytest.raises(ValueError, match="no line of 120 holds"):
        imports({"a": {"x" * WIDTH}})
