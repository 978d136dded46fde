"""The verbs of persons: start, stop, pause, resume, cancel, retry, skip, reset, wait, force_transition, adopt.

One rule runs through all of them (D3): what holds no carrier changes at once, what holds one goes through a state
that says so. Asking again for what is already so changes nothing and is no error (D13).
"""

from __future__ import annotations

from chongming_spec import effects as e
from chongming_spec import guards as g
from chongming_spec.algebra import Caller, Param, Rule, Tell, Verb, each
from chongming_spec.failures import FailureKind
from chongming_spec.states import REVIVABLE, TERMINAL, TaskStatus

_S = TaskStatus
WAITING: frozenset[TaskStatus] = frozenset({_S.PENDING, _S.BLOCKED, _S.QUEUED, _S.RETRY_WAIT})
LAUNCHED: frozenset[TaskStatus] = frozenset({_S.STARTING, _S.RUNNING, _S.PAUSING})

REASON = Param("reason", "str | None", "None", "Why; kept in the history.")
ACTOR = Param("actor", "str | None", "None", "Who asks; defaults to the owner of the machine.")
DEMANDED_REASON = Param("reason", "str", "", "Why; demanded, and kept in the history.")
DEMANDED_ACTOR = Param("actor", "str", "", "Who asks; demanded, and kept in the history.")
FAILURE = Param("failure", "Failure | None", "None", "The failure to record; defaults to one of the verb's kind.")
ALONGSIDE = Param("alongside", "bool", "False", "Go ahead although an earlier carrier may be at work (D10).")

_ENDED = (e.FAIL, e.END)


def _ending_rules(target: TaskStatus, ask: e.Effect) -> tuple[Rule, ...]:
    """End at once what holds nothing; ask a body that runs or is parked, and open its window."""
    return (
        *each(WAITING, target, effects=_ENDED),
        Rule(_S.PAUSED, target, when=(g.LIFTED,), effects=_ENDED),
        Rule(_S.PAUSED, _S.STOPPING, when=(g.IN_PLACE,), effects=(e.RELEASE, ask), tells=(Tell.STOP,)),
        *each((_S.RUNNING, _S.PAUSING), _S.STOPPING, effects=(e.RELEASE, ask), tells=(Tell.STOP,)),
    )


STOP_RULES: tuple[Rule, ...] = (
    *_ending_rules(_S.STOPPED, e.ASK_STOP),
    Rule(_S.STARTING, _S.STOPPING, effects=(e.ASK_STOP,), tells=(Tell.STOP,)),
)
CANCEL_RULES: tuple[Rule, ...] = (
    *_ending_rules(_S.CANCELLED, e.ASK_CANCEL),
    Rule(_S.STARTING, _S.CANCELLED, when=(g.NO_CARRIER,), effects=_ENDED),
    Rule(_S.STARTING, _S.STOPPING, when=(g.CARRIER,), effects=(e.ASK_CANCEL,), tells=(Tell.STOP,)),
)
PAUSE_RULES: tuple[Rule, ...] = (
    *each((_S.QUEUED, _S.RETRY_WAIT), _S.PAUSED, effects=(e.HOLD,)),
    *each(
        (_S.STARTING, _S.RUNNING),
        _S.PAUSING,
        when=(g.CAN_PAUSE, g.NO_VERDICT),
        effects=(e.ASK_PAUSE,),
        tells=(Tell.PAUSE,),
    ),
)
ABORT_RULES: tuple[Rule, ...] = (
    Rule(_S.PAUSING, _S.RUNNING, when=(g.CONFIRMED,), effects=(e.GO_ON,), tells=(Tell.RESUME,)),
    Rule(_S.PAUSING, when=(g.UNCONFIRMED,), effects=(e.LEAVE_ABORT,)),
)
RESUME_RULES: tuple[Rule, ...] = (
    Rule(_S.PAUSED, _S.RUNNING, when=(g.IN_PLACE,), effects=(e.RELEASE, e.UNPARK), tells=(Tell.RESUME,)),
    Rule(_S.PAUSED, _S.QUEUED, when=(g.LIFTED,), effects=(e.RELEASE, e.QUEUE)),
    *ABORT_RULES,
)
_WINDOW = (
    Param("graceful", "bool", "True", "False closes the grace window at once (D6)."),
    Param("timeout", "float | None", "None", "Seconds of grace; can only shorten the window (D16)."),
)
_REVIVED = (e.REVIVE, e.RAISE, e.QUEUE, e.NEW_EPOCH)
_RESET = (e.REVIVE, e.NEW_GENERATION, e.NEW_EPOCH)
_FORCED = (e.END, e.OVERRIDE, e.NEW_EPOCH)
_ADOPTED = (e.ADOPT, e.NEW_EPOCH)
_MAY_ADOPT = REVIVABLE | WAITING

