"""What a supervisor can be told. `run` names one carrier, and before it the slot it was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from chongming_task.core.ports import Ending


class Asked(NamedTuple):
    """A verb is requested. `waiter` gets the answer (0: nobody); `wait_ms` bounds a pause, `window_ms` a grace
    window.
    """

    verb: str
    actor: str | None = None
    reason: str | None = None
    values: Mapping[str, Any] | None = None
    waiter: int = 0
    wait_ms: int | None = None
    window_ms: int | None = None
    trigger: str | None = None


class Saved(NamedTuple):
    """The record of `version` is durable."""

    version: int


class SlotGranted(NamedTuple):
    """It may start `run` now."""

    run: int


class SlotDenied(NamedTuple):
    """No slot is free; it keeps its place and is granted one later."""


class Started(NamedTuple):
    """The carrier confirms that it runs."""

    run: int
    pid: int | None = None


class Parked(NamedTuple):
    """The body waits at a checkpoint."""

    run: int


class Exited(NamedTuple):
    """The carrier is gone."""

    run: int
    ending: Ending


class TimerFired(NamedTuple):
    """A timer it had set is due; `beats` is the carrier's (checkpoints, last exact beat in ms), where there is one."""

    key: str
    beats: tuple[int, int | None] = (0, None)


Input = Asked | Saved | SlotGranted | SlotDenied | Started | Parked | Exited | TimerFired
