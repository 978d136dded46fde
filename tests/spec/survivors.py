"""The mutants of the tables that no check kills, and why none can: they mean the same as the published tables."""

from __future__ import annotations

_EMPTY_HOLD = "A running task has no hold on it, so lifting none is the same."
_NO_CARRIER_THERE = "In this state there never is a carrier, so the guard always holds."
_ALWAYS_CARRIER = "A running task always has a carrier, so the guard always holds."
_EDGE_BINDS = "The edge asks the same guard and refuses by the same name: the rule says it once more for the reader."
_HOLDS_ANYWAY = "What it sets is so anyway in that state: no hold, nothing requested, a live carrier, not in place."

SURVIVORS: dict[str, str] = {
    "rule stop running->stopping []: drop effect release": _EMPTY_HOLD,
    "rule cancel running->stopping []: drop effect release": _EMPTY_HOLD,
    "rule request_stop running->stopping []: drop effect release": _EMPTY_HOLD,
    "rule request_cancel running->stopping []: drop effect release": _EMPTY_HOLD,
    "rule force_transition pending->asked [carrier_exists]: unguard carrier_exists": _NO_CARRIER_THERE,
    "rule force_transition blocked->asked [carrier_exists]: unguard carrier_exists": _NO_CARRIER_THERE,
    "rule force_transition queued->asked [carrier_exists]: unguard carrier_exists": _NO_CARRIER_THERE,
    "rule force_transition retry_wait->asked [carrier_exists]: unguard carrier_exists": _NO_CARRIER_THERE,
    "rule force_transition running->asked [no_carrier]: unguard no_carrier": _ALWAYS_CARRIER,
    "rule mark_running paused->running [not_paused_in_place]: unguard not_paused_in_place": _EDGE_BINDS,
    "rule mark_failed paused->failed [not_paused_in_place]: unguard not_paused_in_place": _EDGE_BINDS,
    "rule mark_stopped paused->stopped [paused_in_place]: unguard paused_in_place": _EDGE_BINDS,
    "rule mark_cancelled paused->cancelled [paused_in_place]: unguard paused_in_place": _EDGE_BINDS,
    "rule finish paused->succeeded [not_paused_in_place,not_returned]: unguard not_paused_in_place": _EDGE_BINDS,
    "rule finish paused->cancelled [not_paused_in_place,not_cancelled_itself]: "
    "unguard not_paused_in_place": _EDGE_BINDS,
    "rule resume paused->running [not_paused_in_place]: add effect go_on": _HOLDS_ANYWAY,
    "rule mark_running starting->running []: add effect go_on": _HOLDS_ANYWAY,
    "rule adopt stopped->stopped []: add effect release": _HOLDS_ANYWAY,
    "rule close_window skipped->stay [no_carrier,cannot_kill]: add effect release": _HOLDS_ANYWAY,
}
