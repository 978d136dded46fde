"""A pytest plugin that adds the conformance run of one store to a test run.

    pytest -p chongming_spec.conformance.plugin --chongming-target mypackage.stores:make

`--chongming-skips FILE` names a file with one method per line that the store does not have yet (`#` begins a comment);
`--chongming-report FILE` gets the report as JSON. Without a target the plugin does nothing. The `pytest11` entry point,
if there is one, must bear this module's name, or pytest registers it twice.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from chongming_spec.conformance.run import run_conformance, target_named
from chongming_spec.errors import ConfigurationError

NAME = "store_conformance"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, all of one group."""
    group = parser.getgroup("chongming")
    group.addoption("--chongming-target", metavar="MODULE:FACTORY", help="store factory to drive; takes a clock")
    group.addoption("--chongming-skips", metavar="FILE", help="methods the store does not have yet, one per line")
    group.addoption("--chongming-report", metavar="FILE", help="write the conformance report here, as JSON")
    group.addoption("--chongming-examples", metavar="N", type=int, default=100, help="random lives (default: 100)")
    group.addoption("--chongming-seed", metavar="N", type=int, default=0, help="random seed (default: 0)")


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say which store is driven."""
    target = config.getoption("--chongming-target")
    if not target:
        return []
    skips = skipped(config.getoption("--chongming-skips"))
    examples, seed = config.getoption("--chongming-examples"), config.getoption("--chongming-seed")
    said = f"; skipped: {', '.join(skips)}" if skips else ""
    return [f"chongming conformance: target {target}; {examples} examples, seed {seed}{said}"]


def skipped(path: str | None) -> list[str]:
    """The methods a skips file names; UsageError if it cannot be read."""
    if path is None:
        return []
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise pytest.UsageError(f"--chongming-skips: {error}") from None
    return [name for name in (line.partition("#")[0].strip() for line in lines) if name]


class ConformanceItem(pytest.Item):
    """The conformance run as one test."""

    def runtest(self) -> None:
        """Drive the target; fail with what was found."""
        option = self.config.getoption
        report = run_conformance(
            target_named(option("--chongming-target")),
            examples=option("--chongming-examples"),
            seed=option("--chongming-seed"),
            skip=skipped(option("--chongming-skips")),
        )
        report.target = option("--chongming-target")
        path = option("--chongming-report")
        if path is not None:
            Path(path).write_text(json.dumps(report.as_json(), indent=2) + "\n", encoding="utf-8")
        if not report.ok:
            pytest.fail(f"the store does not conform\n{report.failure}", pytrace=False)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where the item is said to come from."""
        return Path(__file__), None, f"{NAME}[{self.config.getoption('--chongming-target')}]"


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, Any, Any]:
    """Add the run after whatever else was collected, also when nothing was."""
    target = session.config.getoption("--chongming-target")
    if target:
        try:
            target_named(target)
        except ConfigurationError as error:
            raise pytest.UsageError(f"--chongming-target: {error}") from None
    result: Any = yield
    if target:
        item = ConformanceItem.from_parent(session, name=NAME, nodeid=NAME)
        session.items.append(item)
        session.testscollected += 1
    return result
