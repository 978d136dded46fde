"""The verbs of the world: a carrier ended (`finish`), a timeout passed (`expire`), a grace window closed
(`close_window`).

Nobody calls them by name; the supervisor asks them when the world reports. They are decision tables like the others,
and this is where the honesty of the whole lives: what a thread that ignores its window may be called, and what may
not.
"""

from __future__ import annotations

from chongming_spec import effects as e
from chongming_spec import guards as g
from chongming_spec.algebra import Caller, Rule, Tell, Verb, each
from chongming_spec.failures import FailureKind
from chongming_spec.states import TERMINAL, TaskStatus
from chongming_spec.verbs_control import LAUNCHED

_S = TaskStatus
_SUCCEEDED = (e.SUCCEED, e.END)
_ENDED = (e.FAIL, e.END)
_AGAIN = (e.CLOSE, e.FAIL, e.BACKOFF)
_ABANDONED = (*_ENDED, e.ABANDON)
_FIRST = "finished_before_quiescence"
_LEFT = "left_while_paused"
_UP = "executor:launched"
_ABORTED = "runtime:pause_aborted"

FINISH = Verb(
    "finish",
    Caller.WORLD,
    "runtime:failed",
    "The carrier of the attempt ended.",
    rules=(
        # The start was not confirmed: an ending of the body confirms it on the way.
        Rule(_S.STARTING, _S.SUCCEEDED, via=_S.RUNNING, via_trigger=_UP, when=(g.SUCCEEDS,), effects=_SUCCEEDED),
        Rule(_S.STARTING, _S.CANCELLED, via=_S.RUNNING, via_trigger=_UP, when=(g.CALLED_OFF,), effects=_ENDED),
        Rule(_S.STARTING, _S.RETRY_WAIT, when=(g.TRIES_AGAIN,), effects=_AGAIN),
        Rule(_S.STARTING, _S.FAILED, when=(g.GIVES_UP,), effects=_ENDED),
        Rule(_S.RUNNING, _S.SUCCEEDED, when=(g.SUCCEEDS,), effects=_SUCCEEDED),
        Rule(_S.RUNNING, _S.CANCELLED, when=(g.CALLED_OFF,), effects=_ENDED),
        Rule(_S.RUNNING, _S.RETRY_WAIT, when=(g.TRIES_AGAIN,), effects=_AGAIN),
        Rule(_S.RUNNING, _S.FAILED, when=(g.GIVES_UP,), effects=_ENDED),
        # It ended before it could park: the pause never took effect (D8).
        Rule(
            _S.PAUSING,
            _S.SUCCEEDED,
            via=_S.RUNNING,
            via_reason=_FIRST,
            via_trigger=_ABORTED,
            when=(g.SUCCEEDS,),
            effects=_SUCCEEDED,
        ),
        Rule(_S.PAUSING, _S.CANCELLED, when=(g.CALLED_OFF,), effects=_ENDED),
        Rule(
            _S.PAUSING,
            _S.RETRY_WAIT,
            via=_S.RUNNING,
            via_reason=_FIRST,
            via_trigger=_ABORTED,
            when=(g.TRIES_AGAIN, g.CONFIRMED),
            effects=(e.RELEASE, *_AGAIN),
        ),
        Rule(_S.PAUSING, _S.PAUSED, when=(g.TRIES_AGAIN, g.UNCONFIRMED, g.NO_ABORT), effects=_AGAIN),
        Rule(
            _S.PAUSING,
            _S.QUEUED,
            via=_S.PAUSED,
            trigger=_ABORTED,
            via_trigger="executor:launch_failed",
            when=(g.TRIES_AGAIN, g.UNCONFIRMED, g.ABORT_LEFT),
            effects=(e.RELEASE, *_AGAIN, e.QUEUE),
        ),
        Rule(_S.PAUSING, _S.FAILED, when=(g.GIVES_UP,), effects=_ENDED),
        # It ended while parked: another thread or coroutine of it went on (D8).
        Rule(
            _S.PAUSED,
            _S.SUCCEEDED,
            via=_S.RUNNING,
            via_reason=_LEFT,
            via_trigger=_ABORTED,
            when=(g.IN_PLACE, g.RETURNED),
            effects=_SUCCEEDED,
        ),
        Rule(
            _S.PAUSED,
            _S.CANCELLED,
            via=_S.RUNNING,
            via_reason=_LEFT,
            via_trigger=_ABORTED,
            when=(g.IN_PLACE, g.CANCELLED),
            effects=_ENDED,
        ),
        Rule(_S.PAUSED, _S.FAILED, when=(g.IN_PLACE, g.WENT_WRONG), effects=_ENDED),
        # Asked to end: a value counts, an error counts, the rest honours the request (D6, D7, D14).
        Rule(_S.STOPPING, _S.SUCCEEDED, when=(g.KEEPS_VALUE,), effects=_SUCCEEDED),
        Rule(_S.STOPPING, _S.FAILED, when=(g.WRONG_ENDING,), effects=_ENDED),
        Rule(_S.STOPPING, _S.STOPPED, when=(g.AS_STOPPED,), effects=_ENDED),
        Rule(_S.STOPPING, _S.CANCELLED, when=(g.AS_CANCELLED,), effects=_ENDED),
        # It was over already: only the carrier's exit is noted (D5, D11).
        *each(TERMINAL, None, when=(g.CARRIER,), effects=(e.SEE_GONE,)),
    ),
)

EXPIRE = Verb(
    "expire",
    Caller.WORLD,
    "timer:attempt",
    "A timeout passed: it decides the attempt, the body is asked to end.",
    rules=(
        Rule(_S.QUEUED, _S.FAILED, when=(g.START_OUT,), effects=_ENDED),
        Rule(_S.STARTING, when=(g.START_OUT, g.NO_VERDICT), effects=(e.JUDGE,), tells=(Tell.STOP,)),
        Rule(_S.RUNNING, when=(g.RUN_OUT, g.NO_VERDICT), effects=(e.JUDGE,), tells=(Tell.STOP,)),
        Rule(_S.PAUSING, when=(g.START_OUT, g.UNCONFIRMED, g.NO_VERDICT), effects=(e.JUDGE,), tells=(Tell.STOP,)),
        Rule(_S.PAUSING, when=(g.RUN_OUT, g.CONFIRMED, g.NO_VERDICT), effects=(e.JUDGE,), tells=(Tell.STOP,)),
    ),
)

CLOSE_WINDOW = Verb(
    "close_window",
    Caller.WORLD,
    "timer:window",
    "The grace window is over and the carrier is still there.",
    rules=(
        *each(LAUNCHED, None, when=(g.VERDICT, g.CAN_KILL), effects=(e.KILLED,), tells=(Tell.KILL,)),
        *each(LAUNCHED, _S.LOST, when=(g.VERDICT, g.CANNOT_KILL), effects=_ABANDONED),
        Rule(_S.STOPPING, when=(g.CAN_KILL,), effects=(e.KILLED,), tells=(Tell.KILL,)),
        Rule(_S.STOPPING, _S.LOST, when=(g.CANNOT_KILL,), effects=_ABANDONED),
        *each(TERMINAL, None, when=(g.CARRIER, g.CAN_KILL), effects=(e.KILLED,), tells=(Tell.KILL,)),
        *each(TERMINAL, None, when=(g.CARRIER, g.CANNOT_KILL)),
    ),
    kind=FailureKind.LOST,
)

WORLD_VERBS: tuple[Verb, ...] = (FINISH, EXPIRE, CLOSE_WINDOW)
