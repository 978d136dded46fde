"""The error tree: who catches what, and that every error survives pickling with its facts."""

from __future__ import annotations

import pickle

import pytest

from chongming_spec import errors as e

SAMPLES: list[BaseException] = [
    e.TaskError("went wrong", hint="look"),
    e.InvalidTransition(
        "no",
        current="running",
        requested="retry",
        allowed=("failed", "lost"),
        guard="carrier_exists",
        sentence="A sentence.",
        trigger="user:retry",
        task_id="t-1",
    ),
    e.CarrierStillRunning("no", current="lost", guard="carrier_still_running"),
    e.AttemptsExhausted("no", current="failed", guard="attempts_exhausted"),
    e.DependencyFailed("no", upstream={"a": "b"}),
    e.CircularDependency("no", path=("a", "b", "a")),
    e.TaskTimeout("late", scope="idle", limit_ms=5),
    e.TaskExecutionError("failed", failure="details", task_id="t-1"),
    e.ConcurrencyConflict("lost the race", expected=3, actual=4),
    e.Fenced("fenced", expected=3, actual=4),
    e.StoreError("disk"),
    e.StoreCorruption("bad row", row=7),
    e.ConfigurationError("argument"),
    e.TaskExists("taken", status="running"),
    e.UnknownTask("nobody knows it", task_id="t-9"),
    e.InternalError("please report"),
    e.TaskCancelled("controller_closed"),
]


@pytest.mark.parametrize("error", SAMPLES, ids=lambda error: type(error).__name__)
def test_pickling_keeps_the_facts(error: BaseException) -> None:
    """Type, message and every attribute come back (issue: picklable, with attributes)."""
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert vars(back) == vars(error)
    assert back.args == error.args


def test_every_error_is_sampled() -> None:
    """The list of errors and the samples above are the same."""
    assert [type(error) for error in SAMPLES] == list(e.ERRORS)


def test_cancellation_is_no_exception() -> None:
    """`except Exception` in a body must not swallow it (D20)."""
    assert issubclass(e.TaskCancelled, BaseException)
    assert not issubclass(e.TaskCancelled, Exception)
    assert e.TaskCancelled("stop").reason == "stop"


def test_the_tree() -> None:
    """Refusals are InvalidTransition, a taken id is a configuration error, an unknown one a LookupError too (D43)."""
    assert issubclass(e.CarrierStillRunning, e.InvalidTransition)
    assert issubclass(e.AttemptsExhausted, e.InvalidTransition)
    assert issubclass(e.Fenced, e.ConcurrencyConflict)
    assert issubclass(e.StoreCorruption, e.StoreError)
    assert issubclass(e.TaskExists, e.ConfigurationError)
    assert issubclass(e.UnknownTask, LookupError)
    assert all(issubclass(kind, e.TaskError) for kind in e.ERRORS if kind is not e.TaskCancelled)


def test_errors_can_be_raised_bare() -> None:
    """Each can be made without arguments, as user code does in tests."""
    for kind in e.ERRORS:
        with pytest.raises(kind):
            raise kind
