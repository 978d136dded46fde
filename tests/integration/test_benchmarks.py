"""The benchmarks keep working: each side runs a few times in its own process. No time is ever asserted."""

from __future__ import annotations

import pytest

from benchmarks.__main__ import main
from benchmarks.catalogue import BENCHMARKS, CHECKPOINT, LIFE, Aim, Benchmark, Ratio, Side
from benchmarks.report import table
from benchmarks.rounds import SideFailed, is_absent, run, run_side

SIDES = [side for benchmark in BENCHMARKS.values() for side in benchmark.sides]
NOWHERE = Side("peer", "no_such_module", "new", 10, needs="no_such_library")


@pytest.mark.parametrize("side", SIDES, ids=lambda side: side.name)
def test_each_side_that_is_present_prints_a_figure(side: Side) -> None:
    """A side does its work ten times, checks that it is the work asked for, and prints one number."""
    if is_absent(side):
        pytest.skip(f"{side.needs} is not installed")
    assert run_side(side, n=10) >= 0


def test_only_peers_can_be_absent() -> None:
    """The library's own sides always run; every other side names the library it needs."""
    assert {side.needs for side in SIDES} == {"", "automat", "transitions", "statemachine"}
    assert not any(is_absent(side) for side in SIDES if side.module in ("chongming", "checkpoint"))


def test_ratios_and_aims_name_sides_that_there_are() -> None:
    """Each ratio is between two sides of its own benchmark, and no name is given twice."""
    for benchmark in BENCHMARKS.values():
        names = [side.name for side in benchmark.sides]
        assert len(names) == len(set(names))
        assert {name for ratio in benchmark.ratios for name in ratio[:2]} <= set(names)


def test_every_side_runs_once_in_every_round() -> None:
    """Rounds go through all sides, so that each ratio has one quotient per round."""
    heard: list[str] = []
    figures = run(CHECKPOINT, rounds=3, n=1, tell=heard.append)
    assert {name: list(rounds) for name, rounds in figures.items()} == {
        "ctx.checkpoint()": [1, 2, 3],
        "empty method": [1, 2, 3],
    }
    assert heard == [f"checkpoint: round {number} of 3" for number in (1, 2, 3)]


def test_an_absent_peer_is_reported_and_the_others_run() -> None:
    """A side whose library is not installed has a row that says so, and no ratio."""
    benchmark = Benchmark("toy", "lives/s", (LIFE.sides[0], NOWHERE), (Ratio("chongming", "peer"),))
    text = table(benchmark, run(benchmark, rounds=1, n=1, tell=lambda line: None))
    assert "| peer | absent: `no_such_library` is not installed | | |" in text
    assert "chongming / peer" not in text


def test_a_side_that_fails_says_so() -> None:
    """A side that ends without its line is named with what it wrote, never counted as a figure."""
    with pytest.raises(SideFailed, match=r"peer: .*no_such_module"):
        run_side(NOWHERE)


def test_ratios_are_of_the_same_round() -> None:
    """Quotients are taken round by round before the median, and an aim says whether the median keeps it."""
    sides = (Side("a", "x", "new", 1), Side("b", "x", "new", 1, aim=Aim("≤", 2.0)))
    benchmark = Benchmark("toy", "lives/s", sides, (Ratio("a", "b", Aim("≥", 5.0)),))
    lines = table(benchmark, {"a": {1: 10.0, 2: 30.0, 3: 6.0}, "b": {1: 1.0, 2: 10.0, 3: 3.0}}).splitlines()
    assert "| b | 3 | 1 – 10 | ≤ 2: missed |" in lines
    assert "| a / b | 3 | 2 – 10 | ≥ 5: missed |" in lines
    assert Aim("≥", 5.0).is_met(5.0)
    assert not Aim("≤", 5.0).is_met(5.1)


def test_the_command_prints_tables(capsys: pytest.CaptureFixture[str]) -> None:
    """`python -m benchmarks NAME` prints the table of what was named."""
    assert main(["checkpoint", "--rounds", "1", "--n", "1"]) == 0
    assert capsys.readouterr().out.startswith("## checkpoint\n")


@pytest.mark.parametrize("line", [["no_such"], ["--rounds", "0"], ["--n", "-1"], ["--rounds", "two"]])
def test_a_wrong_command_line_is_refused(line: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown benchmark or a count below 1 ends with 2 before anything runs, naming what is wrong."""
    with pytest.raises(SystemExit) as ended:
        main(line)
    assert ended.value.code == 2
    assert line[-1] in capsys.readouterr().err
