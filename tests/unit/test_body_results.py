"""What a body returned, made canonical or refused with a sentence (D18, D19)."""

from __future__ import annotations

from typing import Any

import pytest

from chongming_spec.facts import EndingKind
from chongming_spec.failures import FailureKind
from chongming_task.core.ports import Ending
from tests.unit.carriers import failure_of, returning, run


@pytest.mark.parametrize(
    ("value", "canonical"),
    [
        (None, None),
        (True, True),
        (0, 0),
        ("", ""),
        ([], []),
        ("\\u0000 é 你", "\\u0000 é 你"),
        ({"a": (1, 2.5, [()])}, {"a": [1, 2.5, [[]]]}),
    ],
)
def test_a_json_value_is_returned_in_canonical_form(value: Any, canonical: Any) -> None:
    """Dumped and loaded once; a tuple becomes a list; empty values are values (D19, P-118)."""
    ending = run(returning(value))
    assert ending == Ending(EndingKind.RETURNED, canonical)
    assert type(ending.value) is type(canonical)


def test_a_result_cannot_be_changed_afterwards() -> None:
    """What the body keeps of its result is not what others see (D19)."""
    kept: list[int] = [1]
    ending = run(returning(kept))
    kept.append(2)
    assert ending.value == [1]


class Hostile(dict[str, int]):
    def __iter__(self) -> Any:
        raise RuntimeError("do not look")


def cyclic() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    return value


def doubling() -> list[Any]:
    value: list[Any] = []
    for _ in range(60):
        value = [value, value]
    return value


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({1, 2}, "not JSON serializable"),
        ({1: "x"}, "key that is no string: int"),
        ({"a": {None: 1}}, "key that is no string: NoneType"),
        (float("nan"), "not JSON"),
        ([float("inf")], "not JSON"),
        ("a\0b", "NUL"),
        ({"k\0": 1}, "NUL"),
        (["\ud800"], "lone surrogate"),
        (10**5000, "not JSON"),
        (b"raw", "not JSON serializable"),
        (cyclic(), "cyclic"),
        (deep(), "too deeply"),
        (doubling(), "cyclic, or larger"),
        ("x" * 2_000_000, "takes 2000002 bytes"),
        (Hostile(a=1), "do not look"),
        (object(), "not JSON serializable"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_anything_else_is_invalid_and_says_why(value: Any, says: str) -> None:
    """NaN, keys that are no strings, NUL, surrogates, cycles, depth, size, other types: RESULT_INVALID (D18, D19)."""
    ending = run(returning(value))
    assert ending.kind is EndingKind.INVALID
    assert not ending.retries
    failure = failure_of(ending)
    assert failure.kind is FailureKind.RESULT_INVALID
    assert says in failure.message
    assert not failure.retryable


def test_the_size_limit_is_the_requests() -> None:
    """`max_outcome_bytes` of UTF-8 (D18)."""
    assert run(returning("éé"), max_outcome_bytes=6).kind is EndingKind.RETURNED
    assert run(returning("éé"), max_outcome_bytes=5).kind is EndingKind.INVALID


def test_a_generator_is_never_a_success() -> None:
    """A body that returns an untouched generator has not run (P-119)."""
    assert run(lambda ctx: (n for n in range(3))).kind is EndingKind.INVALID


def test_an_interrupt_while_the_result_is_looked_through_is_kept() -> None:
    """Ctrl-C during the last step is raised on, not called an invalid result (D20)."""

    class Interrupting(dict[str, int]):
        def __iter__(self) -> Any:
            raise KeyboardInterrupt

    ending = run(returning(Interrupting(a=1)))
    assert ending.kind is EndingKind.RAISED
    assert isinstance(ending.fatal, KeyboardInterrupt)
