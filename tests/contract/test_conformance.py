"""The conformance run: on the memory store, from a program and as a pytest plugin."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from chongming_spec.conformance import run_conformance
from chongming_spec.conformance.report import ManualClock
from chongming_spec.conformance.run import target_named
from chongming_spec.errors import ConfigurationError
from chongming_spec.store_model import METHODS
from chongming_task.stores.memory import InMemoryTaskStore

ROOT = Path(__file__).resolve().parents[2]
NEVER_DRAWN = {"get", "arguments", "counts", "history", "feed", "attempts", "owners", "command", "get_run", "runs"}
ONLY_READ = NEVER_DRAWN | {"tombstone", "lines", "close"}


def memory(clock: ManualClock) -> InMemoryTaskStore:
    """The target."""
    return InMemoryTaskStore(clock=clock)  # type: ignore[arg-type]


def forgetful(clock: ManualClock) -> InMemoryTaskStore:
    """A target that keeps no lines."""
    store = memory(clock)
    store.lines = lambda task_id: []  # type: ignore[method-assign]
    return store


def test_the_memory_store_conforms() -> None:
    """Random lives of three tasks, two owners and a moving clock agree with the model; every write is called."""
    report = run_conformance(memory, examples=settings().max_examples, seed=3)
    assert report.failure is None
    assert METHODS.keys() - report.calls.keys() == ONLY_READ
    assert report.refusals.keys() >= {"ConcurrencyConflict", "Fenced", "StoreCorruption", "TaskExists", "StoreError"}


def test_a_failure_is_told_with_its_calls() -> None:
    """The report says what differs and by which calls it came to that."""
    report = run_conformance(forgetful, examples=20, seed=1, shrink=False)
    assert not report.ok
    assert "lines(" in (report.failure or "")
    assert "state.begin(" in (report.failure or "")
    assert json.loads(json.dumps(report.as_json()))["ok"] is False


def test_the_same_seed_is_the_same_run() -> None:
    """A run can be repeated."""
    first, second = (run_conformance(memory, examples=3, seed=11) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("text", ["nowhere:make", "json:nothing", "json", ""])
def test_a_target_that_is_none_is_refused(text: str) -> None:
    """The message says how to name one."""
    with pytest.raises(ConfigurationError, match="module:factory"):
        target_named(text)


def test_arguments_are_checked() -> None:
    """Unknown methods to skip, and counts that are none, are refused at the call."""
    with pytest.raises(ConfigurationError, match="skip"):
        run_conformance(memory, skip={"nothing"})
    with pytest.raises(ConfigurationError, match="examples"):
        run_conformance(memory, examples=0)


def pytest_run(tmp_path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """A pytest of its own in an empty folder, with the plugin."""
    path = os.pathsep.join(str(ROOT / part) for part in ("spec", "src", "."))
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "chongming_spec.conformance.plugin", "-p", "no:cacheprovider",
         "--rootdir", str(tmp_path), *options],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip


def test_the_plugin_drives_a_target(tmp_path: Path) -> None:
    """The header names the target and what is skipped, the item passes, the report is JSON."""
    skips, report = tmp_path / "skips.txt", tmp_path / "report.json"
    skips.write_text("# not yet\nsave_many\n", encoding="utf-8")
    done = pytest_run(
        tmp_path, "--chongming-target", "tests.contract.test_conformance:memory", "--chongming-examples", "3",
        "--chongming-skips", str(skips), "--chongming-report", str(report), "-v",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "target tests.contract.test_conformance:memory; 3 examples, seed 0; skipped: save_many" in done.stdout
    assert "1 passed" in done.stdout
    found = json.loads(report.read_text(encoding="utf-8"))
    assert (found["ok"], found["skipped"], "save_many" in found["calls"]) == (True, ["save_many"], False)


def test_the_plugin_fails_a_wrong_target(tmp_path: Path) -> None:
    """A store that does not conform fails the run; a target that is none is a usage error."""
    wrong = pytest_run(tmp_path, "--chongming-target", "tests.contract.test_conformance:forgetful")
    assert wrong.returncode == 1
    assert "does not conform" in wrong.stdout
    assert pytest_run(tmp_path, "--chongming-target", "nowhere:make").returncode == 4
