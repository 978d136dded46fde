"""The pages about stores: what each method may do, who may write under which lease, and what an audit checks."""

from __future__ import annotations

from chongming_spec.audit import INVARIANTS
from chongming_spec.leases import COMMAND_MOVES, LEASE_LAWS, RIGHTS
from chongming_spec.render.markdown import page, prose, rows_table
from chongming_spec.stores import STORE_METHODS


def stores_page() -> str:
    """stores.md."""
    return page(
        "Stores",
        "A store keeps what a task is and was, and makes sure that what is written could have happened. Each "
        "method is one atomic transaction. The contract that ships with the library holds a store to every "
        "law below (D22-D30).",
        rows_table(STORE_METHODS, heads={"name": "Method", "data": "Kind of data"}),
    )


def leases_page() -> str:
    """leases.md."""
    return page(
        "Leases and commands",
        "The lease belongs to the owner, not to the task. Whoever acts for a task does so under its epoch, and "
        "whoever takes it over begins a new one, so that the old owner's writes are refused (D24-D28).",
        "## Who may write what",
        rows_table(RIGHTS),
        "## The life of a command",
        prose("Another process asks by leaving a command; its owner claims it under a lease of its own (D27)."),
        rows_table(COMMAND_MOVES),
        "## Laws",
        rows_table(LEASE_LAWS),
    )


def audit_page() -> str:
    """audit.md."""
    return page(
        "Audit",
        "`python -m chongming_task audit FILE` reads a database without changing it and checks every invariant "
        "below. A store refuses what breaks most of them; the audit is for what was written past it.",
        rows_table(INVARIANTS),
    )
