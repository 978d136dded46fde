"""The proof gate: every contract must be confirmed over all paths, and what the machine runs must be what is specified.

`python tests/prove/gate.py` checks, with CrossHair, every contracted function of the modules `contracts_*`, then each
verb's prepared plan against the decision, and prints one line for each. The exit code is 0 only if all of them are
confirmed. Not confirmed in time, precondition never met, not analysed at all: each of these refuses, since a solver
that has nothing to say also ends without an error. `UNCONFIRMED` names the exceptions with their reasons; one that has
come to be confirmed must leave the list.

A gate that lets everything pass looks just like a good one, so each run begins with `seeded_bugs`, which it must refuse
in full. `--self-test` does only that; `--only NAME` checks just functions and verbs of that name.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

os.environ["CHONGMING_CONTRACTS"] = "1"
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / folder) for folder in (".", "spec", "src")]

CONFIRMED = "confirmed"
SECONDS_PER_CONDITION = 150.0
SECONDS_PER_SEEDED_BUG = 10.0
SECONDS_PER_PATH = 20.0

UNCONFIRMED: dict[str, str] = {}


class Verdict(NamedTuple):
    """What came of one function: its name, the verdict, paths gone through, CPU seconds, and what the solver said."""

    name: str
    verdict: str
    paths: int
    seconds: float
    said: str = ""


def contract_modules() -> list[ModuleType]:
    """Every module of contracts, in the order of their names."""
    return [importlib.import_module(f"tests.prove.{path.stem}") for path in sorted(HERE.glob("contracts_*.py"))]


def contracted(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """The functions of a module that have a postcondition, by name."""
    return {
        name: function
        for name, function in vars(module).items()
        if getattr(function, "__postconditions__", None) and function.__module__ == module.__name__
    }


def _options(seconds: float) -> Any:
    from crosshair.options import AnalysisKind, AnalysisOptionSet

    return AnalysisOptionSet(
        analysis_kind=(AnalysisKind.icontract,),
        report_all=True,
        per_condition_timeout=seconds,
        per_path_timeout=SECONDS_PER_PATH,
        stats=Counter(),
    )


def prove(name: str, function: Callable[..., Any], seconds: float = SECONDS_PER_CONDITION) -> Verdict:
    """Check one contracted function."""
    from crosshair.core import analyze_function, run_checkables

    options = _options(seconds)
    begun = time.process_time()
    messages = run_checkables(analyze_function(function, options))
    spent = time.process_time() - begun
    states = sorted({message.state.value for message in messages})
    verdict = states[0] if len(states) == 1 else "; ".join(states) or "not checked"
    said = "" if verdict == CONFIRMED else "; ".join(message.message for message in messages)
    return Verdict(name, verdict, options.stats["num_paths"], spent, said)


def same(
    name: str,
    one: Callable[..., Any],
    other: Callable[..., Any],
    signature: inspect.Signature,
    seconds: float = SECONDS_PER_CONDITION,
) -> Verdict:
    """Check that two functions give the same answer on every path, which is stronger than a search for a difference.

    The arguments are tuples of ints and bools, which no function can change, so only the answers are compared.
    """
    from crosshair.core import deep_realize, explore_paths
    from crosshair.options import DEFAULT_OPTIONS
    from crosshair.statespace import RootNode

    options = DEFAULT_OPTIONS.overlay(_options(seconds))
    doubts: list[str] = []

    def both(arguments: inspect.BoundArguments) -> bool:
        return bool(one(*arguments.args) == other(*arguments.args))

    def judge(space: Any, given: inspect.BoundArguments, _: Any, agree: Any, error: Any, __: Any) -> bool:
        space.detach_path()
        if agree is True:
            return False
        values = {key: repr(deep_realize(value)) for key, value in given.arguments.items()}
        doubts.append(f"differ at {values}" if error is None else f"raises {error!r}")
        return True

    begun = time.process_time()
    explore_paths(both, signature, options, RootNode(), judge, lambda: doubts.append("not deterministic"))
    spent = time.process_time() - begun
    paths = options.stats["num_paths"]
    if doubts:
        return Verdict(name, "differ", paths, spent, doubts[0][:600])
    return Verdict(name, CONFIRMED if options.stats["exhaustion"] else "cannot_confirm", paths, spent)


def plans(modules: list[ModuleType]) -> Iterator[tuple[str, Callable[..., Any], Callable[..., Any], inspect.Signature]]:
    """For each verb: the decision, the machine's plan, and the signature of its contracted function."""
    from crosshair.fnutil import FunctionInfo

    from chongming_spec.decide import SPEC
    from chongming_task.core._cells import planned
    from tests.prove.tasks import asking

    functions = {name: function for module in modules for name, function in contracted(module).items()}
    for verb in SPEC.verbs:
        _, signature = FunctionInfo.from_fn(functions[verb.name]).callable()
        columns = tuple(signature.parameters)[1:]
        yield (
            f"plan of {verb.name}",
            asking(verb.name, columns, SPEC.decide),
            asking(verb.name, columns, planned),
            signature,
        )


