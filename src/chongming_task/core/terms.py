"""The terms one task runs under."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Protocol

import attrs

from chongming_spec.errors import TaskTimeout
from chongming_spec.executors import ExecutorRow
from chongming_spec.facts import Deadline
from chongming_spec.snapshot import Failure
from chongming_task.core.ports import Retries
from chongming_task.core.reports import noting


class Policy(Retries, Protocol):
    """What a supervisor asks of a retry policy."""

    def delay_ms(self, attempt: int, rng: random.Random) -> int: ...


@attrs.frozen
class Terms:
    """Budgets of time in milliseconds, the retry policy, and what the kind of carrier can do (D16)."""

    retry: Policy
    executor: ExecutorRow
    limits_ms: Mapping[Deadline, int]
    grace_ms: int = 10_000
    kill_grace_ms: int = 5_000
    pause_ms: int = 10_000

    def retries_after(self, verdict: Deadline, failure: Failure) -> tuple[bool, Failure]:
        """D14, D18: ask the policy about a timeout; one that raises does not retry, and the failure says so."""
        try:
            return bool(self.retry.retries(TaskTimeout(failure.message, scope=str(verdict)))), failure
        except Exception as broken:
            return False, noting(failure, "the retry policy raised", broken)

    def delay_after(
        self, attempt: int, rng: random.Random, failure: Failure | None
    ) -> tuple[int, bool, Failure | None]:
        """D18: how many ms to back off, and whether to retry at all; a backoff that raises gives up and is noted."""
        try:
            return max(0, int(self.retry.delay_ms(attempt, rng))), True, failure
        except Exception as broken:
            return 0, False, noting(failure, "the backoff raised", broken)
