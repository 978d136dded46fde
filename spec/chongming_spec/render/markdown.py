"""Markdown as text: cells, tables, and tables of any frozen attrs rows.

Everything here gives the same text for the same value on every machine: members of an enum come in the order of the
enum whatever set holds them, and nothing depends on hashes, locale or time. A table cell is one line; a pipe is
escaped, also inside code, as GitHub's tables want it. No value is shown as a dash, yes and no as such words, so
that an empty cell never has to be guessed.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, cast

import attrs

NOTHING = "–"
WIDTH = 100
BANNER = "Generated from chongming_spec; do not edit: change the spec and run `make gen`."


def one_line(text: str) -> str:
    """`text` as the content of one cell: on one line, pipes escaped."""
    return " ".join(text.split()).replace("|", r"\|")


def code(text: object) -> str:
    """`text` as inline code."""
    return f"`{text}`"


def listed(parts: Iterable[str], between: str = ", ") -> str:
    """The parts in a row; a dash when there are none."""
    return between.join(parts) or NOTHING


def ordered(values: Iterable[Any]) -> list[Any]:
    """The values of a set in a fixed order: that of their enum, else that of their text."""
    found = list(values)
    kinds = {type(value) for value in found}
    if len(kinds) == 1 and issubclass(kind := kinds.pop(), Enum):
        return [member for member in kind if member in found]
    return sorted(found, key=str)


def shown(value: object) -> str:
    """One value of a row as the content of a cell.

    Enums and types are code, rows that have a `name` (guards, effects) are that name, sets come in a fixed order,
    other values as their text.
    """
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Enum):
        return code(value.value)
    if isinstance(value, type):
        return code(value.__name__)
    if isinstance(value, str):
        return one_line(value) or NOTHING
    if isinstance(value, (int, float, datetime, timedelta)):
        return str(value)
    if isinstance(value, Mapping):
        return listed(f"{shown(key)}: {shown(item)}" for key, item in value.items())
    if isinstance(value, (set, frozenset)):
        return listed(map(shown, ordered(value)))
    if isinstance(value, Collection):
        return listed(map(shown, value))
    name = getattr(value, "name", None) or getattr(value, "__name__", None)
    return code(name or value)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table. Its cells are Markdown already and are taken as they are.

    Raises ValueError for a row that has not one cell per head.
    """
    lines = [heads, ["---"] * len(heads)]
    for row in rows:
        if len(row) != len(heads):
            raise ValueError(f"a row of {len(row)} cells under {len(heads)} heads: {row}")
        lines.append(row)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def heading_of(column: str) -> str:
    """`control_latency_ms` becomes `Control latency ms`."""
    return column.replace("_", " ").capitalize()


def rows_table(rows: Sequence[object], *, heads: Mapping[str, str] | None = None, skip: Collection[str] = ()) -> str:
    """A table of frozen attrs rows of one class, one column per field but those in `skip`.

    `heads` gives some columns another heading than their name. The first column is code. Raises ValueError for no
    rows.
    """
    if not rows:
        raise ValueError("no rows to show")
    names = [field.name for field in attrs.fields(cast(Any, type(rows[0]))) if field.name not in skip]
    titles = {name: heading_of(name) for name in names} | dict(heads or {})
    return table([titles[name] for name in names], [_cells(row, names) for row in rows])


def _cells(row: object, names: Sequence[str]) -> list[str]:
    cells = [shown(getattr(row, name)) for name in names]
    if not cells[0].startswith("`"):
        cells[0] = code(cells[0])
    return cells


def prose(text: str) -> str:
    """One paragraph, wrapped."""
    return textwrap.fill(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False)


def page(title: str, intro: str, *sections: str) -> str:
    """A whole page: banner, title, a paragraph of two or three sentences, and the sections as they are."""
    return "\n\n".join((f"<!-- {BANNER} -->", f"# {title}", prose(intro), *sections)) + "\n"
