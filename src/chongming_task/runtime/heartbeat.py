"""Signs of life of one attempt (D16).

A checkpoint only counts; the supervisor samples the count and notices when it stands still. `beat` is for code
that cannot reach a checkpoint for a while: it stamps the exact time. Progress is no sign of life (P-086).
"""

from __future__ import annotations

from chongming_task.clock import Clock


class Heartbeat:
    """`count` checkpoints were passed; `last_beat_ms` is the monotonic time of the last exact beat, or None.

    Threads of one body may lose each other's counts; any change is a sign of life, so nothing depends on the
    exact sum.
    """

    __slots__ = ("_clock", "count", "last_beat_ms")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.count = 0
        self.last_beat_ms: int | None = None

    def beat(self) -> None:
        """Say "still at work" at this very moment. Responds to nothing and never blocks."""
        self.last_beat_ms = self._clock.mono_ms()
