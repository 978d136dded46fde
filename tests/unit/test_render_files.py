"""Generated files on disk: compared as whole text, and nobody else's file is touched."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from chongming_spec.render import __main__ as command
from chongming_spec.render import pages
from chongming_spec.render.files import differences, is_generated, write

FIRST = "# generated, do not edit\n"
TEXTS = {"a.md": FIRST + "a\n", "deep/b.md": FIRST + "b\n"}


def test_what_is_written_is_what_is_compared(tmp_path: Path) -> None:
    """After a write nothing differs, and a second write has nothing to do."""
    assert differences(tmp_path, TEXTS) == ["a.md: missing", "deep/b.md: missing"]
    assert write(tmp_path, TEXTS) == ["a.md: missing", "deep/b.md: missing"]
    assert differences(tmp_path, TEXTS) == []
    assert write(tmp_path, TEXTS) == []
    assert (tmp_path / "deep/b.md").read_bytes() == TEXTS["deep/b.md"].encode()


@pytest.mark.parametrize("change", [b" ", b"\r\n", b"\n"])
def test_any_other_byte_is_a_difference(tmp_path: Path, change: bytes) -> None:
    """Whole text means whole: a blank or another line end counts."""
    write(tmp_path, TEXTS)
    path = tmp_path / "a.md"
    path.write_bytes(path.read_bytes() + change)
    assert differences(tmp_path, TEXTS) == ["a.md: differs"]
    write(tmp_path, TEXTS)
    assert differences(tmp_path, TEXTS) == []


def test_a_file_that_is_no_longer_generated_goes(tmp_path: Path) -> None:
    """A page that lost its table is a leftover; a file without the mark, or of another kind, is none."""
    write(tmp_path, TEXTS)
    (tmp_path / "old.md").write_text(FIRST, encoding="utf-8")
    (tmp_path / "mine.md").write_text("# mine\n", encoding="utf-8")
    (tmp_path / "old.py").write_text(FIRST, encoding="utf-8")
    assert differences(tmp_path, TEXTS) == ["old.md: no longer generated"]
    write(tmp_path, TEXTS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.md", "deep", "mine.md", "old.py"]


def test_a_file_that_nobody_generated_is_never_overwritten(tmp_path: Path) -> None:
    """A README of somebody else's stops the write before anything was written."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/b.md").write_text("# mine\n", encoding="utf-8")
    with pytest.raises(FileExistsError, match="was not generated"):
        write(tmp_path, TEXTS)
    assert not (tmp_path / "a.md").exists()
    assert (tmp_path / "deep/b.md").read_text(encoding="utf-8") == "# mine\n"


def test_the_mark_is_looked_for_in_the_first_line(tmp_path: Path) -> None:
    """Later lines may say anything, and a file need not be text."""
    path = tmp_path / "x"
    path.write_bytes(b"\xff\xfe\n" + FIRST.encode())
    assert not is_generated(path)


def test_every_page_carries_the_mark(tmp_path: Path) -> None:
    """Else a page could not be written twice."""
    write(tmp_path, pages())
    assert all(is_generated(tmp_path / name) for name in pages())


def test_the_command_writes_and_then_finds_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`render DIR` writes the pages and says which, `render --check DIR` is silent then."""
    assert command.main([str(tmp_path)]) == 0
    assert "states.md: missing" in capsys.readouterr().out
    assert command.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == "nothing to do\n"
    assert command.main(["--check", str(tmp_path)]) == 0
    assert capsys.readouterr() == ("", "")


def test_the_check_names_the_page_and_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A page that differs makes exit code 1, and nothing is written."""
    command.main([str(tmp_path)])
    (tmp_path / "verbs.md").write_text(FIRST, encoding="utf-8")
    capsys.readouterr()
    assert command.main(["--check", str(tmp_path)]) == 1
    err = capsys.readouterr().err
    assert err == f"verbs.md: differs\nrun: python -m chongming_spec.render {tmp_path}\n"
    assert (tmp_path / "verbs.md").read_text(encoding="utf-8") == FIRST


def test_the_command_refuses_a_folder_of_somebody_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, the reason on stderr, and the file as it was."""
    (tmp_path / "README.md").write_text("# mine\n", encoding="utf-8")
    assert command.main([str(tmp_path)]) == 2
    assert "was not generated" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]


def test_the_module_is_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`python -m chongming_spec.render --check DIR` exits with the command's code."""
    monkeypatch.setattr(sys, "argv", ["render", "--check", str(tmp_path)])
    with pytest.raises(SystemExit) as exit_info:
        runpy.run_path(command.__file__, run_name="__main__")
    assert exit_info.value.code == 1
