"""What the reference store keeps beside the tasks: commands, owners, pipeline runs and log lines, as pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import attrs

from chongming_spec import store_rules as rules
from chongming_spec.store_state import Answer, Line, StoreState, World, command_named, demand
from chongming_spec.stores import LOG_LINES_KEPT, Command, Completion, OwnerRecord, RunRecord

# Commands


def _with_command(state: StoreState, command: Command) -> StoreState:
    changed = tuple(command if one.command_id == command.command_id else one for one in state.commands)
    return attrs.evolve(state, commands=changed)


def submit_command(world: World, command: Command) -> Answer:
    """A new command under the next `seq` of its task."""
    state = world.state
    known = command_named(state, command.command_id)
    if known is not None:
        return Answer(state, known)
    last = max((one.seq for one in state.commands if one.task_id == command.task_id), default=0)
    numbered = rules.submitted(command, last + 1)
    return Answer(attrs.evolve(state, commands=(*state.commands, numbered)), numbered)


def _by_age(commands: Sequence[Command]) -> list[Command]:
    return sorted(commands, key=lambda one: (one.created_at, one.command_id))


def claim_commands(world: World, *, owner: str, lease_seconds: float, limit: int = 50) -> Answer:
    """For this owner, of each task only the lowest unfinished one."""
    state = world.state
    until = world.now + timedelta(seconds=lease_seconds)
    tokens = world.told.tokens or {}
    found = [
        one
        for one in _by_age(state.commands)
        if rules.is_claimable(one, owner, world.now)
        and not any(rules.is_behind(one, other, world.now) for other in state.commands)
    ][:limit]
    claimed = [rules.claimed(one, tokens.get(one.command_id, f"token-{one.command_id}"), until) for one in found]
    for one in claimed:
        state = _with_command(state, one)
    return Answer(state, claimed)


def complete_command(world: World, completion: Completion) -> Answer:
    """The end of a command whose claim is held."""
    known = command_named(world.state, completion.command_id)
    if known is None or not rules.holds_claim(known, completion.claim_token):
        return Answer(world.state, False)
    return Answer(_with_command(world.state, rules.completed(known, completion)), True)


def release_command(world: World, command_id: str, claim_token: str) -> Answer:
    """A command whose claim is held, given back."""
    known = command_named(world.state, command_id)
    if known is None or not rules.holds_claim(known, claim_token):
        return Answer(world.state, False)
    return Answer(_with_command(world.state, rules.released(known)), True)


def settle_commands(world: World, *, owner: str) -> Answer:
    """The end of what nobody can deliver any more."""
    state = world.state
    settled = []
    for one in _by_age(state.commands):
        row = state.rows.get(one.task_id)
        outcome = rules.undeliverable(one, None if row is None else row.epoch, world.now)
        if outcome is not None:
            ended = rules.completed(one, Completion(one.command_id, one.claim_token or "", outcome))
            state = _with_command(state, ended)
            settled.append(ended)
    return Answer(state, settled)


def command(world: World, command_id: str) -> Answer:
    """One command, or None."""
    return Answer(world.state, command_named(world.state, command_id))


# Runs, lines, owners


def save_run(world: World, run: RunRecord, *, expect_version: int) -> Answer:
    """A run's record, following its version."""
    demand(rules.run_error(world.state.runs.get(run.run_id), run.run_id, expect_version))
    stored = attrs.evolve(run, version=expect_version + 1)
    return Answer(attrs.evolve(world.state, runs={**world.state.runs, run.run_id: stored}), stored)


def get_run(world: World, run_id: str) -> Answer:
    """One run, or None."""
    return Answer(world.state, world.state.runs.get(run_id))


def runs(world: World) -> Answer:
    """All runs, oldest first."""
    return Answer(world.state, sorted(world.state.runs.values(), key=lambda run: (run.created_at, run.run_id)))


def add_lines(world: World, task_id: str, lines: Sequence[Line]) -> Answer:
    """The newest lines of a task are kept."""
    kept = (*world.state.lines.get(task_id, ()), *lines)[-LOG_LINES_KEPT:]
    return Answer(attrs.evolve(world.state, lines={**world.state.lines, task_id: kept}))


def lines(world: World, task_id: str) -> Answer:
    """The kept lines, oldest first."""
    return Answer(world.state, list(world.state.lines.get(task_id, ())))


def renew(world: World, owner: OwnerRecord, lease_until: datetime) -> Answer:
    """One owner's lease."""
    owners = {**world.state.owners, owner.owner: attrs.evolve(owner, lease_until=lease_until)}
    return Answer(attrs.evolve(world.state, owners=owners))


def owners(world: World) -> Answer:
    """All owners, by name."""
    return Answer(world.state, [world.state.owners[name] for name in sorted(world.state.owners)])
