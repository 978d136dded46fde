"""Who answers for a task that nobody else claims (D2)."""

from __future__ import annotations

import os
import platform


def default_owner() -> str:
    """`user@host:pid` of this process."""
    return f"{_user()}@{platform.node() or 'localhost'}:{os.getpid()}"


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):  # no such user in the password database, or no database
        return "unknown"
