"""`python -m chongming_task audit [DB]`: exit codes, one finding per line, and files that are not what they seem."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from chongming_spec.audit import INVARIANTS
from chongming_spec.snapshot import Transition
from chongming_task.__main__ import main
from chongming_task.stores._codec import dumps
from chongming_task.stores.sqlite import SqliteTaskStore
from tests.integration.sqlite_lives import LIVES, RUN, Life, Time, damage


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A closed database with two tasks."""
    path, time = tmp_path / "tasks.db", Time()
    store = SqliteTaskStore(path)
    Life(store, "one", time).walk(*LIVES["succeeds"])
    Life(store, "two", time).walk(*RUN)
    store.close()
    return path


def audited(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str], str]:
    """Exit code, the lines of the report, and the error."""
    code = main(["audit", *arguments])
    out, err = capsys.readouterr()
    return code, out.splitlines(), err


def test_a_clean_database(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 0 and one line with what was looked at."""
    clean = f"clean: 2 tasks, 9 records, {len(INVARIANTS)} invariants checked"
    assert audited(capsys, str(database)) == (0, [clean], "")


def test_findings_are_one_per_line_and_escaped(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 1; a name that would move the cursor or the reading direction is shown escaped (D41)."""
    damage(
        database,
        "UPDATE tasks SET ended_at = NULL WHERE task_id = 'one'",
        "UPDATE commands SET state = 'x'",
        "UPDATE tasks SET status = char(27) || '[2J' || char(8238) || char(10) WHERE task_id = 'two'",
    )
    code, lines, err = audited(capsys, str(database))
    assert (code, err) == (1, "")
    assert lines[0] == "invariant 2, task 'one', version 5: it is succeeded and ended_at is missing"
    assert lines[1].startswith("invariant 16, task 'two': tasks: column status")
    assert all(line.isprintable() for line in lines)


def test_the_database_of_the_environment(
    database: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """CHONGMING_DB names it where the command does not; without both the use is wrong."""
    monkeypatch.setenv("CHONGMING_DB", str(database))
    assert audited(capsys)[0] == 0
    monkeypatch.delenv("CHONGMING_DB")
    with pytest.raises(SystemExit) as caught:
        main(["audit"])
    assert caught.value.code == 2
    assert "set CHONGMING_DB" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["audit", "a", "b"], ["judge"]])
def test_wrong_use(arguments: list[str]) -> None:
    """Exit 2."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2


def _history(path: Path, task_id: str = "one") -> list[Transition]:
    store = SqliteTaskStore(path, read_only=True)
    records = store.history(task_id)
    store.close()
    return records


def test_a_history_in_json_lines(database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One record per line: what needs no row is checked, and a bad line or record is named."""
    file = tmp_path / "history.jsonl"
    lines = [dumps(one) for one in _history(database)]
    file.write_text("\n".join(lines) + "\n")
    code, (said,), _ = audited(capsys, str(file))
    assert (code, said.startswith("clean: 1 tasks, 5 records, ")) == (0, True)
    file.write_text("\n".join([lines[0], lines[2]]))
    assert audited(capsys, str(file))[:2] == (1, ["invariant 17, task 'one', version 3: version 3 follows 1"])
    file.write_text("\n".join([*lines[:4], "{", '{"task_id": 1}', lines[4].replace('"attempt":1', '"attempt": 1.0')]))
    code, said_lines, _ = audited(capsys, str(file))
    assert (code, [line[:29] for line in said_lines]) == (1, [f"invariant 16: records: line {n}" for n in (5, 6, 7)])
    file.write_text("")
    assert audited(capsys, str(file))[0] == 0


@pytest.mark.parametrize("content", [None, b"no database", b"SQLite format 3\x00 and then nothing of use"])
def test_a_file_that_is_neither(content: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 1 with one sentence, never a traceback, and nothing on the report."""
    path = tmp_path / "x\x1b.db"
    if content is not None:
        path.write_bytes(content)
    code, lines, err = audited(capsys, str(path))
    assert (code, lines) == (1, [])
    assert "x\\x1b.db" in err
    assert err.count("\n") == 1


def test_a_directory_and_a_locked_file(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                       monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    """Both are told as what they are."""
    assert "is a directory" in audited(capsys, str(tmp_path))[2]
    path = tmp_path / "tasks.db"
    path.write_bytes(b"x")

    opened = Path.open

    def denied(self: Path, mode: str = "r", **more: Any) -> Any:
        if mode == "rb":
            raise PermissionError(13, "Permission denied")
        return opened(self, mode, **more)

    monkeypatch.setattr(Path, "open", denied)
    assert "Permission denied; check its permissions" in audited(capsys, str(path))[2]


def test_every_byte_region_may_be_damaged(database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A stretch of the file turned over anywhere: always a report or an error, exit 0 or 1, never a traceback."""
    raw, found = database.read_bytes(), 0
    for at in range(0, len(raw), 1536):
        spoilt = bytearray(raw)
        for n in range(at, min(at + 600, len(raw))):
            spoilt[n] ^= 0x5A
        path = tmp_path / "spoilt.db"
        path.write_bytes(spoilt)
        found += audited(capsys, str(path))[0]
    assert found > 10


def test_as_a_program(database: Path) -> None:
    """`python -m chongming_task` is the way in."""
    done = subprocess.run(
        [sys.executable, "-m", "chongming_task", "audit", str(database)], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout[:6], done.stderr) == (0, "clean:", "")
