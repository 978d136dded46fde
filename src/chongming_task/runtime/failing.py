"""An exception turned into a `Failure`, whatever the exception does (D18).

Formatting runs code of the exception: `__str__`, `__repr__`, notes. Any of it may raise, loop through its
causes, or write megabytes. So each part is tried on its own and has a fixed answer for the worst case.
"""

from __future__ import annotations

import os
import sys
import traceback
from types import TracebackType

from chongming_spec.failures import FAILURE_OF, FailureKind
from chongming_spec.snapshot import Failure
from chongming_task.core.ports import Retries
from chongming_task.runtime.texts import MESSAGE_BYTES, TRACEBACK_BYTES, capped, storable

UNFORMATTABLE = "unformattable"
_OURS = os.path.dirname(__file__) + os.sep


def describe(error: BaseException, note: str = "") -> Failure:
    """The failure of a body that raised `error`; a command's exit code makes it `nonzero_exit`.

    `note` is put before.
    """
    kind, exit_code = FailureKind.EXCEPTION, _exit_code(error)
    if exit_code is not None:
        kind = FailureKind.NONZERO_EXIT
    return failure(kind, note + message_of(error), error, exit_code)


def failure(
    kind: FailureKind, message: str, error: BaseException | None = None, exit_code: int | None = None
) -> Failure:
    """A failure within its caps, with what can be told of `error`."""
    return Failure(
        kind=kind,
        message=capped(storable(message), MESSAGE_BYTES),
        traceback=None if error is None else traceback_of(error),
        retryable=FAILURE_OF[kind].retryable,
        exception_type=None if error is None else type_of(error),
        exit_code=exit_code,
    )


def ask_policy(policy: Retries, error: BaseException) -> tuple[bool, str]:
    """The policy's answer about `error`, and a note for the failure's message where it raised instead of answering."""
    try:
        return bool(policy.retries(error)), ""
    except BaseException as raised:  # the code of a stranger, on a path that must not fail
        return False, f"(the retry policy raised {type_of(raised)}: {message_of(raised)}) "


def message_of(error: BaseException) -> str:
    """What the error says; its type if it says nothing; a fixed word if it cannot say it."""
    try:
        return str(error) or type_of(error)
    except BaseException:  # the code of a stranger, on a path that must not fail
        return UNFORMATTABLE


def type_of(error: BaseException) -> str:
    """The name of its class, with the module unless that is `builtins`."""
    kind = type(error)
    try:
        module, name = str(kind.__module__), str(kind.__qualname__)
    except BaseException:  # a metaclass can do this
        return UNFORMATTABLE
    return storable(name if module == "builtins" else f"{module}.{name}")


def traceback_of(error: BaseException) -> str | None:
    """The traceback with causes and groups, from the body's own frames on; None if it cannot be had (P-115)."""
    try:
        report = traceback.TracebackException(type(error), error, _from_the_body_on(error.__traceback__))
        text = storable("".join(report.format()))
    except BaseException:  # as above
        return None
    return capped(text, TRACEBACK_BYTES, tail=TRACEBACK_BYTES // 2)


def _from_the_body_on(frames: TracebackType | None) -> TracebackType | None:
    rest = frames
    while rest is not None and rest.tb_frame.f_code.co_filename.startswith(_OURS):
        rest = rest.tb_next
    return rest or frames


def _exit_code(error: BaseException) -> int | None:
    subprocess = sys.modules.get("subprocess")
    if subprocess is not None and isinstance(error, subprocess.CalledProcessError):
        code = getattr(error, "returncode", None)
        return code if isinstance(code, int) else None
    return None
