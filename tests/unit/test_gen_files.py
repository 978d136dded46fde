"""The generated files of the project are what the spec says."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from chongming_gen import COMMAND, ROOT, generated
from chongming_gen import __main__ as command
from chongming_spec.render.files import differences, write

GENERATED = generated()


@pytest.mark.parametrize("name", sorted(GENERATED))
def test_a_generated_file_is_fresh(name: str) -> None:
    """Whole text: whoever changes a row, or a generated file, runs `make gen`."""
    path = ROOT / name
    assert path.is_file(), f"{name} is missing; run `{COMMAND}`"
    assert path.read_text(encoding="utf-8") == GENERATED[name], f"{name} is stale; run `{COMMAND}`"


def test_nothing_is_left_over() -> None:
    """A file that is no longer generated goes with its table."""
    assert differences(ROOT, GENERATED) == [], f"run `{COMMAND}`"


def test_the_command_writes_and_then_finds_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It writes every file and says which; the check is silent then."""
    assert command.main(["--root", str(tmp_path)]) == 0
    assert "docs/reference/states.md: missing" in capsys.readouterr().out
    assert command.main(["--root", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "nothing to do\n"
    assert command.main(["--check", "--root", str(tmp_path)]) == 0
    assert capsys.readouterr() == ("", "")


def test_the_check_names_the_one_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A changed file makes exit code 1, names itself and `make gen`, and stays as it is."""
    write(tmp_path, GENERATED)
    path = tmp_path / "src/chongming_task/core/_generated_verbs.py"
    path.write_text(path.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
    assert command.main(["--check", "--root", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "src/chongming_task/core/_generated_verbs.py: differs\nrun: make gen\n"
    assert path.read_text(encoding="utf-8").endswith("# mine\n")


def test_the_module_is_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`python -m chongming_gen --check` exits with the command's code."""
    monkeypatch.setattr(sys, "argv", ["gen", "--check", "--root", str(tmp_path)])
    monkeypatch.delitem(sys.modules, "chongming_gen.__main__", raising=False)
    with pytest.raises(SystemExit) as exit_info:
        runpy.run_module("chongming_gen", run_name="__main__")
    assert exit_info.value.code == 1
