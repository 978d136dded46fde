"""The SQL schema: tables with the snapshot's own column names, and triggers that refuse what the spec refuses.

Nothing of the rules is written here. The edges and the out-of-band rows become literal lists inside the triggers, where
no plain write can change them; a guard on an edge becomes the list of recorded values for which its predicate holds,
found by asking the predicate. History is written first: a record must continue its task's history by an allowed move,
and a row may show only what its newest record says. Between records a row keeps still but for progress, heartbeat and
what is known of its carrier. What was closed, done, promised or buried stays so. REPLACE deletes without asking the
delete triggers, so whatever could be replaced is refused at the insert.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator

from chongming_gen.row_checks import row_checks, sql_list
from chongming_spec import SPEC_VERSION
from chongming_spec.facts import Ask, CarrierView, Facts, Requested
from chongming_spec.failures import FailureKind
from chongming_spec.guards import GUARDS, Guard
from chongming_spec.records import ONLY_OUT_OF_BAND, OUT_OF_BAND_TRIGGERS, REASON_DEMANDED, RESET
from chongming_spec.snapshot import AttemptRecord, TaskSnapshot, Transition
from chongming_spec.states import TERMINAL, TaskStatus
from chongming_spec.stores import SCHEMA_VERSION, Command, OwnerRecord, RunRecord, Tombstone
from chongming_spec.texts import is_blank
from chongming_spec.transitions import EDGES, OUT_OF_BAND, Edge
from chongming_spec.triggers import TRIGGER_NAMES
from chongming_spec.verbs import VERBS
from chongming_task.stores._codec import Column, columns_of

PATH = "src/chongming_task/stores/_generated_schema.py"


def fingerprint() -> str:
    """A digest of the names that decide: edges with their guards, verbs with their rules; no prose (D29)."""
    edges = [[e.source, e.target, e.guard.name if e.guard else None] for e in EDGES]
    moves = [[row.verb, sorted(row.sources), sorted(row.targets or ())] for row in OUT_OF_BAND]
    verbs = [
        [
            verb.name,
            [g.name for g in verb.guards],
            sorted(verb.already),
            [
                [rule.source, rule.target, rule.via, [g.name for g in rule.when], [e.name for e in rule.effects]]
                for rule in verb.rules
            ],
        ]
        for verb in VERBS
    ]
    guards = sorted({guard.name for guard in GUARDS})
    return hashlib.sha256(json.dumps([edges, moves, verbs, guards]).encode()).hexdigest()[:16]


# Guards as SQL, found by asking their predicates.

_DOMAINS: dict[str, tuple[str, list[tuple[object, object]]]] = {
    "in_place": ("paused_in_place", [(False, 0), (True, 1)]),
    "requested": ("requested_action", [(one, one.value) for one in Requested]),
    "carrier": ("carrier", [(one, one.value) for one in CarrierView]),
    "kind": ("failure_kind", [(None, None), *((one, one.value) for one in FailureKind)]),
}


def guard_sql(guard: Guard) -> str:
    """The condition on a NEW record under which `guard` holds, over the evidence a record keeps."""
    if "attempt" in guard.reads:
        return "NEW.attempt <= NEW.max_attempts"
    (read,) = (name for name in guard.reads if name in _DOMAINS)
    column, values = _DOMAINS[read]
    allowed = [stored for value, stored in values if guard.holds(*_evidence(read, value))]
    return f"NEW.{column} IN ({sql_list(allowed)})"


def _evidence(read: str, value: object) -> tuple[Facts, Ask]:
    facts, ask = Facts(TaskStatus.RUNNING), Ask("")
    return (facts, ask._replace(kind=value)) if read == "kind" else (facts._replace(**{read: value}), ask)  # type: ignore[arg-type]


def _refuse(message: str, condition: str) -> str:
    return f"    SELECT RAISE(ABORT, 'chongming: {message}') WHERE {condition};"


# Tables


def _table(name: str, columns: Iterable[Column], *extra: str) -> str:
    lines = [f'    "{column.name}" {column.sql}' for column in columns]
    return f"CREATE TABLE {name} (\n" + ",\n".join([*lines, *(f"    {one}" for one in extra)]) + "\n)"


def tables() -> list[str]:
    """The tables and their indexes."""
    return [
        "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
        "CREATE TABLE counters (status TEXT PRIMARY KEY, tasks INTEGER NOT NULL) WITHOUT ROWID",
        _table(
            "tasks",
            columns_of(TaskSnapshot),
            '"submission_id" TEXT UNIQUE',
            '"arguments" TEXT',
            "PRIMARY KEY (task_id)",
            *row_checks(),
        ),
        "CREATE INDEX tasks_by_status ON tasks (status, created_at, task_id)",
        "CREATE INDEX tasks_by_creation ON tasks (created_at, task_id)",
        "CREATE INDEX tasks_by_owner ON tasks (owner, status)",
        "CREATE INDEX tasks_by_bucket ON tasks (bucket) WHERE bucket IS NOT NULL",
        "CREATE INDEX tasks_by_run ON tasks (pipeline_run_id) WHERE pipeline_run_id IS NOT NULL",
        "CREATE INDEX tasks_by_end ON tasks (ended_at) WHERE ended_at IS NOT NULL",
        _table(
            "transitions", columns_of(Transition), "seq INTEGER PRIMARY KEY AUTOINCREMENT", "UNIQUE (task_id, version)"
        ),
        "CREATE UNIQUE INDEX transitions_by_command ON transitions (command_id) WHERE command_id IS NOT NULL",
        _table("attempts", columns_of(AttemptRecord), "PRIMARY KEY (task_id, generation, attempt)") + " WITHOUT ROWID",
        _table("commands", columns_of(Command), "PRIMARY KEY (command_id)"),
        "CREATE INDEX commands_by_owner ON commands (owner, state, task_id, seq)",
        "CREATE INDEX commands_by_task ON commands (task_id, seq)",
        _table("owners", columns_of(OwnerRecord), "PRIMARY KEY (owner)"),
        _table("runs", columns_of(RunRecord), "PRIMARY KEY (run_id)"),
        _table("tombstones", columns_of(Tombstone), "PRIMARY KEY (task_id)"),
        "CREATE TABLE lines (task_id TEXT NOT NULL, number INTEGER NOT NULL, at TEXT NOT NULL, level INTEGER NOT NULL, "
        "text TEXT NOT NULL, PRIMARY KEY (task_id, number)) WITHOUT ROWID",
    ]


# Triggers

_NEWEST_SAYS = (
    "NOT EXISTS (SELECT 1 FROM transitions WHERE task_id = NEW.task_id AND version = NEW.status_version "
    "AND to_status = NEW.status AND epoch = NEW.epoch AND generation = NEW.generation AND attempt = NEW.attempt) "
    "OR NEW.status_version <> (SELECT MAX(version) FROM transitions WHERE task_id = NEW.task_id)"
)
# A tombstone speaks of one life of an id: it covers nothing of a later epoch, and no task that has moved on since.
_IS_PRUNED = (
    "EXISTS (SELECT 1 FROM tombstones AS stone LEFT JOIN tasks AS row ON row.task_id = stone.task_id "
    "WHERE stone.task_id = OLD.task_id AND OLD.epoch <= stone.epoch AND (row.task_id IS NULL "
    "OR (row.epoch = stone.epoch AND row.status_version = stone.last_version)))"
)
# What `touch` may change, and what is known of a carrier beside the records; everything else needs a record.
_WITHOUT_RECORD = frozenset({"progress", "last_heartbeat_at", "pid", "carrier_state"})


_SAME_ATTEMPT = "old.task_id = NEW.task_id AND old.generation = NEW.generation AND old.attempt = NEW.attempt"


def _differ(columns: Iterable[str], old: str = "OLD") -> str:
    return " OR ".join(f"NEW.{column} IS NOT {old}.{column}" for column in columns)


def _attempt_lies(old: str) -> str:
    """It would begin otherwise, end otherwise after it was closed, or lose its late note."""
    began, ended = _differ(("epoch", "started_at"), old), _differ(("ended_at", "disposition", "failure"), old)
    noted = f"{old}.late_result IS NOT NULL AND {_differ(('late_result',), old)}"
    return f"{began} OR ({old}.ended_at IS NOT NULL AND ({ended})) OR ({noted})"


def _blank(column: str) -> str:
    """Whether nothing of a text can be seen; a plain ASCII sign decides at once. (NUL ends a text in SQLite.)"""
    return f"COALESCE({column}, '') NOT GLOB '*[!-~]*' AND trim(COALESCE({column}, ''), '{_INVISIBLE}') = ''"


_INVISIBLE = "".join(chr(code) for code in range(1, sys.maxunicode + 1) if is_blank(chr(code)))


def _one_of(text: str, names: Iterable[str]) -> str:
    """Whether a text is one of many names: a search in one constant; a long IN list is built anew at every write."""
    return f"(instr({text}, '|') = 0 AND instr('|{'|'.join(names)}|', '|' || {text} || '|') > 0)"


def _moves() -> str:
    in_band = _one_of("NEW.from_status || '>' || NEW.to_status", (f"{edge.source}>{edge.target}" for edge in EDGES))
    allowed = f"{in_band} AND NOT {_one_of('NEW.trigger', sorted(ONLY_OUT_OF_BAND))}"
    return f"NOT (({allowed}) OR ({_out_of_band()}))"


def _out_of_band() -> str:
    parts = []
    for trigger, row in sorted(OUT_OF_BAND_TRIGGERS.items()):
        to = "NEW.to_status = NEW.from_status"
        if row.targets is not None:
            to = f"NEW.to_status IN ({sql_list(sorted(row.targets))}) AND NEW.to_status <> NEW.from_status"
        parts.append(f"(NEW.trigger = '{trigger}' AND NEW.from_status IN ({sql_list(sorted(row.sources))}) AND {to})")
    return " OR ".join(parts)


def _insert_record() -> list[str]:
    """What a new record must be, against the newest one of its task, which is looked up once."""
    creation = "NEW.version = 1 AND NEW.trigger = 'user:create' AND NEW.to_status = 'pending' AND NEW.attempt = 0"
    reset = f"NEW.trigger = '{RESET}'"
    starts = f"(NEW.to_status = '{TaskStatus.STARTING}')"
    cases = [
        ("the version does not follow", "NEW.version <> COALESCE(last.version, 0) + 1"),
        ("it does not come from the present state", "NEW.from_status IS NOT last.to_status"),
        ("only a creation comes from nowhere", f"NEW.from_status IS NULL AND NOT ({creation})"),
        ("no such move", f"NEW.from_status IS NOT NULL AND {_moves()}"),
        ("the trigger is unknown", f"NOT {_one_of('NEW.trigger', sorted(TRIGGER_NAMES))}"),
        ("it names no actor", _blank("NEW.actor")),
        ("it gives no reason", f"{_one_of('NEW.trigger', sorted(REASON_DEMANDED))} AND {_blank('NEW.reason')}"),
        ("its time is before the last one", "NEW.at < last.at"),
        ("the generation does not follow", f"NEW.generation <> last.generation + ({reset})"),
        (
            "the attempt does not follow",
            f"NEW.attempt <> CASE WHEN {reset} THEN 0 ELSE last.attempt + {starts} END",
        ),
        (
            "the epoch does not follow",
            f"CASE WHEN {_out_of_band()} THEN NEW.epoch <= last.epoch ELSE NEW.epoch <> last.epoch END",
        ),
        *_guards(),
    ]
    whens = "\n".join(f"        WHEN {when} THEN RAISE(ABORT, 'chongming: {message}')" for message, when in cases)
    same = "EXISTS (SELECT 1 FROM transitions WHERE seq = NEW.seq OR command_id = NEW.command_id)"
    return [
        _refuse("a record cannot be replaced", same),
        f"    SELECT CASE\n{whens}\n    END FROM (SELECT 1) LEFT JOIN (SELECT version, to_status, at, attempt, epoch, "
        "generation FROM transitions WHERE task_id = NEW.task_id ORDER BY version DESC LIMIT 1) AS last;",
    ]


def _guards() -> Iterator[tuple[str, str]]:
    """The guard on an edge, for whoever takes it within the edges."""
    for edge in EDGES:
        if edge.guard is not None:
            holds = guard_sql(edge.guard).replace("IN (NULL, ", "IN (")
            where = f"NEW.from_status = '{edge.source}' AND NEW.to_status = '{edge.target}'"
            beyond = f" AND NOT ({_out_of_band()})" if _may_be_out_of_band(edge) else ""
            yield f"guard {edge.guard.name}", f"{where} AND NOT COALESCE({holds}, 0){beyond}"


def _may_be_out_of_band(edge: Edge) -> bool:
    return any(edge.source in row.sources and edge.target in (row.targets or ()) for row in OUT_OF_BAND)


def _trigger(name: str, event: str, lines: Iterable[str]) -> str:
    return f"CREATE TRIGGER {name} BEFORE {event} BEGIN\n" + "\n".join(lines) + "\nEND"


def _count(status: str, change: str) -> str:
    return (
        f"    INSERT INTO counters (status, tasks) VALUES ({status}, 0) ON CONFLICT DO NOTHING;\n"
        f"    UPDATE counters SET tasks = tasks {change} 1 WHERE status = {status};"
    )


def triggers() -> list[str]:
    """What makes the database refuse, and what keeps its counters."""
    return [*_of_records(), *_of_tasks(), *_of_what_ended(), *_of_commands(), *_of_counters()]


def _of_records() -> list[str]:
    return [
        _trigger("transitions_insert", "INSERT ON transitions", _insert_record()),
        "CREATE TRIGGER transitions_placed AFTER INSERT ON transitions BEGIN\n"
        + _refuse("a record stands after all others", "NEW.seq < 1 OR NEW.seq < (SELECT MAX(seq) FROM transitions)")
        + "\nEND",
        _trigger("transitions_update", "UPDATE ON transitions", [_refuse("a record is never changed", "1")]),
        _trigger("transitions_delete", "DELETE ON transitions",
                 [_refuse("a record is only pruned", f"NOT {_IS_PRUNED}")]),
    ]  # fmt: skip


def _of_tasks() -> list[str]:
    over = sql_list(sorted(TERMINAL))
    fixed = [column.name for column in columns_of(TaskSnapshot) if column.name not in _WITHOUT_RECORD]
    return [
        _trigger(
            "tasks_insert",
            "INSERT ON tasks",
            [
                _refuse("a task cannot be replaced", "EXISTS (SELECT 1 FROM tasks WHERE task_id = NEW.task_id "
                        "OR submission_id = NEW.submission_id OR rowid = NEW.rowid)"),
                _refuse("the row is not what its newest record says", _NEWEST_SAYS),
            ],
        ),
        _numbered("tasks"),
        _trigger(
            "tasks_update",
            "UPDATE OF status, status_version, epoch, generation, attempt ON tasks",
            [_refuse("the row is not what its newest record says", _NEWEST_SAYS)],
        ),
        _trigger(
            "tasks_same",
            "UPDATE ON tasks",
            [
                _refuse("a task keeps its id",
                        _differ(("rowid", "task_id", "created_at", "submission_id", "arguments"))),
                _refuse("a row changes with its record only",
                        f"NEW.status_version = OLD.status_version AND ({_differ(fixed)})"),
                _refuse("what is over has no progress",
                        f"NEW.status_version = OLD.status_version AND OLD.status IN ({over}) AND "
                        f"({_differ(('progress', 'last_heartbeat_at'))})"),
            ],
        ),
        _trigger("tasks_delete", "DELETE ON tasks", [_refuse("a task is only pruned", f"NOT {_IS_PRUNED}")]),
    ]  # fmt: skip


def _numbered(table: str) -> str:
    """A row that asks for no number shows -1 before it is inserted, so no row may have that one."""
    refused = _refuse("a row number is at least 1", "NEW.rowid < 1")
    return f"CREATE TRIGGER {table}_numbered AFTER INSERT ON {table} BEGIN\n{refused}\nEND"


def _of_what_ended() -> list[str]:
    over = sql_list(sorted(TERMINAL))
    return [
        _trigger(
            "tombstones_insert",
            "INSERT ON tombstones",
            [_refuse("only a task that is over can be pruned",
                     "NOT EXISTS (SELECT 1 FROM tasks WHERE task_id = NEW.task_id AND status = NEW.status AND epoch = "
                     f"NEW.epoch AND status_version = NEW.last_version AND status IN ({over}))")],
        ),
        _trigger("tombstones_update", "UPDATE ON tombstones", [_refuse("a tombstone is never changed", "1")]),
        _trigger("tombstones_delete", "DELETE ON tombstones", [_refuse("a tombstone stays", "1")]),
        _trigger("attempts_insert", "INSERT ON attempts",
                 [_refuse("an attempt begins once, and closed it is never changed",
                          f"EXISTS (SELECT 1 FROM attempts AS old WHERE {_SAME_ATTEMPT} "
                          f"AND ({_attempt_lies('old')}))")]),
        _trigger("attempts_delete", "DELETE ON attempts", [_refuse("an attempt is only pruned", f"NOT {_IS_PRUNED}")]),
        _trigger("attempts_update", "UPDATE ON attempts",
                 [_refuse("an attempt begins once, and closed it is never changed",
                          f"{_differ(('task_id', 'generation', 'attempt'))} OR {_attempt_lies('OLD')}")]),
    ]  # fmt: skip


def _of_commands() -> list[str]:
    changing = {"state", "claim_token", "claim_until", "claims", "outcome", "answer"}
    purpose = ["rowid", *(column.name for column in columns_of(Command) if column.name not in changing)]
    return [
        _numbered("commands"),
        _trigger("commands_insert", "INSERT ON commands",
                 [_refuse("a command cannot be replaced",
                          "EXISTS (SELECT 1 FROM commands WHERE command_id = NEW.command_id OR rowid = NEW.rowid)")]),
        _trigger("commands_update", "UPDATE ON commands",
                 [_refuse("a command keeps its purpose, and done is final",
                          f"OLD.state = 'done' OR {_differ(purpose)}")]),
        _trigger("commands_delete", "DELETE ON commands",
                 [_refuse("a command is only pruned",
                          "NOT EXISTS (SELECT 1 FROM tombstones AS stone LEFT JOIN tasks AS row ON row.task_id = "
                          "stone.task_id WHERE stone.task_id = OLD.task_id "
                          "AND COALESCE(row.epoch, 0) <= stone.epoch)")]),
        _trigger("meta_insert", "INSERT ON meta",
                 [_refuse("a promise of the file cannot be replaced",
                          "EXISTS (SELECT 1 FROM meta WHERE key = NEW.key)")]),
        _trigger("meta_update", "UPDATE ON meta",
                 [_refuse("a promise of the file is kept", "NEW.key <> OLD.key OR OLD.key = 'num_buckets' "
                          "OR (OLD.key = 'epoch' AND CAST(NEW.value AS INTEGER) <= CAST(OLD.value AS INTEGER))")]),
        _trigger("meta_delete", "DELETE ON meta", [_refuse("a promise of the file stays", "1")]),
    ]  # fmt: skip


def _of_counters() -> list[str]:
    return [
        "CREATE TRIGGER tasks_counted AFTER INSERT ON tasks BEGIN\n" + _count("NEW.status", "+") + "\nEND",
        "CREATE TRIGGER tasks_moved AFTER UPDATE OF status ON tasks WHEN NEW.status <> OLD.status BEGIN\n"
        + _count("OLD.status", "-") + "\n" + _count("NEW.status", "+") + "\nEND",
        "CREATE TRIGGER tasks_gone AFTER DELETE ON tasks BEGIN\n" + _count("OLD.status", "-") + "\nEND",
    ]  # fmt: skip


def _escaped(statement: str) -> str:
    """As it stands between quotes in a Python file, where nothing may be invisible."""
    plain = (c if c == "\n" or " " <= c <= "~" else c.encode("unicode_escape").decode() for c in statement)
    return "".join(plain)


def text() -> str:
    """The generated module."""
    statements = "".join(f'    """{_escaped(one)}""",\n' for one in [*tables(), *triggers()])
    return (
        '"""Generated by chongming_gen from chongming_spec; do not edit, run `make gen`.\n\n'
        'The SQL schema: tables, indexes and the triggers that refuse what the spec refuses.\n"""\n\n'
        f'SCHEMA_VERSION = {SCHEMA_VERSION}\nSPEC_VERSION = "{SPEC_VERSION}"\nFINGERPRINT = "{fingerprint()}"\n\n'
        f"STATEMENTS: tuple[str, ...] = (\n{statements})\n"
    )
