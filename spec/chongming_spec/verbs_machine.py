"""The verbs of the machine: `mark_*` record a fact, `request_*` and `abort_pause` record an intent.

Each takes one edge. They are strict: a request that is already so is refused here, since only the faces forgive (D13).
"""

from __future__ import annotations

from chongming_spec import effects as e
from chongming_spec import guards as g
from chongming_spec.algebra import Caller, Param, Rule, Tell, Verb, each
from chongming_spec.facts import CarrierView
from chongming_spec.failures import FailureKind
from chongming_spec.states import TaskStatus
from chongming_spec.verbs_control import (
    ABORT_RULES,
    ACTOR,
    CANCEL_RULES,
    FAILURE,
    LAUNCHED,
    PAUSE_RULES,
    REASON,
    STOP_RULES,
    WAITING,
)

_S = TaskStatus
_ENDED = (e.FAIL, e.END)
_BY = (ACTOR, REASON)
_PID = Param("pid", "int | None", "None", "Process id of the carrier, if it has one of its own.")

MACHINE_VERBS: tuple[Verb, ...] = (
    Verb(
        "mark_queued",
        Caller.MACHINE,
        "scheduler:queued",
        "It is ready and waits for a slot.",
        rules=(
            *each((_S.PENDING, _S.RETRY_WAIT), _S.QUEUED, effects=(e.QUEUE,)),
            Rule(_S.BLOCKED, _S.QUEUED, when=(g.DEPS_CLOSED,), effects=(e.QUEUE,)),
        ),
        params=_BY,
    ),
    Verb(
        "mark_blocked",
        Caller.MACHINE,
        "scheduler:blocked",
        "It waits for upstream tasks.",
        rules=(Rule(_S.PENDING, _S.BLOCKED),),
        params=_BY,
    ),
    Verb(
        "mark_starting",
        Caller.MACHINE,
        "scheduler:dispatch",
        "It was granted a slot: an attempt begins.",
        rules=each((_S.QUEUED, _S.RETRY_WAIT), _S.STARTING, effects=(e.OPEN,)),
        params=(Param("executor", "str | None", "None", "Name of the executor that carries it."), *_BY),
    ),
    Verb(
        "mark_running",
        Caller.MACHINE,
        "executor:launched",
        "Its carrier is confirmed.",
        rules=(
            Rule(_S.STARTING, _S.RUNNING, effects=(e.CONFIRM,)),
            Rule(_S.PAUSED, _S.RUNNING, when=(g.IN_PLACE,), effects=(e.RELEASE, e.UNPARK), tells=(Tell.RESUME,)),
            Rule(
                _S.PAUSING,
                _S.RUNNING,
                when=(g.ABORT_LEFT,),
                effects=(e.CONFIRM, e.GO_ON),
                tells=(Tell.RESUME,),
                trigger="runtime:pause_aborted",
            ),
            Rule(_S.PAUSING, when=(g.NO_ABORT,), effects=(e.SEE_LIVE,)),
            Rule(_S.STOPPING, effects=(e.SEE_LIVE,)),
        ),
        params=(_PID, *_BY),
        testifies=CarrierView.LIVE,
    ),
    Verb(
        "mark_paused",
        Caller.MACHINE,
        "executor:parked",
        "Its body is parked, or it is held back.",
        rules=(
            *each((_S.QUEUED, _S.RETRY_WAIT), _S.PAUSED, effects=(e.HOLD,)),
            Rule(_S.PAUSING, _S.PAUSED, when=(g.PARKED, g.NO_VERDICT, g.NO_ABORT), effects=(e.PARK,)),
        ),
        params=_BY,
        testifies=CarrierView.PARKED,
    ),
    Verb(
        "mark_retry_wait",
        Caller.MACHINE,
        "runtime:retry",
        "The attempt failed; the next waits for its backoff.",
        rules=each((_S.STARTING, _S.RUNNING), _S.RETRY_WAIT, when=(g.BUDGET,), effects=(e.CLOSE, e.FAIL, e.BACKOFF)),
        guards=(g.KIND_FITS,),
        kind=FailureKind.EXCEPTION,
        params=(FAILURE, Param("not_before", "datetime | None", "None", "End of the backoff."), *_BY),
    ),
    Verb(
        "mark_succeeded",
        Caller.MACHINE,
        "runtime:succeeded",
        "It returned a valid value.",
        rules=each((_S.RUNNING, _S.STOPPING), _S.SUCCEEDED, when=(g.NO_VERDICT,), effects=(e.SUCCEED, e.END)),
        params=(Param("outcome", "Any", "None", "The result, as JSON."), *_BY),
    ),
    Verb(
        "mark_failed",
        Caller.MACHINE,
        "runtime:failed",
        "It failed for good.",
        rules=(
            *each(LAUNCHED | {_S.STOPPING, _S.QUEUED, _S.RETRY_WAIT}, _S.FAILED, effects=_ENDED),
            Rule(_S.PAUSED, _S.FAILED, when=(g.IN_PLACE,), effects=_ENDED),
        ),
        guards=(g.KIND_FITS,),
        kind=FailureKind.EXCEPTION,
        params=(FAILURE, *_BY),
    ),
    Verb(
        "mark_stopped",
        Caller.MACHINE,
        "runtime:stopped",
        "It ended because a person asked.",
        rules=(
            *each(WAITING | {_S.STOPPING}, _S.STOPPED, effects=_ENDED),
            Rule(_S.PAUSED, _S.STOPPED, when=(g.LIFTED,), effects=_ENDED),
        ),
        guards=(g.KIND_FITS,),
        kind=FailureKind.CANCELLED,
        params=(FAILURE, *_BY),
    ),
    Verb(
        "mark_cancelled",
        Caller.MACHINE,
        "runtime:cancelled",
        "It was called off, or called itself off.",
        rules=(
            *each(WAITING | {_S.STARTING, _S.STOPPING}, _S.CANCELLED, effects=_ENDED),
            *each((_S.RUNNING, _S.PAUSING), _S.CANCELLED, when=(g.NO_VERDICT,), effects=_ENDED),
            Rule(_S.PAUSED, _S.CANCELLED, when=(g.LIFTED,), effects=_ENDED),
        ),
        guards=(g.KIND_FITS,),
        kind=FailureKind.CANCELLED,
        params=(FAILURE, *_BY),
    ),
    Verb(
        "mark_skipped",
        Caller.MACHINE,
        "scheduler:skipped",
        "It is not needed.",
        rules=each((_S.PENDING, _S.BLOCKED, _S.QUEUED), _S.SKIPPED, effects=_ENDED),
        guards=(g.KIND_FITS,),
        params=(FAILURE, *_BY),
    ),
    Verb(
        "mark_lost",
        Caller.MACHINE,
        "runtime:lost",
        "Nobody can know what came of it.",
        rules=(
            *each(
                LAUNCHED | {_S.STOPPING, _S.PAUSED},
                _S.LOST,
                when=(g.MAY_LIVE,),
                effects=(*_ENDED, e.ORPHAN),
            ),
            *each(LAUNCHED | {_S.STOPPING, _S.PAUSED}, _S.LOST, when=(g.GONE,), effects=_ENDED),
        ),
        guards=(g.KIND_FITS,),
        kind=FailureKind.LOST,
        reason="nobody can know what came of it",
        params=(
            FAILURE,
            Param("gone", "bool", "False", "The caller vouches that the carrier is gone (D10)."),
            *_BY,
        ),
    ),
    Verb(
        "request_stop",
        Caller.MACHINE,
        "runtime:stop_requested",
        "The body is asked to end.",
        rules=STOP_RULES,
        params=_BY,
        kind=FailureKind.CANCELLED,
    ),
    Verb(
        "request_cancel",
        Caller.MACHINE,
        "runtime:cancel_requested",
        "The body is asked to end, as called off.",
        rules=CANCEL_RULES,
        params=_BY,
        kind=FailureKind.CANCELLED,
    ),
    Verb(
        "request_pause",
        Caller.MACHINE,
        "runtime:pause_requested",
        "The body is asked to park.",
        rules=PAUSE_RULES,
        params=_BY,
    ),
    Verb(
        "abort_pause",
        Caller.MACHINE,
        "runtime:pause_aborted",
        "A pause under way is taken back.",
        rules=ABORT_RULES,
        params=_BY,
    ),
)
