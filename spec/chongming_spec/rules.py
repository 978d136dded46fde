"""The rules this specification settles, each with the trace that made it necessary.

A rule's id is what tests, docstrings and reviews cite; a test makes sure that every row here is cited by one.
"""

from __future__ import annotations

import attrs


@attrs.frozen
class Rule:
    """One rule: its id, what holds, and what went wrong (or would) without it."""

    id: str
    sentence: str
    trace: str


RULES: tuple[Rule, ...] = (
    Rule(
        "D1",
        "53 edges: the 48 of the published table and five guarded ones, out of `paused` and `queued` and "
        "into `cancelled`.",
        "A parked body whose owner was killed stayed `paused` for ever, since no edge said that it was lost.",
    ),
    Rule(
        "D2",
        "Moves outside the edges are five named rows, each begins a new epoch, and overrides demand an actor "
        "and a reason.",
        "A live state forced by hand had no carrier, and its lease was renewed for ever.",
    ),
    Rule(
        "D3",
        "A task occupies a carrier in starting, running, pausing and stopping, and in paused only if it is "
        "parked in place.",
        "A parked task was stopped at once, its slot given away, while its thread was still unwinding.",
    ),
    Rule(
        "D4",
        "What belongs to an attempt is cleared with it; requested_action says what is asked now, never what was.",
        "A retried task was stopped by the stop of its previous attempt.",
    ),
    Rule(
        "D5",
        "attempt counts attempts started; its record is opened once and closed once; retry(force=True) "
        "raises the budget.",
        "A retry counted the attempt, starting it counted it again, and one of three attempts was never made.",
    ),
    Rule(
        "D6",
        "A stop ends what holds nothing at once and gives a body a window that later stops can only shorten.",
        "A stop was answered `stopped` while the thread worked on.",
    ),
    Rule(
        "D7",
        "cancel has the same shape as stop and ends as cancelled; the first of the two wins.",
        "A cancelled pipeline was recorded as stopped by hand.",
    ),
    Rule(
        "D8",
        "A pause holds only once the body is parked; taking it back swaps the state first and tells the body second.",
        "The token was cleared first, the body ran on, and the task was recorded as paused.",
    ),
    Rule(
        "D9",
        "resume leads to running in place and to queued elsewhere, where a paused backoff is kept.",
        "Resumed by an old started_at, a task was `running` with neither carrier nor slot.",
    ),
    Rule(
        "D10",
        "retry, reset and skip are refused while an earlier carrier may live, unless alongside=True says so "
        "on the record.",
        "A lost task was retried while its abandoned thread was still writing the same files.",
    ),
    Rule(
        "D11",
        "Forcing a state under a live carrier fences it and gives it the stop window; what it reports later "
        "is only noted.",
        "A body that was overridden came back and overwrote the override.",
    ),
    Rule(
        "D12",
        "reset begins a new generation and keeps every record of the old ones.",
        "A reset erased the history that had been promised to be append-only.",
    ),
    Rule(
        "D13",
        "Asking for what is already so changes nothing and is no error; a refusal names its guard.",
        "A second stop raised, and scripts learnt to ignore all errors.",
    ),
    Rule(
        "D14",
        "A timeout is a verdict: the status stays, the body is asked to end, and every exit is decided by it.",
        "A timeout went through `stopping`, and a retryable failure ended as if a person had stopped it.",
    ),
    Rule(
        "D15",
        "start counts until the start is confirmed, per_attempt and idle only after it; time parked counts for none.",
        "After a pause of an hour, a task timed out the moment it was resumed.",
    ),
    Rule(
        "D16",
        "Timeouts are enforced by the supervisor, which samples a counter; a checkpoint costs a test and an increment.",
        "A body that blocked in a call never looked at its own timeout.",
    ),
    Rule(
        "D17",
        "A slot belongs to the carrier and is returned once, at its exit; a backoff that ends takes a slot "
        "like any start.",
        "Two tasks ran under a limit of one, since a retry started without a slot.",
    ),
    Rule(
        "D18",
        "Finishing cannot fail: whatever a body, policy or value does, there is a terminal record.",
        "An exception whose __str__ raised left its task running with a renewed lease.",
    ),
    Rule(
        "D19",
        "A result is made canonical JSON once, and that value is what everybody sees; anything else is result_invalid.",
        "The same result was a tuple in one process and a list in another.",
    ),
    Rule(
        "D20",
        "TaskCancelled is a BaseException and is raised again at every checkpoint outside shield(); no "
        "exception escapes.",
        "`except Exception` in a loop swallowed the stop.",
    ),
    Rule(
        "D22",
        "A save writes history, row and a command's completion in one transaction; sent again it is "
        "recognised, not repeated.",
        "Row and history were two calls: after a kill the task showed version 4 and its history ended at 3.",
    ),
    Rule(
        "D23",
        "A save is ahead (creation, the start of an attempt, moves out of band) or behind; what fails is "
        "tried until it lands.",
        "One failed write of a success, and a task that had succeeded was later reported lost.",
    ),
    Rule(
        "D24",
        "The lease belongs to the owner; a touch changes only the bypass of a live row of that owner and epoch.",
        "A zombie's heartbeat took the lease back and overwrote the progress of the next attempt.",
    ),
    Rule(
        "D25",
        "Lost by reconcile is one conditional statement over version, owner, epoch and the exact lease, by "
        "the store's clock.",
        "A lease was renewed between the read and the write, and a healthy task was declared lost.",
    ),
    Rule(
        "D26",
        "Whoever bumps the epoch of another owner's task leaves that owner a `fenced` command in the same transaction.",
        "An owner that had been overtaken went on writing for minutes.",
    ),
    Rule(
        "D27",
        "Commands bind to an epoch, are claimed under a token, take effect at most once and in order per task.",
        "A stop left for attempt 1 was claimed later and stopped attempt 2.",
    ),
    Rule(
        "D28",
        "adopt takes a task over by the same conditional statement as lost; stalled_ok only where no carrier is held.",
        "A queued task of a dead owner could be neither run nor stopped, for ever.",
    ),
    Rule(
        "D29",
        "SQLite: WAL, FULL, BEGIN IMMEDIATE, no network file systems; bad rows are reported and never hide good ones.",
        "A reader that upgraded to a writer failed at once with `database is locked`.",
    ),
    Rule(
        "D30",
        "prune removes whole tasks that are over, with a tombstone put down first, in one transaction.",
        "A pruned id was used again, and a command for the old task stopped the new one.",
    ),
    Rule(
        "D39",
        "Refusals are ordinary code and hold under python -O; contracts are a second opinion for tests.",
        "Under -O every contract vanished, and with them the refusals.",
    ),
    Rule(
        "D40",
        "Nothing read from a store is executed, imported or unpickled; stored arguments round-trip or are not stored.",
        "A crafted row in a shared database ran code in the process that listed it.",
    ),
    Rule(
        "D41",
        "Names and reasons may be any Unicode but NUL and lone surrogates; terminals are shown escapes.",
        "A name with a right-to-left mark reordered the line of an operator's table.",
    ),
    Rule(
        "D42",
        "Our keyword names are reserved; arguments are bound to the signature at the call.",
        "A task's own `timeout` argument was taken for ours.",
    ),
    Rule(
        "D43",
        "Names left open are settled: the answers, outcomes, errors, ports and triggers.",
        "Two layers named the same thing differently and passed each other's values on.",
    ),
)

RULE_OF: dict[str, Rule] = {rule.id: rule for rule in RULES}