def report(verdict: Verdict) -> bool:
    """Print one line; whether it may pass."""
    reason = UNCONFIRMED.get(verdict.name)
    passes = (verdict.verdict == CONFIRMED) is (reason is None)
    note = verdict.said or (f"excepted: {reason}" if reason else "")
    print(
        f"{'ok ' if passes else 'NO '} {verdict.name:30} {verdict.verdict:15} "
        f"{verdict.paths:6} paths {verdict.seconds:7.1f} s  {note}".rstrip(),
        flush=True,
    )
    return passes


def self_test() -> bool:
    """Whether every seeded bug is refused."""
    seeded = importlib.import_module("tests.prove.seeded_bugs")
    limit = SECONDS_PER_SEEDED_BUG
    verdicts = [prove(name, function, limit) for name, function in contracted(seeded).items()]
    signature = inspect.signature(seeded.right, eval_str=True)
    verdicts.append(same("plan with a seeded bug", seeded.right, seeded.wrong, signature, limit))
    for verdict in verdicts:
        print(f"    {verdict.name:30} {verdict.verdict:15} {verdict.said[:80]}", flush=True)
    missed = [verdict.name for verdict in verdicts if verdict.verdict == CONFIRMED]
    if missed or len(verdicts) != seeded.SEEDED:
        print(f"NO  the gate does not see: {', '.join(missed) or 'all of the seeded bugs'}")
        return False
    print(f"ok  the gate refuses all {len(verdicts)} seeded bugs\n")
    return True


def run(only: str | None) -> bool:
    """Prove everything (or what is named `only`); whether all of it passes."""
    from chongming_spec.decide import SPEC

    # Computed ahead, so that each path runs the same lines.
    assert SPEC.verb_of
    assert SPEC.edge_of
    assert SPEC.rules_of
    modules = contract_modules()
    verdicts = []
    for module in modules:
        for name, function in contracted(module).items():
            if only in (None, name):
                verdicts.append(report(prove(name, function)))
    for name, one, other, signature in plans(modules):
        if only is None or name == f"plan of {only}":
            verdicts.append(report(same(name, one, other, signature)))
    print(f"\n{sum(verdicts)} of {len(verdicts)} pass")
    return bool(verdicts) and all(verdicts)


def main() -> int:
    """Run the gate; 0 only if nothing is left to doubt."""
    parser = argparse.ArgumentParser(description="Prove the contracts of the specification.")
    parser.add_argument("--self-test", action="store_true", help="only show that seeded bugs are refused")
    parser.add_argument("--only", metavar="NAME", help="only what has this name")
    options = parser.parse_args()
    if sys.flags.optimize:
        print("NO  python -O drops contracts")
        return 1
    from crosshair import core_and_libs  # noqa: F401 - it registers the models of Python's own types

    if not self_test():
        return 1
    return 0 if options.self_test or run(options.only) else 1


if __name__ == "__main__":
    sys.exit(main())
