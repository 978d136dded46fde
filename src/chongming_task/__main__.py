"""`python -m chongming_task audit [DB]`: check every invariant on a database or a history, with nothing running.

Exit 0: clean. 1: findings, one per line, or a file that cannot be read. 2: wrong use.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from chongming_spec.audit import audit, checked
from chongming_spec.errors import StoreError
from chongming_spec.texts import shown
from chongming_task.clock import utcnow
from chongming_task.stores._audit_source import read


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m chongming_task")
    command = parser.add_subparsers(required=True).add_parser("audit", help="check every invariant, read-only")
    command.add_argument("db", nargs="?", help="database, or history in JSON Lines; default: $CHONGMING_DB")
    path = parser.parse_args(arguments).db or os.environ.get("CHONGMING_DB")
    if not path:
        command.error("name a database, or set CHONGMING_DB")
    try:
        rows = read(path, utcnow())
    except StoreError as error:
        print(shown(str(error)), file=sys.stderr)
        return 1
    findings = audit(rows)
    for finding in findings:
        print(shown(str(finding)))
    if findings:
        return 1
    tasks = rows.tasks if rows.tasks is not None else {one.transition.task_id for one in rows.records}
    print(f"clean: {len(tasks)} tasks, {len(rows.records)} records, {len(checked(rows))} invariants checked")
    return 0


if __name__ == "__main__":
    sys.exit(main())
