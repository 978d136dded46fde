"""A second opinion on what a decision changes, column by column, written from the rules and never from the effects.

The tables say for each rule which columns it changes; here each column says for which decisions it changes. `after`
gives the facts that follow, `stamps` the columns that are no facts, `tells` what the carrier must be told, `texts`
the triggers and reasons. All of them take a request that was not refused, with the states it goes through.
"""

from __future__ import annotations

from chongming_spec.facts import Ask, CarrierView, Deadline, EndingKind, Facts, Requested
from chongming_spec.failures import FailureKind
from chongming_spec.states import TaskStatus
from tests.spec.oracle import TERMINAL

S = TaskStatus
K = FailureKind
E = EndingKind
Path = tuple[TaskStatus, ...]
STOPS = {"stop", "request_stop"}
CANCELS = {"cancel", "request_cancel"}
ENDS_BY_REQUEST = STOPS | CANCELS
PAUSES = {"pause", "request_pause"}
ABORTS = {"resume", "abort_pause"}


def is_already_over(f: Facts, a: Ask, path: Path) -> bool:
    """Asked for what is so: nothing at all happens (D13)."""
    if path:
        return False
    if a.verb in PAUSES:
        return not f.abort_left
    if a.verb in ABORTS:
        return f.status is not S.PAUSING
    return a.verb not in ("mark_running", "finish", "expire", "close_window")


def revives(a: Ask, path: Path) -> bool:
    return bool(path) and a.verb in ("retry", "reset")


def closes(f: Facts, a: Ask, path: Path) -> bool:
    """The attempt is over, the task is not (D4)."""
    by_finish = a.verb == "finish" and bool(path) and path[-1] in (S.PAUSED, S.QUEUED)
    return by_finish or (bool(path) and path[-1] is S.RETRY_WAIT and a.verb != "adopt")


def ends(a: Ask, path: Path) -> bool:
    return bool(path) and path[-1] in TERMINAL and a.verb != "adopt"


def clears(f: Facts, a: Ask, path: Path) -> bool:
    return closes(f, a, path) or ends(a, path) or revives(a, path)


def abandons(f: Facts, a: Ask, path: Path) -> bool:
    """The carrier lives on and nobody waits for it: given up after its window, or overridden (D10, D11)."""
    if a.verb == "close_window":
        return bool(path)
    return a.verb == "force_transition" and f.carrier is not CarrierView.NONE


def requested(f: Facts, a: Ask, path: Path) -> Requested:
    if not path or a.verb == "adopt":
        return f.requested
    if path[-1] is S.PAUSING:
        return Requested.PAUSE
    if path[-1] is S.STOPPING:
        return Requested.STOP if a.verb in STOPS else Requested.CANCEL
    return Requested.NONE


def in_place(f: Facts, a: Ask, path: Path) -> bool:
    if not path or a.verb == "adopt":
        return f.in_place
    return f.status is S.PAUSING and path[-1] is S.PAUSED and a.verb != "finish"


def started(f: Facts, a: Ask, path: Path) -> bool:
    if path and path[-1] is S.STARTING:
        return True
    return f.started and not (closes(f, a, path) or revives(a, path))


def attempt(f: Facts, a: Ask, path: Path) -> int:
    if path and path[-1] is S.STARTING:
        return f.attempt + 1
    return 0 if path and a.verb == "reset" else f.attempt


def max_attempts(f: Facts, a: Ask, path: Path) -> int:
    if path and a.verb == "retry" and a.force:
        return max(f.max_attempts, f.attempt + 1)
    return f.max_attempts


def stray(f: Facts, a: Ask, path: Path) -> bool:
    if a.verb == "finish" and f.status in TERMINAL:
        return False
    return f.stray or abandons(f, a, path) or (a.verb == "mark_lost" and not a.gone)


def carrier(f: Facts, a: Ask, path: Path) -> CarrierView:
    if abandons(f, a, path):
        return CarrierView.ABANDONED
    if clears(f, a, path) or (a.verb == "finish" and f.status in TERMINAL):
        return CarrierView.NONE
    if a.verb == "mark_running" or (path and path[-1] is S.RUNNING):
        return CarrierView.LIVE
    if path and path[-1] is S.STARTING:
        return CarrierView.NONE
    return CarrierView.PARKED if in_place(f, a, path) else f.carrier


def verdict(f: Facts, a: Ask, path: Path) -> Deadline:
    if a.verb == "expire" and not path:
        return a.deadline
    return Deadline.NONE if clears(f, a, path) or S.STARTING in path else f.verdict


