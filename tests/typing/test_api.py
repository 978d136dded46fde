"""What the type checker is promised is also what runs."""

from __future__ import annotations

from tests.typing import api


def test_the_typed_interface_runs() -> None:
    """The program that `mypy --strict` checks as a user's is also a program that works."""
    api.uses()
