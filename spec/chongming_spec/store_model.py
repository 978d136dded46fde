"""A store as mathematics: an immutable state and one pure function per method of `stores.STORE_METHODS`.

Simple where a real store is fast: everything is a tuple or a mapping that is copied whole. Every judgement is that of
`store_rules`; what is said here is only *what is written* when the judgement lets it pass. `call` answers one request;
a refusal is its error with the state unchanged.

Three things only a real store can choose: the epoch it drew, the claim tokens it made, and the places of its feed. The
first two are `Told`; places are not part of the model, their order is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import attrs

from chongming_spec import store_rules as rules
from chongming_spec.errors import StoreError, TaskError
from chongming_spec.snapshot import AttemptRecord, Progress, TaskSnapshot, Transition
from chongming_spec.states import TaskStatus, is_terminal
from chongming_spec.store_model_side import (
    add_lines,
    claim_commands,
    command,
    complete_command,
    get_run,
    lines,
    owners,
    release_command,
    renew,
    runs,
    save_run,
    settle_commands,
    submit_command,
)
from chongming_spec.store_state import (
    Answer,
    StoreState,
    World,
    command_named,
    demand,
    history_of,
    lease_of,
    view,
)
from chongming_spec.stores import (
    Completion,
    LeaseView,
    SaveRequest,
    TaskQuery,
    Tombstone,
)


def call(world: World, method: str, *args: Any, **kwargs: Any) -> Answer:
    """One call of one method; `method` is a name of `METHODS`."""
    if world.state.closed and method != "close":
        return Answer(world.state, error=StoreError("the store is closed"))
    try:
        return METHODS[method](world, *args, **kwargs)
    except TaskError as error:
        return Answer(world.state, error=error)


# Rows and history


def _judged(world: World, request: SaveRequest) -> SaveRequest:
    state = world.state
    task_id = request.snapshot.task_id
    if rules.draws_epoch(request.transitions):
        request = rules.with_epoch(request, state.epoch + 1 if world.told.epoch is None else world.told.epoch)
    history = history_of(state, task_id)
    demand(rules.records_error(request.snapshot, history[-1] if history else None, request.transitions))
    effects = [record.command_id for record in state.records]
    for record in request.transitions:
        demand(rules.effect_error(record, record.command_id is not None and record.command_id in effects))
        effects.append(record.command_id)
    return request


def _written(state: StoreState, request: SaveRequest) -> StoreState:
    task_id = request.snapshot.task_id
    attempts = {(one.task_id, one.generation, one.attempt): one for one in state.attempts}
    for given in request.attempts:
        key = (task_id, given.generation, given.attempt)
        merged = rules.merged_attempt(attempts.get(key), given, task_id)
        if not isinstance(merged, AttemptRecord):
            raise merged
        attempts[key] = merged
    row = attrs.evolve(request.snapshot, lease_owner=None, lease_until=None)
    return attrs.evolve(
        state,
        epoch=max(state.epoch, row.epoch),
        rows={**state.rows, task_id: row},
        records=(*state.records, *request.transitions),
        attempts=tuple(attempts.values()),
    )


def create(
    world: World,
    snapshot: TaskSnapshot,
    *,
    transitions: Sequence[Transition],
    submission_id: str | None = None,
    arguments: Mapping[str, Any] | None = None,
) -> Answer:
    """A new row with its first records; the same submission again is the same task."""
    state = world.state
    if submission_id is not None and submission_id in state.submissions:
        return Answer(state, view(state, state.rows[state.submissions[submission_id]]))
    demand(rules.create_error(state.rows.get(snapshot.task_id)))
    request = _judged(world, SaveRequest(snapshot, 0, tuple(transitions)))
    after = _written(state, request)
    if submission_id is not None:
        after = attrs.evolve(after, submissions={**after.submissions, submission_id: snapshot.task_id})
    if arguments is not None:
        after = attrs.evolve(after, arguments={**after.arguments, snapshot.task_id: arguments})
    return Answer(after, view(after, request.snapshot))


def save(
    world: World,
    snapshot: TaskSnapshot,
    *,
    expect_version: int,
    transitions: Sequence[Transition],
    attempts: Sequence[AttemptRecord] = (),
    complete: Completion | None = None,
) -> Answer:
    """The next version of a row; the very same save again changes nothing."""
    return _saved(world, SaveRequest(snapshot, expect_version, tuple(transitions), tuple(attempts), complete))


def _saved(world: World, request: SaveRequest) -> Answer:
    state = world.state
    row = state.rows.get(request.snapshot.task_id)
    history = history_of(state, request.snapshot.task_id)
    stored = next((record for record in history if record.version == request.snapshot.status_version), None)
    if row is not None and stored is not None and rules.was_saved(stored, request):
        return Answer(state, view(state, attrs.evolve(request.snapshot, epoch=stored.epoch)))
    demand(rules.save_error(None if row is None else rules.head_of(row, history[-1]), request))
    assert row is not None
    request = _judged(world, request)
    done = request.complete
    if done is not None:
        demand(rules.completion_error(command_named(state, done.command_id), done))
    after = _written(state, request)
    fenced = rules.fenced_command(row, request, world.now)
    if fenced is not None:
        after = submit_command(world._replace(state=after), fenced).state
    if done is not None:
        after = complete_command(world._replace(state=after), done).state
    return Answer(after, view(after, request.snapshot))


def save_many(world: World, requests: Sequence[SaveRequest]) -> Answer:
    """Many saves, each on its own; errors stand in the places of results."""
    results: list[Any] = []
    for request in requests:
        try:
            answer = _saved(world, request)
        except TaskError as error:
            results.append(error)
        else:
            world = world._replace(state=answer.state)
            results.append(answer.result)
    return Answer(world.state, results)


def append(world: World, transition: Transition) -> Answer:
    """One imported record."""
    state = world.state
    history = history_of(state, transition.task_id)
    known = next((record for record in history if record.version == transition.version), None)
    newest = history[-1] if history else None
    demand(rules.append_error(state.rows.get(transition.task_id), known, newest, transition))
    if known is not None:
        return Answer(state)
    used = transition.command_id is not None and any(r.command_id == transition.command_id for r in state.records)
    demand(rules.effect_error(transition, used))
    epoch = max(state.epoch, transition.epoch)
    return Answer(attrs.evolve(state, epoch=epoch, records=(*state.records, transition)))


def get(world: World, task_id: str) -> Answer:
    """One task, or None."""
    row = world.state.rows.get(task_id)
    return Answer(world.state, None if row is None else view(world.state, row))


def arguments(world: World, task_id: str) -> Answer:
    """The stored arguments."""
    return Answer(world.state, world.state.arguments.get(task_id))


def query(world: World, query: TaskQuery | None = None) -> Answer:
    """All tasks that meet the conditions, in order; pages are cut by whoever compares."""
    wanted = TaskQuery() if query is None else query
    demand(rules.query_error(wanted))
    found = [view(world.state, row) for row in world.state.rows.values() if _fits(row, wanted)]
    return Answer(
        world.state, sorted(found, key=lambda row: (row.created_at, row.task_id), reverse=wanted.newest)[: wanted.limit]
    )


def _fits(row: TaskSnapshot, wanted: TaskQuery) -> bool:
    return (
        (wanted.statuses is None or row.status in wanted.statuses)
        and (wanted.tag is None or wanted.tag in row.tags)
        and (wanted.name_prefix is None or row.name.startswith(wanted.name_prefix))
        and (wanted.buckets is None or row.bucket in wanted.buckets)
        and (wanted.pipeline_run_id is None or row.pipeline_run_id == wanted.pipeline_run_id)
        and (wanted.owner is None or row.owner == wanted.owner)
    )


def counts(world: World) -> Answer:
    """How many rows there are in each state."""
    statuses = [row.status for row in world.state.rows.values()]
    return Answer(world.state, {status: statuses.count(status) for status in TaskStatus if status in statuses})


def history(world: World, task_id: str, *, since_version: int = 0, generation: int | None = None) -> Answer:
    """The records after a version, of all generations or of one."""
    found = history_of(world.state, task_id)
    return Answer(world.state, [r for r in found if r.version > since_version and generation in (None, r.generation)])


def feed(world: World) -> Answer:
    """All records in store-wide order; places and pages are the store's own."""
    return Answer(world.state, list(world.state.records))


