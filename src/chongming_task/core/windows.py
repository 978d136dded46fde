"""The grace window of a carrier that was asked to end, and who asked (D6, D14)."""

from __future__ import annotations

from chongming_spec.timeouts import shortened


class Window:
    """Opens with the first request, can only be shortened by later ones, and opens once more while a kill takes
    effect.
    """

    def __init__(self, grace_ms: int, kill_grace_ms: int) -> None:
        self._grace_ms = grace_ms
        self._kill_grace_ms = kill_grace_ms
        self._requests: list[str] = []
        self.end_ms: int | None = None

    @property
    def asked_by(self) -> str:
        """Who asked for what, in order; stands in the reason of the ending."""
        return "; ".join(self._requests)

    def open(self, text: str, now_ms: int, asked_ms: int | None) -> None:
        """The body is asked to end; `asked_ms` can only shorten the declared grace (D16)."""
        self._requests = [text]
        self.end_ms = now_ms + (self._grace_ms if asked_ms is None else min(asked_ms, self._grace_ms))

    def shorten(self, text: str, now_ms: int, asked_ms: int | None) -> None:
        """It is asked again: the window may become shorter, and then it is known who did that."""
        if self.end_ms is None or asked_ms is None:
            return
        end_ms = shortened(self.end_ms, asked_ms, now_ms)
        if end_ms < self.end_ms:
            self.end_ms = end_ms
            self._requests.append(f"window shortened: {text}")

    def open_for_kill(self, now_ms: int) -> None:
        """A kill is under way; if the carrier survives this, nothing more can be done (D6)."""
        self.end_ms = now_ms + self._kill_grace_ms

    def close(self) -> None:
        """The time is over, or the carrier is gone."""
        self.end_ms = None
