"""Texts that come out of a body, made fit to be kept: no NUL, no lone surrogate, not too long (D18, D41)."""

from __future__ import annotations

MESSAGE_BYTES = 8 * 1024
TRACEBACK_BYTES = 64 * 1024
CUT = "\n… cut …\n"


def storable(text: str) -> str:
    """`text` with NUL and lone surrogates written as escapes."""
    if text.isascii():
        return text.replace("\0", "\\x00") if "\0" in text else text
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


def capped(text: str, limit: int, tail: int = 0) -> str:
    """`text` within `limit` bytes of UTF-8; what is cut out lies before the last `tail` bytes and is marked."""
    raw = text.encode("utf-8")
    if len(raw) <= limit:
        return text
    head = raw[: limit - tail - len(CUT.encode("utf-8"))].decode("utf-8", "ignore")
    end = raw[len(raw) - tail :].decode("utf-8", "ignore")
    return head + CUT + end