def abort_left(f: Facts, a: Ask, path: Path) -> bool:
    if not path and a.verb in ABORTS and f.status is S.PAUSING:
        return True
    return f.abort_left and not path and a.verb not in PAUSES


def killed(f: Facts, a: Ask, path: Path) -> bool:
    if "kill" in tells(f, a, path):
        return True
    return f.killed and not clears(f, a, path) and S.STARTING not in path


def after(f: Facts, a: Ask, path: Path) -> Facts:
    """The facts that follow."""
    return f._replace(
        status=path[-1] if path else f.status,
        requested=requested(f, a, path),
        in_place=in_place(f, a, path),
        started=started(f, a, path),
        attempt=attempt(f, a, path),
        max_attempts=max_attempts(f, a, path),
        stray=stray(f, a, path),
        carrier=carrier(f, a, path),
        verdict=verdict(f, a, path),
        abort_left=abort_left(f, a, path),
        killed=killed(f, a, path),
    )


def lifts(f: Facts, a: Ask, path: Path) -> bool:
    """The hold on a task that was paused, or was about to be, is over."""
    was_held = f.status in (S.PAUSING, S.PAUSED)
    held_on = bool(path) and path[-1] is S.PAUSED
    return (was_held and bool(path) and not held_on) or (ends(a, path) or revives(a, path))


def hold(f: Facts, a: Ask, path: Path) -> str | None:
    if path and (a.verb in PAUSES or (a.verb == "mark_paused" and f.status is not S.PAUSING)):
        return "given"
    return "none" if lifts(f, a, path) else None


def queued_at(f: Facts, a: Ask, path: Path) -> str | None:
    if not path or a.verb == "adopt":
        return None
    if path[-1] is S.QUEUED:
        return "now" if a.verb in ("retry", "finish") else "now if none"
    if path[-1] is S.STARTING:
        return "now if none"
    return "none" if closes(f, a, path) or a.verb == "reset" else None


def not_before(f: Facts, a: Ask, path: Path) -> str | None:
    if closes(f, a, path):
        return "given"
    return "none" if ends(a, path) or revives(a, path) or S.STARTING in path else None


def failure(f: Facts, a: Ask, path: Path) -> str | None:
    if closes(f, a, path) or (ends(a, path) and (path[-1] is not S.SUCCEEDED or a.verb == "force_transition")):
        return "given"
    return "none" if revives(a, path) or S.STARTING in path or ends(a, path) else None


def outcome(f: Facts, a: Ask, path: Path) -> str | None:
    if path and a.verb in ("retry", "reset", "force_transition"):
        return "none"
    return "given" if ends(a, path) and path[-1] is S.SUCCEEDED else None


def heartbeat(f: Facts, a: Ask, path: Path) -> str | None:
    if path and path[-1] is S.STARTING:
        return "none"
    starts_or_unparks = bool(path) and path[-1] is S.RUNNING and (a.verb == "mark_running" or f.status is S.PAUSED)
    return "now" if starts_or_unparks else None


def pid(f: Facts, a: Ask, path: Path) -> str | None:
    if path and path[-1] is S.STARTING:
        return "none"
    return "given" if a.verb == "mark_running" and f.status is not S.PAUSED else None


def carrier_state(f: Facts, a: Ask, path: Path) -> str | None:
    if a.verb == "finish" and f.status in TERMINAL:
        return "none"
    if abandons(f, a, path):
        return "abandoned"
    return "orphaned" if a.verb == "mark_lost" and not a.gone else None


def started_at(f: Facts, a: Ask, path: Path) -> str | None:
    if S.STARTING in path:
        return "now"
    return "none" if closes(f, a, path) or revives(a, path) else None


def only(condition: bool, word: str) -> str | None:
    return word if condition else None


