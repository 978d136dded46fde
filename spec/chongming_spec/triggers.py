"""What set a transition off: `class:event`.

The class says who is answerable: `user` a person's ordinary verb, `admin` a person's override, `scheduler` the one that
grants slots and releases nodes, `executor` what a carrier reported, `runtime` the supervisor, `timer` a time that came,
`reconciler` the one that settles what dead owners left (D43).
"""

from __future__ import annotations

import attrs

CLASSES: tuple[str, ...] = ("user", "scheduler", "executor", "runtime", "reconciler", "admin", "timer")


@attrs.frozen
class Trigger:
    """One trigger and what it means."""

    name: str
    meaning: str


TRIGGERS: tuple[Trigger, ...] = (
    Trigger("user:create", "The task was created."),
    Trigger("user:start", "A person asked for it to run."),
    Trigger("user:stop", "A person ended it."),
    Trigger("user:cancel", "It was called off."),
    Trigger("user:pause", "A person asked it to hold."),
    Trigger("user:resume", "A person let it go on."),
    Trigger("user:retry", "A person revived it."),
    Trigger("user:skip", "A person declared it unneeded."),
    Trigger("user:wait", "Somebody waits for it; nothing changes."),
    Trigger("admin:reset", "A person made it begin anew."),
    Trigger("admin:force", "A person overrode its state."),
    Trigger("admin:adopt", "Another owner took it over."),
    Trigger("scheduler:queued", "It became ready to run."),
    Trigger("scheduler:blocked", "It must wait for upstream tasks."),
    Trigger("scheduler:dispatch", "It was granted a slot."),
    Trigger("scheduler:skipped", "It is not needed."),
    Trigger("executor:launched", "The carrier confirmed the start."),
    Trigger("executor:parked", "The body parked at a checkpoint."),
    Trigger("executor:returned", "The body returned a valid value."),
    Trigger("executor:returned_invalid", "The body returned what is not JSON."),
    Trigger("executor:raised", "The body raised."),
    Trigger("executor:cancelled", "TaskCancelled left the body."),
    Trigger("executor:died", "The carrier died of itself."),
    Trigger("executor:killed", "The carrier was killed."),
    Trigger("executor:withdrawn", "The launch was taken back."),
    Trigger("executor:launch_failed", "No carrier could be made."),
    Trigger("runtime:succeeded", "It was recorded as succeeded."),
    Trigger("runtime:failed", "It was recorded as failed."),
    Trigger("runtime:retry", "It was recorded as waiting for its next attempt."),
    Trigger("runtime:stopped", "It was recorded as stopped."),
    Trigger("runtime:cancelled", "It was recorded as called off."),
    Trigger("runtime:lost", "It was recorded as lost."),
    Trigger("runtime:stop_requested", "The body was asked to end."),
    Trigger("runtime:cancel_requested", "The body was asked to end, as called off."),
    Trigger("runtime:pause_requested", "The body was asked to park."),
    Trigger("runtime:pause_aborted", "A pause was taken back before it held."),
    Trigger("timer:start", "The start timeout passed."),
    Trigger("timer:attempt", "The timeout of the attempt passed."),
    Trigger("timer:idle", "The idle timeout passed."),
    Trigger("timer:window", "The grace window is over."),
    Trigger("timer:resume", "The time to go on has come."),
    Trigger("reconciler:lease_expired", "Its owner's lease is over."),
)

TRIGGER_NAMES: frozenset[str] = frozenset(row.name for row in TRIGGERS)