def attempts(world: World, task_id: str, *, generation: int | None = None) -> Answer:
    """One record per attempt started."""
    found = [a for a in world.state.attempts if a.task_id == task_id and generation in (None, a.generation)]
    return Answer(world.state, sorted(found, key=lambda a: (a.generation, a.attempt)))


def note_late_result(world: World, task_id: str, *, generation: int, attempt: int, note: str) -> Answer:
    """A late note on a closed attempt."""
    state = world.state
    key = (task_id, generation, attempt)
    known = next((a for a in state.attempts if (a.task_id, a.generation, a.attempt) == key), None)
    noted = rules.noted(known, note)
    if noted is None:
        return Answer(state, False)
    changed = tuple(noted if one is known else one for one in state.attempts)
    return Answer(attrs.evolve(state, attempts=changed), True)


# The bypass and the leases


def touch(
    world: World,
    task_id: str,
    *,
    owner: str,
    epoch: int,
    progress: Progress | None = None,
    heartbeat_at: datetime | None = None,
) -> Answer:
    """Progress and heartbeat of a task whose owner and epoch hold."""
    state = world.state
    row = state.rows.get(task_id)
    if row is None or not rules.may_touch(row, owner, epoch):
        return Answer(state, False)
    touched = row if progress is None else attrs.evolve(row, progress=progress)
    touched = touched if heartbeat_at is None else attrs.evolve(touched, last_heartbeat_at=heartbeat_at)
    return Answer(attrs.evolve(state, rows={**state.rows, task_id: touched}), True)


