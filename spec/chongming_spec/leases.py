"""The protocol of leases and commands as rows: who may write what under which lease, and the laws of it (D24-D28).

Nothing decides by this file: the judgements are functions of `store_rules`, and each row names its own. Tests hold the
two together, and the conformance machine sees commands move only by `COMMAND_MOVES`.
"""

from __future__ import annotations

import attrs

from chongming_spec.stores import CommandState


@attrs.frozen
class Right:
    """One write: by whom, with which method of a store, under which condition, judged by which function.

    `always`: there is no condition; the function only says what is then the case.
    """

    who: str
    method: str
    condition: str
    judge: str
    rule: str
    always: bool = False


RIGHTS: tuple[Right, ...] = (
    Right("the owner", "save", "version and epoch are those it knows", "save_error", "D22, D24"),
    Right("the owner", "touch", "owner and epoch are the row's, and the task is not over", "may_touch", "D24"),
    Right("the owner", "renew", "none: late renewal is allowed", "lease_is_over", "D24, D25", always=True),
    Right("a former owner", "note_late_result", "the attempt is closed and bears no other note", "noted", "D5, D24"),
    Right(
        "a reconciler",
        "expire_lease",
        "version, owner, epoch and lease are those read, and the lease is over by the store's clock",
        "may_expire",
        "D25",
    ),
    Right(
        "another controller",
        "adopt",
        "as for a reconciler; with `stalled_ok` also while the lease holds, if the task holds no carrier",
        "may_adopt",
        "D28",
    ),
    Right(
        "a person, from anywhere", "save", "the version is the one read; the move is out of band", "save_error", "D26"
    ),
    Right("anybody", "submit_command", "none: a known id returns the first", "submitted", "D26, D27", always=True),
    Right(
        "the owner", "claim_commands", "for this owner, not expired, new or its claim is over", "is_claimable", "D27"
    ),
    Right("the owner", "claim_commands", "nothing unfinished of the same task is before it", "is_behind", "D27"),
    Right("the claimant", "complete_command", "its token is the present one", "holds_claim", "D27"),
    Right(
        "the claimant",
        "save",
        "its token is the present one, if the save carries a completion",
        "completion_error",
        "D27",
    ),
    Right("the claimant", "release_command", "its token is the present one", "holds_claim", "D27"),
    Right("any controller that polls", "settle_commands", "nobody can deliver it any more", "undeliverable", "D27"),
)


@attrs.frozen
class CommandMove:
    """One way a command may change: from where to where, by which methods, and what else changes."""

    source: CommandState | None
    target: CommandState
    by: tuple[str, ...]
    sets: tuple[str, ...]


_NEW, _CLAIMED, _DONE = CommandState
_CLAIM = ("claim_token", "claim_until", "claims")
COMMAND_MOVES: tuple[CommandMove, ...] = (
    CommandMove(None, _NEW, ("submit_command", "save", "save_many", "adopt", "expire_lease"), ("seq",)),
    CommandMove(_NEW, _CLAIMED, ("claim_commands",), _CLAIM),
    CommandMove(_CLAIMED, _CLAIMED, ("claim_commands",), _CLAIM),
    CommandMove(_CLAIMED, _NEW, ("release_command",), ("claim_token", "claim_until")),
    CommandMove(_CLAIMED, _DONE, ("complete_command", "save", "save_many", "settle_commands"), ("outcome", "answer")),
    CommandMove(_NEW, _DONE, ("settle_commands",), ("outcome",)),
)


@attrs.frozen
class LeaseLaw:
    """One law of the whole protocol, and the decision it comes from."""

    name: str
    statement: str
    rule: str


LEASE_LAWS: tuple[LeaseLaw, ...] = (
    LeaseLaw("one_answers", "At any version one owner and one epoch answer for a task.", "D24"),
    LeaseLaw(
        "epochs_rise", "Epochs come from one store-wide sequence; a pair of task and epoch never comes again.", "D24"
    ),
    LeaseLaw("fenced_is_silent", "Whoever acts for an old epoch changes no row, record or counter.", "D24"),
    LeaseLaw("fenced_is_told", "Whoever ends another owner's epoch leaves a `fenced` command for it.", "D26"),
    LeaseLaw("renewal_wins", "A lease renewed between the reading and the write keeps its task.", "D25"),
    LeaseLaw("store_judges_time", "Whether a lease or a claim is over is judged by the store's clock alone.", "D25"),
    LeaseLaw("effect_once", "A command has at most one effect on record, written with its end.", "D27"),
    LeaseLaw("in_order", "Of one task and owner, commands take effect in the order of `seq`.", "D27"),
    LeaseLaw("done_is_final", "A command that is done never changes again.", "D27"),
    LeaseLaw("claims_are_private", "Two claims never share a token, and only the present one counts.", "D27"),
)
