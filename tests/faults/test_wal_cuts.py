"""A power cut at any frame of the write-ahead log: what opens afterwards is exactly what had been committed by then.

A workload is recorded once with the size of the log after each acknowledged write. The log is then cut at every frame
boundary and inside frames, or a frame is torn, and the file opened anew. SQLite checks its frames by checksums, so the
length of the history that must come back is known exactly for each cut.
"""

from __future__ import annotations

import shutil
from bisect import bisect_right
from pathlib import Path

import attrs
import pytest

from chongming_spec.snapshot import Transition
from chongming_task.stores.sqlite import SqliteTaskStore
from tests.faults.scenes import all_records, count, dice, findings, run_lives

HEADER, FRAME_HEADER = 32, 24


@attrs.frozen
class Recording:
    """A database, its log, the whole history, and after each commit the size of the log and of the history."""

    base: bytes
    log: bytes
    records: list[Transition]
    sizes: list[int]
    lengths: list[int]

    @property
    def frame(self) -> int:
        """Bytes of one frame."""
        return FRAME_HEADER + int.from_bytes(self.log[8:12], "big")

    @property
    def frames(self) -> int:
        """How many frames there are."""
        return (len(self.log) - HEADER) // self.frame

    def expected(self, sound: int) -> int:
        """How many records come back when the first `sound` bytes of the log are sound."""
        place = bisect_right(self.sizes, sound)
        return self.lengths[place - 1] if place else 0


def record(folder: Path, lives: int) -> Recording:
    """Write that many lives, and keep the files as they stand before any checkpoint."""
    path = folder / "recorded.db"
    log = path.with_name("recorded.db-wal")
    store = SqliteTaskStore(path)
    connection, _ = store._file._connection("write")
    connection.execute("PRAGMA wal_autocheckpoint=0").close()
    sizes: list[int] = []
    lengths: list[int] = []

    def acked(stored: object) -> None:
        sizes.append(log.stat().st_size)
        lengths.append(len(lengths) + 1)

    run_lives(store, lives, acked=acked)
    records = all_records(store)
    assert len(records) == len(lengths)
    recording = Recording(path.read_bytes(), log.read_bytes(), records, sizes, lengths)
    store.close()
    return recording


def opened(recording: Recording, path: Path, log: bytes, sound: int) -> None:
    """Open the file with that log; the history must be the one committed in its first `sound` bytes."""
    path.write_bytes(recording.base)
    path.with_name(f"{path.name}-wal").write_bytes(log)
    store = SqliteTaskStore(path)
    found = all_records(store)
    rows = {one.task_id: one.status_version for one in store.query()}
    store.close()
    assert found == recording.records[: recording.expected(sound)]
    assert rows == {one.task_id: one.version for one in found}
    assert findings(path) == []


@pytest.mark.parametrize("lives", [4, 12])
def test_a_log_cut_anywhere_gives_back_what_was_committed(tmp_path: Path, lives: int) -> None:
    """D29: at every frame boundary, inside a frame, and with one torn byte; never more, never less."""
    recording = record(tmp_path, lives)
    choices = dice(f"wal/{lives}")
    some = count("WAL_CUTS", 60, 1_000_000) // 3
    frames = list(range(recording.frames + 1))
    if some < len(frames):
        frames = sorted({0, recording.frames, *choices.sample(frames, some)})
    folder = tmp_path / "cut"
    for number in frames:
        end = HEADER + number * recording.frame
        inside = min(len(recording.log), end + choices.randrange(1, recording.frame))
        torn = bytearray(recording.log[:end])
        hit = choices.randrange(end)
        torn[hit] ^= 1 << choices.randrange(8)
        sound = HEADER + (hit - HEADER) // recording.frame * recording.frame if hit >= HEADER else 0
        logs = ((recording.log[:end], end), (recording.log[:inside], end), (bytes(torn), sound))
        for log, good in logs:
            if log is logs[1][0] and inside == len(recording.log):
                good = inside
            folder.mkdir()
            opened(recording, folder / "tasks.db", log, good)
            shutil.rmtree(folder)


def test_the_expectation_can_fail(tmp_path: Path) -> None:
    """The oracle tells a lost commit: with fewer frames than it is told of, it complains."""
    recording = record(tmp_path, 4)
    cut = recording.log[: HEADER + recording.frame * (recording.frames // 2)]
    folder = tmp_path / "cut"
    folder.mkdir()
    with pytest.raises(AssertionError):
        opened(recording, folder / "tasks.db", cut, len(recording.log))
