"""What a user installs: two typed packages in one wheel, two dependencies, a light import."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from typing import Any

import pytest

from tests.meta.project_files import ROOT

PACKAGES = ("spec/chongming_spec", "src/chongming_task")
HEAVY = ("asyncio", "multiprocessing", "rich", "sqlite3", "subprocess", "concurrent.futures")


def pyproject() -> dict[str, Any]:
    """The project's own description."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def modules_loaded_by(statement: str) -> set[str]:
    """What a fresh interpreter has loaded after the statement and had not before."""
    program = (
        f"import sys; before = set(sys.modules); {statement}; print('\\n'.join(sorted(set(sys.modules) - before)))"
    )
    path = os.pathsep.join(str(ROOT / folder) for folder in ("spec", "src"))
    environment = {name: value for name, value in os.environ.items() if name != "CHONGMING_CONTRACTS"}
    answer = subprocess.run(
        [sys.executable, "-c", program],
        env={**environment, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return set(answer.stdout.split())


@pytest.mark.parametrize("package", PACKAGES)
def test_each_package_says_that_it_is_typed(package: str) -> None:
    """A consumer's type checker reads our annotations only beside a `py.typed`."""
    assert (ROOT / package / "py.typed").is_file()
    assert (ROOT / package / "__init__.py").is_file()


def test_the_wheel_holds_both_packages_and_nothing_else() -> None:
    """The spec ships with the program that asks it; generator, models and tests do not."""
    wheel = pyproject()["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel == {"packages": list(PACKAGES)}


def test_the_runtime_needs_two_libraries() -> None:
    """D38: attrs and icontract are all a user gets beside us."""
    names = [re.split(r"[<>=!~ \[;]", line)[0] for line in pyproject()["project"]["dependencies"]]
    assert names == ["attrs", "icontract"]


def test_the_changelog_knows_the_version() -> None:
    """The version that would be built has its section."""
    version = pyproject()["project"]["version"]
    headings = re.findall(r"^## .*$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert any(version in heading for heading in headings)


@pytest.mark.parametrize("package", ["chongming_spec", "chongming_task"])
def test_importing_a_package_stays_light(package: str) -> None:
    """What only some users need is imported where it is used (contracts off, as outside tests)."""
    loaded = modules_loaded_by(f"import {package}")
    assert package in loaded
    assert loaded.isdisjoint(HEAVY)


def test_a_heavy_import_would_be_seen() -> None:
    """The check itself can fail."""
    assert "sqlite3" in modules_loaded_by("import sqlite3")
