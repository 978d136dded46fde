"""What `import chongming_task` offers."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib

import pytest

import chongming_spec
import chongming_task
from chongming_spec.errors import ERRORS
from chongming_task import errors, models, policies, states
from tests.meta.project_files import ROOT

GUIDE = """
TaskStatus TRANSITIONS TERMINAL REVIVABLE task TaskContext TaskRun run_task TaskOutcome TaskSnapshot Progress Failure
FailureKind AttemptRecord Transition RequestedAction RetryPolicy FixedBackoff ExponentialBackoff Jitter Timeout
StateMachine ThreadExecutor InlineExecutor CancellationToken Clock __version__ SPEC_VERSION
"""


def test_all_is_exactly_what_is_promised() -> None:
    """D43: the names of the guide that exist today, and every error; none twice."""
    wanted = {*GUIDE.split(), *(error.__name__ for error in ERRORS)}
    assert set(chongming_task.__all__) == wanted
    assert len(chongming_task.__all__) == len(wanted)


@pytest.mark.parametrize("name", chongming_task.__all__)
def test_every_name_is_there(name: str) -> None:
    """`from chongming_task import *` works, name by name."""
    assert getattr(chongming_task, name) is not None


def test_names_are_the_same_objects_wherever_they_are_imported_from() -> None:
    """A class imported from two places is one class, so `except` and `isinstance` agree."""
    for module in (errors, models, policies, states):
        for name in set(getattr(module, "__all__", ())) & set(chongming_task.__all__):
            assert getattr(module, name) is getattr(chongming_task, name), name


def test_the_version_is_the_one_that_is_built() -> None:
    """`__version__` and the wheel say the same; the spec has a version of its own."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert chongming_task.__version__ == project["version"]
    assert chongming_task.SPEC_VERSION is chongming_spec.SPEC_VERSION


def test_star_import_brings_all_and_nothing_else() -> None:
    """No helper or submodule slips into a user's namespace."""
    program = "from chongming_task import *; print(*dir())"
    path = os.pathsep.join(str(ROOT / folder) for folder in ("spec", "src"))
    answer = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    public = {name for name in answer.stdout.split() if not name.startswith("__")}
    assert public == {name for name in chongming_task.__all__ if not name.startswith("__")}


def test_what_does_not_exist_yet_is_not_promised() -> None:
    """What other parts will bring is no name of today: importing it fails at once, not at its first use."""
    for name in ("Controller", "ProcessExecutor", "Pipeline"):
        assert not hasattr(chongming_task, name)
