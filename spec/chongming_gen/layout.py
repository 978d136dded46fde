"""Python text laid out as `ruff format` lays it out, so that generated files need no formatter and pass its check.

Only what the generated files hold is covered: heads and calls with a list of arguments, docstrings, and import
lines. The rule for arguments is the formatter's: all on the line, else all on one indented line, else one per line
with a trailing comma.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence

WIDTH = 120
INDENT = "    "


def spread(head: str, arguments: Sequence[str], tail: str, depth: int) -> list[str]:
    """`head(arguments)tail` at `depth` indents, on as many lines as it needs.

    Raises ValueError when an argument does not fit on a line of its own.
    """
    pad, inner = INDENT * depth, INDENT * (depth + 1)
    first, last = f"{pad}{head}(", f"{pad}){tail}"
    joined = ", ".join(arguments)
    whole = f"{first}{joined}){tail}"
    if len(whole) <= WIDTH:
        return [whole]
    if len(inner + joined) <= WIDTH:
        return [first, inner + joined, last]
    each = [f"{inner}{argument}," for argument in arguments]
    for line in (first, *each, last):
        if len(line) > WIDTH:
            raise ValueError(f"no line of {WIDTH} holds: {line.strip()}")
    return [first, *each, last]


def docstring(paragraphs: Sequence[str], depth: int) -> list[str]:
    """A docstring at `depth` indents, wrapped; one line when it fits and is one paragraph."""
    pad = INDENT * depth
    quotes = '"""'
    if len(paragraphs) == 1 and len(pad) + len(paragraphs[0]) + 2 * len(quotes) <= WIDTH:
        return [f"{pad}{quotes}{paragraphs[0]}{quotes}"]
    lines: list[str] = []
    for number, paragraph in enumerate(paragraphs):
        room = WIDTH - len(pad) - (0 if number else len(quotes))
        lines += [*([""] if number else []), *textwrap.wrap(paragraph, room, break_on_hyphens=False)]
    return [pad + quotes + lines[0], *(pad + line if line else "" for line in lines[1:]), pad + quotes]


def imports(modules: Mapping[str, Iterable[str]]) -> list[str]:
    """`from module import names`, sorted by module; names as the import sorter wants them.

    Raises ValueError when a line gets too long.
    """
    lines = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(modules.items())]
    for line in lines:
        if len(line) > WIDTH:
            raise ValueError(f"no line of {WIDTH} holds: {line}")
    return lines
