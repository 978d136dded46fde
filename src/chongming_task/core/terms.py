"""The terms one task runs under."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Protocol

import attrs

from chongming_spec.executors import ExecutorRow
from chongming_spec.facts import Deadline
from chongming_task.core.ports import Retries


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