CONTROL_VERBS: tuple[Verb, ...] = (
    Verb(
        "start",
        Caller.PERSON,
        "user:start",
        "Ask for the task to run.",
        rules=(
            Rule(_S.PENDING, _S.QUEUED, when=(g.DEPS_CLOSED,), effects=(e.QUEUE,)),
            Rule(_S.PENDING, _S.BLOCKED, when=(g.DEPS_OPEN,)),
            Rule(_S.BLOCKED, _S.QUEUED, when=(g.DEPS_CLOSED,), effects=(e.QUEUE,)),
        ),
        already=LAUNCHED | {_S.QUEUED, _S.RETRY_WAIT},
        params=(ACTOR, REASON),
    ),
    Verb(
        "stop",
        Caller.PERSON,
        "user:stop",
        "End the task; a running body gets a grace window.",
        rules=(*STOP_RULES, Rule(_S.STOPPING, tells=(Tell.SHORTEN,))),
        already=TERMINAL,
        params=(REASON, ACTOR, *_WINDOW),
        kind=FailureKind.CANCELLED,
    ),
    Verb(
        "pause",
        Caller.PERSON,
        "user:pause",
        "Hold the task: a running body parks at its next checkpoint.",
        rules=(
            *PAUSE_RULES,
            Rule(_S.PAUSING, when=(g.NO_VERDICT, g.NO_ABORT)),
            Rule(_S.PAUSING, when=(g.NO_VERDICT, g.ABORT_LEFT), effects=(e.KEEP_PAUSE,)),
        ),
        already=frozenset({_S.PAUSED}),
        params=(
            Param("timeout", "float | None", "None", "Seconds to wait for the body to park; 10 by default."),
            ACTOR,
            REASON,
            Param("resume_at", "datetime | None", "None", "Aware time at which it goes on by itself."),
        ),
    ),
    Verb(
        "resume",
        Caller.PERSON,
        "user:resume",
        "Let a held task go on, or take back a pause under way.",
        rules=RESUME_RULES,
        already=frozenset({_S.QUEUED, _S.STARTING, _S.RUNNING}),
        params=(ACTOR, REASON),
    ),
    Verb(
        "cancel",
        Caller.PERSON,
        "user:cancel",
        "Call the task off; like stop, but on behalf of a plan.",
        rules=(*CANCEL_RULES, Rule(_S.STOPPING, tells=(Tell.SHORTEN,))),
        already=TERMINAL,
        params=(REASON, ACTOR, *_WINDOW),
        kind=FailureKind.CANCELLED,
    ),
    Verb(
        "retry",
        Caller.PERSON,
        "user:retry",
        "Revive a task that ended without success.",
        rules=each(REVIVABLE, _S.QUEUED, effects=_REVIVED, out_of_band=True),
        guards=(g.NO_STRAY, g.DEPS_CLOSED, g.BUDGET_OR_FORCE),
        already=frozenset({_S.QUEUED}),
        params=(
            Param("force", "bool", "False", "Allow one attempt beyond the budget (D5)."),
            ALONGSIDE,
            ACTOR,
            REASON,
        ),
    ),
    Verb(
        "skip",
        Caller.PERSON,
        "user:skip",
        "Declare the task unneeded, so that the rest can go on.",
        rules=(
            *each((_S.PENDING, _S.BLOCKED, _S.QUEUED), _S.SKIPPED, effects=_ENDED),
            Rule(_S.FAILED, _S.SKIPPED, effects=(*_ENDED, e.NEW_EPOCH), out_of_band=True),
        ),
        guards=(g.KIND_FITS, g.NO_STRAY),
        already=frozenset({_S.SKIPPED}),
        params=(REASON, ACTOR, ALONGSIDE, FAILURE),
    ),
    Verb(
        "reset",
        Caller.PERSON,
        "admin:reset",
        "Begin anew with a full budget; the history is kept.",
        rules=(
            *each(
                TERMINAL | {_S.BLOCKED, _S.QUEUED, _S.RETRY_WAIT},
                _S.PENDING,
                effects=_RESET,
                out_of_band=True,
            ),
            Rule(_S.PAUSED, _S.PENDING, when=(g.LIFTED,), effects=_RESET, out_of_band=True),
        ),
        guards=(g.ACTOR, g.REASON, g.NO_STRAY),
        already=frozenset({_S.PENDING}),
        params=(DEMANDED_ACTOR, DEMANDED_REASON, ALONGSIDE),
    ),
    Verb(
        "wait",
        Caller.PERSON,
        "user:wait",
        "Wait for the end; never changes anything.",
        rules=(),
        already=frozenset(_S),
        params=(Param("timeout", "float | None", "None", "Seconds to wait at most."),),
    ),
    Verb(
        "force_transition",
        Caller.PERSON,
        "admin:force",
        "Override the state by a person's word.",
        rules=(
            *each(
                frozenset(_S) - {_S.RUNNING},
                None,
                when=(g.NO_CARRIER,),
                effects=_FORCED,
                out_of_band=True,
                asked_target=True,
            ),
            *each(
                LAUNCHED | {_S.STOPPING, _S.PAUSED},
                None,
                when=(g.CARRIER,),
                effects=(*_FORCED, e.ABANDON),
                tells=(Tell.STOP,),
                out_of_band=True,
                asked_target=True,
            ),
            *each(
                TERMINAL,
                None,
                when=(g.CARRIER,),
                effects=(*_FORCED, e.ABANDON),
                out_of_band=True,
                asked_target=True,
            ),
        ),
        guards=(g.ACTOR, g.REASON, g.TO_TERMINAL, g.TO_ANOTHER),
        params=(
            Param("to", "TaskStatus | str", "", "The terminal state to record."),
            DEMANDED_ACTOR,
            DEMANDED_REASON,
        ),
    ),
    Verb(
        "adopt",
        Caller.PERSON,
        "admin:adopt",
        "Take over a task whose owner is gone.",
        rules=(
            *(Rule(s, s, effects=_ADOPTED, out_of_band=True) for s in _S if s in _MAY_ADOPT),
            Rule(_S.PAUSED, _S.PAUSED, when=(g.LIFTED,), effects=_ADOPTED, out_of_band=True),
        ),
        guards=(g.LEASE_OVER,),
        reason="its owner is gone",
        params=(
            ACTOR,
            REASON,
            Param("owner", "str | None", "None", "The new owner."),
            Param("declared_attempts", "int | None", "None", "The budget of its own registration; kept if not given."),
        ),
    ),
)
