"""A control verb and its parameters, checked and turned into an input; the way in for every face.

The parameters are those of the verb's row, so a face needs no knowledge of its own. Times are seconds here and
milliseconds from here on; a `resume_at` must be aware.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from chongming_spec.algebra import Caller
from chongming_spec.decide import SPEC
from chongming_spec.errors import ConfigurationError
from chongming_spec.texts import check_text
from chongming_task.core.inputs import Asked
from chongming_task.core.names import near
from chongming_task.policies import check_seconds, to_ms

CONTROL_VERBS: tuple[str, ...] = tuple(verb.name for verb in SPEC.verbs if verb.caller is Caller.PERSON)


def asked(verb: str, ask: Mapping[str, Any]) -> Asked:
    """The input for `verb` with the parameters `ask`; None stands for a parameter that was not given.

    Raises ConfigurationError naming the verb or the parameter that is unusable.
    """
    if verb not in CONTROL_VERBS:
        raise ConfigurationError(f"unknown verb {verb!r}; {near(str(verb), CONTROL_VERBS)}")
    known = [param.name for param in SPEC.verb_of[verb].params]
    for name in ask:
        if name not in known:
            raise ConfigurationError(f"{verb} takes no {name!r}; it takes {', '.join(known)}")
    given = {name: value for name, value in ask.items() if value is not None}
    for text in ("actor", "reason"):
        if text in given:
            check_text(text, given[text])
    seconds = given.pop("timeout", None)
    limit_ms = None if seconds is None else to_ms(check_seconds("timeout", seconds))
    if given.pop("graceful", True) is False:
        limit_ms = 0
    if "resume_at" in given:
        check_aware("resume_at", given["resume_at"])
    actor, reason = given.pop("actor", None), given.pop("reason", None)
    return Asked(verb, actor, reason, given or None, wait_ms=limit_ms, window_ms=limit_ms)


def check_aware(argument: str, value: object) -> None:
    """ConfigurationError unless `value` is a datetime with a time zone."""
    if not isinstance(value, datetime):
        raise ConfigurationError(f"{argument} must be a datetime, not {type(value).__name__}")
    if value.tzinfo is None or value.utcoffset() is None:
        raise ConfigurationError(f"{argument} must be an aware datetime; use datetime.now(timezone.utc)")
