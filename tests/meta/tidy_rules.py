"""The house rules that a program can check, as functions from source text to a list of complaints.

- A file has at most 400 lines, a function at most 60, from its `def` to its last line.
- Outside the spec no `TaskStatus` is compared with a member, nor matched against one: ask the spec.
- The library uses no ThreadPoolExecutor: one stuck body would hold the process at exit.
- A test says in its docstring which behaviour it pins.
- Nothing is left for later, and no text speaks of a place outside the project.

Files named `_generated_*` are skipped: their generator answers for them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

FILE_LINES = 400
FUNCTION_LINES = 60

# Spelt in pieces, so that this file passes its own check. `for now in …` is a loop.
FORBIDDEN = {
    "for" + " now": re.compile("for" + r" now\b(?! in\b)", re.IGNORECASE),
    "TO" + "DO": re.compile(r"\bTO" + r"DO\b"),
    "FIX" + "ME": re.compile(r"\bFIX" + r"ME\b"),
    "X" * 3: re.compile(rf"\b{'X' * 3}\b"),
    "sha" + "red/": re.compile(r"\bsha" + r"red/"),
}


Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(source: str) -> Iterator[Function]:
    """Every function of a module, methods and nested ones included."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def file_too_long(source: str) -> list[str]:
    """At most `FILE_LINES` lines."""
    count = len(source.splitlines())
    return [f"{count} lines, at most {FILE_LINES}"] if count > FILE_LINES else []


def functions_too_long(source: str) -> list[str]:
    """At most `FUNCTION_LINES` lines from `def` to the end, docstring included, decorators not."""
    found = []
    for node in functions(source):
        count = (node.end_lineno or node.lineno) - node.lineno + 1
        if count > FUNCTION_LINES:
            found.append(f"{node.lineno}: {node.name} has {count} lines, at most {FUNCTION_LINES}")
    return found


def _status_names(tree: ast.Module) -> set[str]:
    """What this module calls `TaskStatus`."""
    names = {"TaskStatus"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names |= {a.asname for a in node.names if a.name == "TaskStatus" and a.asname}
    return names


def _names_a_member(node: ast.AST, statuses: set[str]) -> bool:
    """Whether `TaskStatus.MEMBER` or `module.TaskStatus.MEMBER` occurs in this expression."""
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute):
            owner = part.value
            if isinstance(owner, ast.Name) and owner.id in statuses:
                return True
            if isinstance(owner, ast.Attribute) and owner.attr == "TaskStatus":
                return True
    return False


def status_comparisons(source: str) -> list[str]:
    """No comparison (`==`, `is`, `in`, …) and no `case` names a member of `TaskStatus`."""
    tree = ast.parse(source)
    statuses = _status_names(tree)
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and _names_a_member(node, statuses):
            lines.append(node.lineno)
        if isinstance(node, ast.MatchValue) and _names_a_member(node, statuses):
            lines.append(node.lineno)
    return [f"{line}: compares a TaskStatus with a member; ask the spec" for line in lines]


def pool_uses(source: str) -> list[str]:
    """`ThreadPoolExecutor` is neither imported nor named."""
    found = []
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Attribute):
            names = [node.attr]
        elif isinstance(node, ast.Name):
            names = [node.id]
        if "ThreadPoolExecutor" in names:
            found.append(f"{getattr(node, 'lineno', 0)}: uses ThreadPoolExecutor")
    return found


def silent_tests(source: str) -> list[str]:
    """Each function named `test_…` has a docstring."""
    return [
        f"{node.lineno}: {node.name} does not say which behaviour it pins"
        for node in functions(source)
        if node.name.startswith("test_") and not ast.get_docstring(node)
    ]


def forbidden_words(text: str) -> list[str]:
    """None of `FORBIDDEN`, in whatever kind of file."""
    return [
        f"{number}: says {word!r}"
        for number, line in enumerate(text.splitlines(), start=1)
        for word, pattern in FORBIDDEN.items()
        if pattern.search(line)
    ]