def stamps(f: Facts, a: Ask, path: Path) -> dict[str, str]:
    """How the columns change that are no facts; a column that is not named stays."""
    if is_already_over(f, a, path):
        return {}
    opens = S.STARTING in path
    is_anew = bool(path) and a.verb == "reset"
    out_of_band = bool(path) and (
        a.verb in ("retry", "reset", "adopt", "force_transition") or (a.verb == "skip" and f.status is S.FAILED)
    )
    words = {
        **dict.fromkeys(("held_by", "held_reason", "resume_at"), hold(f, a, path)),
        "queued_at": queued_at(f, a, path),
        "started_at": started_at(f, a, path),
        "first_started_at": only(opens, "now if none"),
        "ended_at": "none" if revives(a, path) else only(ends(a, path), "now"),
        "not_before": not_before(f, a, path),
        "failure": failure(f, a, path),
        "outcome": outcome(f, a, path),
        "progress": only(opens or revives(a, path), "none"),
        "last_heartbeat_at": heartbeat(f, a, path),
        "pid": pid(f, a, path),
        "executor": only(opens, "given"),
        "carrier_state": carrier_state(f, a, path),
        "epoch": only(out_of_band, "next"),
        "generation": only(is_anew, "plus one"),
        "overridden": "False" if is_anew else only(a.verb == "force_transition", "True"),
        "owner": only(a.verb == "adopt", "given or kept"),
        "declared_attempts": only(a.verb == "adopt", "given or kept"),
        "max_attempts": budget(a),
    }
    return {column: word for column, word in words.items() if word is not None}


def budget(a: Ask) -> str | None:
    return {"retry": "raised", "reset": "declared", "adopt": "adopted"}.get(a.verb)


def tells(f: Facts, a: Ask, path: Path) -> tuple[str, ...]:
    """What the carrier must be told."""
    if a.verb in ENDS_BY_REQUEST:
        if path and path[-1] is S.STOPPING:
            return ("stop",)
        return ("shorten",) if f.status is S.STOPPING else ()
    if a.verb == "force_transition":
        return ("stop",) if f.carrier is not CarrierView.NONE and f.status not in TERMINAL else ()
    if a.verb == "expire":
        return () if path else ("stop",)
    if a.verb == "close_window":
        return ("kill",) if not path and f.killable and not f.killed else ()
    if a.verb in PAUSES and path and path[-1] is S.PAUSING:
        return ("pause",)
    resumes = a.verb in ABORTS | {"mark_running"} and f.status in (S.PAUSING, S.PAUSED)
    return ("resume",) if resumes and path and path[-1] is S.RUNNING else ()


def texts(f: Facts, a: Ask, path: Path) -> tuple[str | None, str | None, str | None]:
    """Trigger and reason of the first of two hops (D8), and the trigger of the last where it is not the verb's own."""
    if len(path) == 2 and path[0] is S.RUNNING:
        if f.status is S.STARTING:
            return "executor:launched", None, None
        return (
            "runtime:pause_aborted",
            "finished_before_quiescence" if f.status is S.PAUSING else "left_while_paused",
            None,
        )
    if len(path) == 2:
        return "executor:launch_failed", None, "runtime:pause_aborted"
    aborts = a.verb == "mark_running" and f.status is S.PAUSING and bool(path)
    return None, None, only(aborts, "runtime:pause_aborted")


_ENDING_KINDS = {
    E.INVALID: K.RESULT_INVALID,
    E.RAISED: K.EXCEPTION,
    E.CANCELLED: K.CANCELLED,
    E.DIED: K.NONZERO_EXIT,
    E.KILLED: K.NONZERO_EXIT,
    E.WITHDRAWN: K.EXCEPTION,
    E.LAUNCH_FAILED: K.EXCEPTION,
}
_TIMEOUT_KINDS = {
    Deadline.START: K.TIMEOUT_START,
    Deadline.ATTEMPT: K.TIMEOUT_ATTEMPT,
    Deadline.IDLE: K.TIMEOUT_IDLE,
}
_OWN_KINDS = {
    **dict.fromkeys(ENDS_BY_REQUEST | {"mark_stopped", "mark_cancelled"}, K.CANCELLED),
    **dict.fromkeys(("mark_failed", "mark_retry_wait"), K.EXCEPTION),
    **dict.fromkeys(("mark_lost", "close_window"), K.LOST),
}


def kind(f: Facts, a: Ask, path: Path) -> FailureKind | None:
    """The kind of the failure that is recorded, where one is (D6, D11, D14, D19)."""
    if failure(f, a, path) != "given":
        return None
    if a.verb == "force_transition":
        return {S.FAILED: K.OVERRIDDEN, S.LOST: K.LOST}.get(path[-1])
    if a.verb == "expire":
        return _TIMEOUT_KINDS[a.deadline]
    if a.verb != "finish" or a.ending is None:
        return a.kind or _OWN_KINDS.get(a.verb)
    if path[-1] in (S.STOPPED, S.CANCELLED):
        return K.CANCELLED
    if f.verdict is not Deadline.NONE and f.status is not S.STOPPING:
        return _TIMEOUT_KINDS[f.verdict]
    return _ENDING_KINDS[a.ending]
