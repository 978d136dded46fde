"""What a row must keep by itself, as CHECK constraints found from the sets of the specification."""

from __future__ import annotations

from collections.abc import Iterable

from chongming_spec.facts import REQUESTS_IN
from chongming_spec.failures import FAILURE_REQUIRED
from chongming_spec.states import OCCUPYING, TERMINAL, TaskStatus


def sql_list(values: Iterable[object]) -> str:
    """Values as they stand inside IN (...)."""
    return ", ".join("NULL" if v is None else str(v) if isinstance(v, int) else f"'{v}'" for v in values)


def row_checks() -> list[str]:
    """What a row must keep by itself, whoever writes it: invariants 2 and 4-9 of one task."""
    occupying = f"(status IN ({sql_list(sorted(OCCUPYING))}) OR paused_in_place = 1)"
    over = f"status IN ({sql_list(sorted(TERMINAL))})"
    requests = " OR ".join(
        f"(status = '{status}' AND requested_action IN ({sql_list(one.value for one in REQUESTS_IN[status])}))"
        for status in TaskStatus
    )
    conditions = (
        f"({over}) = (ended_at IS NOT NULL)",
        f"NOT {occupying} OR (started_at IS NOT NULL AND attempt >= 1)",
        f"{occupying} OR {over} OR started_at IS NULL",
        "attempt BETWEEN 0 AND max_attempts AND max_attempts >= 1",
        requests,
        "paused_in_place = 0 OR status = 'paused'",
        f"status NOT IN ({sql_list(sorted(FAILURE_REQUIRED))}) OR failure IS NOT NULL",
        f"status <> '{TaskStatus.SUCCEEDED}' OR failure IS NULL",
    )
    return [f"CHECK ({condition})" for condition in conditions]
