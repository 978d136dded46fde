"""Retry policies, backoff and timeouts as values: what they answer and what they refuse (D14, D16, D20, P-089)."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chongming_spec.backoff import backoff_ms, grown_ms
from chongming_spec.errors import ConfigurationError, TaskCancelled, TaskTimeout
from chongming_task.policies import (
    LONGEST_SECONDS,
    ExponentialBackoff,
    FixedBackoff,
    Jitter,
    RetryPolicy,
    Timeout,
    check_seconds,
    to_ms,
)

BAD_SECONDS = [-1, -0.001, float("nan"), float("inf"), True, "3", None, 10**400]
spans = st.integers(0, 10**9)
factors = st.integers(1000, 10**6)


@given(st.integers(1, 3000), spans, factors, spans)
def test_backoff_stays_below_its_ceiling_and_never_shrinks(attempt: int, base: int, factor: int, ceiling: int) -> None:
    """0 <= wait <= ceiling, monotone in the attempt (D16, P-089)."""
    wait = backoff_ms(attempt, base, factor, ceiling)
    assert 0 <= wait <= ceiling
    assert wait <= backoff_ms(attempt + 1, base, factor, ceiling)


@given(spans, factors, spans)
def test_one_step_of_growth_keeps_its_bounds(delay: int, factor: int, ceiling: int) -> None:
    """Between the delay and the ceiling; it grows unless it is 0, at the ceiling, or the factor is 1 (P-089)."""
    delay = min(delay, ceiling)
    grown = grown_ms(delay, factor, ceiling)
    assert delay <= grown <= ceiling
    assert grown > delay or delay in (0, ceiling) or factor == 1000


@pytest.mark.parametrize(
    ("attempt", "args", "wait"),
    [
        (1, (1000, 2000, 300_000), 1000),
        (2, (1000, 2000, 300_000), 2000),
        (5, (1000, 2000, 300_000), 16_000),
        (10, (1000, 2000, 300_000), 300_000),
        (2000, (1000, 2000, 300_000), 300_000),
        (2, (1, 1500, 300_000), 2),
        (10**9, (1000, 1000, 300_000), 1000),
        (10**9, (1000, 2000, 300_000), 300_000),
        (7, (0, 2000, 300_000), 0),
        (3, (1000, 2000, 0), 0),
        (0, (1000, 2000, 300_000), 1000),
    ],
)
def test_backoff_by_hand(attempt: int, args: tuple[int, int, int], wait: int) -> None:
    """Values worked out by hand, attempt 2,000 among them (P-089)."""
    assert backoff_ms(attempt, *args) == wait


def test_attempt_two_thousand_is_not_slow() -> None:
    """The ceiling ends the loop early (P-089)."""
    began = time.perf_counter()
    for _ in range(1000):
        backoff_ms(2000, 1000, 2000, 300_000)
    assert time.perf_counter() - began < 1


def test_full_jitter_spreads_a_hundred_tasks() -> None:
    """100 tasks that fail together come back at 95 or more times in [0, base * 2^n), none too late (P-089)."""
    backoff = ExponentialBackoff(base=1, factor=2, max_delay=300)
    delays = [backoff.delay_ms(5, random.Random(seed)) for seed in range(100)]
    assert len(set(delays)) >= 95
    assert all(0 <= delay < 16_000 for delay in delays)
    assert all(0 <= backoff.delay_ms(2000, random.Random(seed)) < 300_000 for seed in range(100))


@given(st.integers(0, 10**6), st.sampled_from(Jitter), st.integers())
def test_jitter_never_adds(delay: int, jitter: Jitter, seed: int) -> None:
    """Each kind draws between its floor and the wait (P-089)."""
    floor = {Jitter.NONE: delay, Jitter.FULL: 0, Jitter.EQUAL: delay // 2}[jitter]
    assert floor <= jitter.spread(delay, random.Random(seed)) <= delay


def test_the_defaults_are_those_of_the_rules() -> None:
    """Exponential(1, 2, 300, FULL), one attempt, every Exception (D16)."""
    policy = RetryPolicy()
    assert policy.max_attempts == 1
    assert policy.backoff == ExponentialBackoff(base=1, factor=2, max_delay=300, jitter=Jitter.FULL)
    assert (policy.retry_on, policy.give_up_on) == ((Exception,), ())
    assert 0 <= policy.delay_ms(1, random.Random(1)) < 1000
    assert (
        FixedBackoff(2.5).delay_ms(99, random.Random(1)) == 2500 == FixedBackoff(delay=2.5).delay_ms(1, random.Random())
    )


def test_what_is_worth_another_attempt() -> None:
    """give_up_on wins; a timeout is an error like any other; a cancellation never matches (D14, D20)."""
    policy = RetryPolicy(max_attempts=5, give_up_on=(ValueError, KeyError))
    assert policy.retries(OSError())
    assert policy.retries(TaskTimeout("late", scope="idle"))
    assert not policy.retries(KeyError())
    assert not policy.retries(KeyboardInterrupt())
    assert not policy.retries(TaskCancelled())
    everything = RetryPolicy(retry_on=BaseException)
    assert everything.retries(KeyboardInterrupt())
    assert not everything.retries(TaskCancelled())
    assert RetryPolicy(retry_on=[OSError, ValueError]).retry_on == (OSError, ValueError)
    assert not RetryPolicy(retry_on=()).retries(OSError())


@pytest.mark.parametrize("value", BAD_SECONDS)
def test_spans_that_are_none_are_refused_by_name(value: Any) -> None:
    """Negative, non-finite, boolean and other values: ConfigurationError that names the argument."""
    builds: list[tuple[Any, str]] = [
        (lambda: FixedBackoff(value), r"FixedBackoff\(delay=\)"),
        (lambda: ExponentialBackoff(base=value), r"ExponentialBackoff\(base=\)"),
        (lambda: ExponentialBackoff(max_delay=value), r"ExponentialBackoff\(max_delay=\)"),
        (lambda: check_seconds("graceful_stop", value), "graceful_stop"),
    ]
    for build, name in builds:
        with pytest.raises(ConfigurationError, match=name):
            build()
    if value is not None:
        for name in ("start", "per_attempt", "idle"):
            with pytest.raises(ConfigurationError, match=rf"Timeout\({name}=\)"):
                Timeout(**{name: value})


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: RetryPolicy(max_attempts=0), "max_attempts"),
        (lambda: RetryPolicy(max_attempts=True), "max_attempts"),
        (lambda: RetryPolicy(max_attempts=2.0), "max_attempts"),  # type: ignore[arg-type]
        (lambda: RetryPolicy(backoff=3), "backoff"),  # type: ignore[arg-type]
        (lambda: RetryPolicy(backoff=FixedBackoff), "backoff"),  # type: ignore[arg-type]
        (lambda: RetryPolicy(retry_on="OSError"), "retry_on"),  # type: ignore[arg-type]
        (lambda: RetryPolicy(retry_on=(OSError(),)), "retry_on"),  # type: ignore[arg-type]
        (lambda: RetryPolicy(give_up_on=(int,)), "give_up_on"),  # type: ignore[arg-type]
        (lambda: ExponentialBackoff(factor=0.5), "factor"),
        (lambda: ExponentialBackoff(factor=float("nan")), "factor"),
        (lambda: ExponentialBackoff(factor=float("inf")), "factor"),
        (lambda: ExponentialBackoff(factor=True), "factor"),
        (lambda: ExponentialBackoff(jitter="some"), "jitter"),  # type: ignore[arg-type]
    ],
)
def test_policies_that_cannot_work_are_refused_by_name(build: Any, name: str) -> None:
    """ConfigurationError at construction, naming the argument."""
    with pytest.raises(ConfigurationError, match=rf"\({name}=\)"):
        build()


def test_timeouts_in_milliseconds() -> None:
    """Each limit stands alone and None is no limit; spans never end early by rounding (D15)."""
    timeout = Timeout(start=30, per_attempt=0.3, idle=None)
    assert [timeout.limit_ms(name) for name in ("start", "per_attempt", "idle")] == [30_000, 300, None]
    assert [to_ms(span) for span in (0, 0.1, 0.3, 1.1, 0.0015)] == [0, 100, 300, 1100, 2]
    assert check_seconds("x", LONGEST_SECONDS) == LONGEST_SECONDS