def expire_lease(world: World, request: SaveRequest, read: LeaseView) -> Answer:
    """As save, where all is as read and the lease is over."""
    row = world.state.rows.get(request.snapshot.task_id)
    lease = lease_of(world.state, None if row is None else row.owner)
    return _saved(world, request) if rules.may_expire(row, read, lease, world.now) else Answer(world.state)


def adopt(world: World, request: SaveRequest, read: LeaseView, *, stalled_ok: bool = False) -> Answer:
    """As save, where all is as read and the lease is over or may be waived."""
    row = world.state.rows.get(request.snapshot.task_id)
    lease = lease_of(world.state, None if row is None else row.owner)
    may = rules.may_adopt(row, read, lease, world.now, stalled_ok)
    return _saved(world, request) if may else Answer(world.state)


def prune(world: World, *, keep_terminal: int) -> Answer:
    """Whole tasks, oldest end first, each leaving a tombstone."""
    demand(rules.prune_error(keep_terminal))
    state = world.state
    over = [row for row in state.rows.values() if is_terminal(row.status)]
    over.sort(key=lambda row: (row.ended_at or row.created_at, row.task_id), reverse=True)
    removed = [row for row in over[keep_terminal:] if _may_prune(state, row)]
    for row in removed:
        state = _without(state, row, world.now)
    return Answer(state, len(removed))


def _may_prune(state: StoreState, row: TaskSnapshot) -> bool:
    live = any(one.task_id == row.task_id and rules.is_live(one) for one in state.commands)
    run = None if row.pipeline_run_id is None else state.runs.get(row.pipeline_run_id)
    return rules.may_prune(row, live, rules.run_is_settled(run), rules.possibly_alive(row))


def _without(state: StoreState, row: TaskSnapshot, now: datetime) -> StoreState:
    gone = row.task_id
    stone = Tombstone(gone, row.status, row.epoch, row.status_version, now)
    return attrs.evolve(
        state,
        rows={key: value for key, value in state.rows.items() if key != gone},
        records=tuple(one for one in state.records if one.task_id != gone),
        attempts=tuple(one for one in state.attempts if one.task_id != gone),
        commands=tuple(one for one in state.commands if one.task_id != gone),
        arguments={key: value for key, value in state.arguments.items() if key != gone},
        submissions={key: value for key, value in state.submissions.items() if value != gone},
        lines={key: value for key, value in state.lines.items() if key != gone},
        tombstones={**state.tombstones, gone: stone},
    )


def tombstone(world: World, task_id: str) -> Answer:
    """What is left of a pruned task."""
    return Answer(world.state, world.state.tombstones.get(task_id))


def close(world: World) -> Answer:
    """Nothing more can be asked."""
    return Answer(attrs.evolve(world.state, closed=True))


METHODS: Mapping[str, Callable[..., Answer]] = {
    method.__name__: method
    for method in (
        *(create, save, save_many, get, arguments, query, counts, append, history, feed, attempts, note_late_result),
        *(touch, renew, owners, expire_lease, adopt),
        *(submit_command, claim_commands, complete_command, release_command, settle_commands, command),
        *(save_run, get_run, runs, prune, tombstone, add_lines, lines, close),
    )
}
