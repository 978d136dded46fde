"""Signs of life: counted at checkpoints, stamped by beat, never by progress (D16, P-086)."""

from __future__ import annotations

from chongming_task.runtime.cancellation import CancellationToken
from chongming_task.runtime.context import TaskContext
from chongming_task.runtime.heartbeat import Heartbeat
from chongming_task.testing import FakeClock
from tests.unit.carriers import Recorder, request


def test_beat_stamps_the_exact_time() -> None:
    """D16: the monotonic time of the last beat, None before."""
    clock = FakeClock()
    heartbeat = Heartbeat(clock)
    assert (heartbeat.count, heartbeat.last_beat_ms) == (0, None)
    clock.advance(1.5)
    heartbeat.beat()
    assert (heartbeat.count, heartbeat.last_beat_ms) == (0, 1500)


def test_a_checkpoint_counts_and_progress_does_not() -> None:
    """A body that only reports progress shows no sign of life (D16, P-086)."""
    ctx = TaskContext(request(print), Recorder(), CancellationToken())
    ctx.progress(1, total=2)
    ctx.log("busy")
    assert (ctx.heartbeat.count, ctx.heartbeat.last_beat_ms) == (0, None)
    ctx.checkpoint()
    ctx.checkpoint()
    assert ctx.heartbeat.count == 2
    ctx.heartbeat.beat()
    assert ctx.heartbeat.last_beat_ms is not None
