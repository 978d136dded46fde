"""Driving a target, and naming one by `module:factory`."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Collection

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.errors import HypothesisWarning
from hypothesis.stateful import run_state_machine_as_test

from chongming_spec.conformance.machine import StoreMachine
from chongming_spec.conformance.report import Report, Target
from chongming_spec.errors import ConfigurationError
from chongming_spec.store_model import METHODS

STEPS = 20


def target_named(text: str) -> Target:
    """The factory that `module:factory` names; ConfigurationError if there is none."""
    module, _, name = text.partition(":")
    try:
        found: Target = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigurationError(f"{text!r} names no target ({error}); use module:factory") from None
    return found


def run_conformance(
    target: Target,
    *,
    examples: int = 100,
    seed: int = 0,
    steps: int = STEPS,
    skip: Collection[str] = (),
    shrink: bool = True,
) -> Report:
    """Drive `target` through `examples` random lives of at most `steps` calls each.

    `skip` names methods the store does not have yet; the report names them too. `shrink=False` stops at the first
    failure as it was found. Nothing is raised: `Report.failure` says what went wrong. ConfigurationError for an
    unusable argument.
    """
    unknown = sorted(set(skip) - METHODS.keys())
    if unknown:
        raise ConfigurationError(f"skip names no method of a store: {', '.join(unknown)}")
    if examples < 1 or steps < 1:
        raise ConfigurationError("examples and steps must be at least 1")
    report = Report(getattr(target, "__qualname__", repr(target)), seed, examples, skipped=tuple(sorted(skip)))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HypothesisWarning)
            run_state_machine_as_test(_machine(target, report), settings=_settings(examples, steps, shrink))
    except Exception as error:
        report.failure = "\n".join((f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())))
    return report


def _machine(target: Target, report: Report) -> type[StoreMachine]:
    kind = type("Driven", (StoreMachine,), {"target": staticmethod(target), "report": report})
    return seed_of(kind, report.seed)


def seed_of(kind: type[StoreMachine], number: int) -> type[StoreMachine]:
    """The machine with its random seed fixed."""
    seeded: type[StoreMachine] = seed(number)(kind)
    return seeded


def _settings(examples: int, steps: int, shrink: bool) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        derandomize=False,
        print_blob=False,
        report_multiple_bugs=False,
        phases=(Phase.generate, Phase.shrink) if shrink else (Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
