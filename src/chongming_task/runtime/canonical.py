"""What a body returned, as the JSON value that everybody sees from then on (D19).

A result is made canonical once, with or without a store: dumped, loaded, and that value kept. So a tuple is a
list from the start, and nobody can change it afterwards. Whatever JSON cannot hold is refused with a sentence:
NaN and infinities, keys that are no strings, NUL and lone surrogates, cycles, too deep or too large values, and
any other type.
"""

from __future__ import annotations

import json
from typing import Any


class InvalidResult(ValueError):
    """The value is not JSON; the message says why."""


def canonical(value: Any, max_bytes: int) -> Any:
    """The canonical form of `value`; InvalidResult if it has none or needs more than `max_bytes` of UTF-8 as JSON."""
    if value is None or value is True or value is False:
        return value
    _look_through(value, max_bytes)
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        size = len(text.encode("utf-8"))
        if size > max_bytes:
            raise InvalidResult(f"the result takes {size} bytes as JSON, at most {max_bytes} are allowed")
        return json.loads(text)
    except RecursionError:
        raise InvalidResult("the result is nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise (
            error if isinstance(error, InvalidResult) else InvalidResult(f"the result is not JSON: {error}")
        ) from error


def _look_through(value: Any, max_bytes: int) -> None:
    """Check keys and texts without recursion. Every value takes a byte, so more of them than bytes need no dump."""
    left = max_bytes
    pending = [value]
    while pending:
        one = pending.pop()
        left -= 1
        if isinstance(one, str):
            _check_text(one)
        elif isinstance(one, dict):
            for key in one:
                if not isinstance(key, str):
                    raise InvalidResult(f"the result has a key that is no string: {type(key).__name__}; use strings")
                _check_text(key)
            pending.extend(one.values())
        elif isinstance(one, (list, tuple)):
            pending.extend(one)
        if left < 0 or len(pending) > max_bytes:
            raise InvalidResult(f"the result is cyclic, or larger than the {max_bytes} bytes that are allowed")


def _check_text(text: str) -> None:
    if "\0" in text:
        raise InvalidResult("the result has a text with NUL; leave it out")
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise InvalidResult("the result has a text with a lone surrogate; leave it out") from None
