"""What texts may be: names, ids, actors and reasons (D2, D41, and the issue's rules for ids).

Any Unicode text is welcome but NUL and lone surrogates, which no store and no terminal can keep. Whether a demanded
actor or reason was really given is judged after everything invisible is taken away. What is shown on a terminal
escapes control and bidirectional characters, so that a name cannot rewrite the line it stands in.
"""

from __future__ import annotations

import unicodedata

from chongming_spec.errors import ConfigurationError

_INVISIBLE = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
_FILLERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")


def is_blank(text: str | None) -> bool:
    """Whether nothing of `text` can be seen."""
    return not text or all(unicodedata.category(c) in _INVISIBLE or c in _FILLERS for c in text)


def check_text(argument: str, text: object) -> str:
    """Return `text`; ConfigurationError naming `argument` where it is no str, or has NUL or a lone surrogate."""
    if not isinstance(text, str):
        raise ConfigurationError(f"{argument} must be a str, not {type(text).__name__}")
    if text.isascii():
        broken = "\0" in text
    else:
        broken = "\0" in text or any("\ud800" <= c <= "\udfff" for c in text)
    if broken:
        raise ConfigurationError(f"{argument} must not contain NUL or lone surrogates; leave them out")
    return text


def check_id(argument: str, text: object) -> str:
    """The same for an id, which also must not be empty or hold line breaks."""
    if isinstance(text, str) and text.isidentifier() and text.isascii():
        return text
    text = check_text(argument, text)
    if is_blank(text):
        raise ConfigurationError(f"{argument} must not be empty; give it at least one visible character")
    if text.splitlines() != [text]:
        raise ConfigurationError(f"{argument} must not contain line breaks; leave them out")
    return text


def shown(text: str) -> str:
    """`text` with every character that could move the cursor or the reading direction escaped (D41)."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if not unicodedata.category(c).startswith(("C", "Zl", "Zp")) else _escape(c) for c in text)


def _escape(c: str) -> str:
    return c.encode("unicode_escape", "backslashreplace").decode("ascii")
