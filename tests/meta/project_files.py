"""The project's files: what git tracks or would track, else (in an archive) what is there."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE_FOLDERS = ("spec", "src", "models", "tests", "benchmarks", "docs")
_NOT_OURS = ("__pycache__", "build", "dist", "htmlcov")


def _listed_by_git() -> list[Path] | None:
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        return None
    command = [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if answer.returncode:
        return None
    return [ROOT / name for name in answer.stdout.decode().split("\0") if name]


def _found_on_disk() -> list[Path]:
    def ours(path: Path) -> bool:
        folders = path.relative_to(ROOT).parts[:-1]
        hidden = any(name.startswith(".") and name != ".ci" for name in folders)
        return not hidden and not any(name in _NOT_OURS for name in folders)

    return [path for path in ROOT.rglob("*") if ours(path)]


@cache
def project_files() -> tuple[Path, ...]:
    """Every file of the project, generated ones left out, sorted."""
    listed = _listed_by_git()
    found = _found_on_disk() if listed is None else listed
    return tuple(sorted(p for p in found if p.is_file() and not p.name.startswith("_generated_")))


def python_files(*folders: str) -> list[Path]:
    """The Python files below these folders of the project, or below all that hold code."""
    wanted = [ROOT / name for name in folders or CODE_FOLDERS]
    return [
        path
        for path in project_files()
        if path.suffix == ".py" and any(path.is_relative_to(folder) for folder in wanted)
    ]


def text_files() -> list[tuple[Path, str]]:
    """Every file of the project that is UTF-8 text, with its text."""
    found = []
    for path in project_files():
        try:
            found.append((path, path.read_text(encoding="utf-8")))
        except UnicodeDecodeError:
            continue
    return found
