"""Names that are not known, and what was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from chongming_spec.errors import ConfigurationError
from chongming_spec.states import TaskStatus


def near(name: str, known: Iterable[str]) -> str:
    """The nearest known name as a question, or all of them."""
    names = [str(one) for one in known]
    matches = get_close_matches(name, names, 1)
    return f"did you mean {matches[0]!r}?" if matches else f"known are {', '.join(names)}"


def status_named(name: TaskStatus | str) -> TaskStatus:
    """The status of that name; ConfigurationError with near matches for any other."""
    try:
        return TaskStatus(name)
    except ValueError:
        raise ConfigurationError(f"unknown state {name!r}; {near(str(name), TaskStatus)}") from None
