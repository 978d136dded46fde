"""From an older schema to this one: in one transaction, after a copy of the file is kept (D29).

`MIGRATIONS` maps a schema version to the statements that lead to the next one. Schema 1 is the first, so the map is
empty.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing

from chongming_spec.errors import StoreError
from chongming_task.stores._generated_schema import SCHEMA_VERSION

MIGRATIONS: Mapping[int, Sequence[str]] = {}


def check_way(
    path: str,
    version: int,
    *,
    target: int = SCHEMA_VERSION,
    migrations: Mapping[int, Sequence[str]] = MIGRATIONS,
) -> None:
    """StoreError unless every step from `version` to `target` is known."""
    missing = [step for step in range(version, target) if step not in migrations]
    if missing:
        raise StoreError(
            f"{path} has schema version {version}, and no way is known from {missing[0]} to {missing[0] + 1}; "
            "use the library that wrote it"
        )


def migrate(
    connection: sqlite3.Connection,
    path: str,
    version: int,
    *,
    target: int = SCHEMA_VERSION,
    migrations: Mapping[int, Sequence[str]] = MIGRATIONS,
) -> str:
    """Bring the file from `version` to `target`; returns the path of the copy. StoreError if there is no way."""
    check_way(path, version, target=target, migrations=migrations)
    copy = f"{path}.schema-{version}"
    with closing(sqlite3.connect(copy)) as kept:
        connection.backup(kept)
    connection.execute("BEGIN IMMEDIATE")
    try:
        (now,) = connection.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
        for step in range(int(now), target):
            for statement in migrations[step]:
                connection.execute(statement)
        connection.execute("UPDATE meta SET value = ? WHERE key = 'schema_version'", (str(target),))
        connection.commit()
    except BaseException:
        connection.rollback()
        raise
    return copy
