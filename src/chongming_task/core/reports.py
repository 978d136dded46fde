"""Texts and failures for what happened to an attempt; wording only, nothing is decided here."""

from __future__ import annotations

import attrs

from chongming_spec.endings import ENDING_OF
from chongming_spec.facts import Deadline
from chongming_spec.failures import FailureKind
from chongming_spec.snapshot import Failure
from chongming_spec.timeouts import TIMEOUT_OF
from chongming_task.core.ports import Ending


def described(ending: Ending) -> str:
    """What a carrier reported, in one line."""
    if ending.failure is not None:
        return f"{ending.kind}: {ending.failure.message}"
    return ENDING_OF[ending.kind].meaning


def timeout_text(deadline: Deadline, limit_ms: int) -> str:
    """Which timeout passed, and how long it was."""
    row = TIMEOUT_OF[deadline]
    return f"{row.kind}: the {row.parameter} timeout of {limit_ms / 1000:g} s passed"


def timeout_failure(deadline: Deadline, limit_ms: int, ending: Ending | None = None) -> Failure:
    """The failure a timeout leaves, with the traceback of what the body was doing when it was asked to end."""
    traceback = None if ending is None or ending.failure is None else ending.failure.traceback
    return Failure(TIMEOUT_OF[deadline].kind, message=timeout_text(deadline, limit_ms), traceback=traceback)


def lost_failure(asked_by: str, verdict: Deadline | None) -> Failure:
    """The failure of a body that ignored its window; `cause` names the timeout behind it, if one was (D14)."""
    return Failure(
        FailureKind.LOST,
        message=f"the body ignored its grace window ({asked_by}); it may still be running",
        cause=None if verdict is None else TIMEOUT_OF[verdict].kind,
    )


def exhausted_failure() -> Failure:
    """The failure of a task that was granted a slot and has no attempt left (D5)."""
    return Failure(FailureKind.ATTEMPTS_EXHAUSTED, message="no attempt is left; retry(force=True) allows one more")


def defect_failure(broken: BaseException) -> Failure:
    """The failure of a task whose supervisor met a defect of ours."""
    return Failure(
        FailureKind.LOST,
        message=f"internal error ({type(broken).__name__}); please report it",
        cause="supervisor_error",
    )


def noting(failure: Failure | None, what: str, broken: Exception) -> Failure:
    """The failure with a note that something of the user's raised while it was handled (D18)."""
    given = failure or Failure(FailureKind.EXCEPTION)
    note = f"{what} {type(broken).__name__}"
    return attrs.evolve(given, message=f"{given.message} ({note})" if given.message else note)


def request_text(verb: str, actor: str, reason: str | None) -> str:
    """Who asked for what, and why."""
    return f"{verb} by {actor}" + (f": {reason}" if reason else "")
