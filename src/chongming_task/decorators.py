"""`@task`: what is declared beside a function, kept on the function.

There is no registry behind it. The declaration sits on the function object, and whoever runs or registers the
function reads it there; importing a module registers nothing anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, overload

import attrs

from chongming_spec.errors import ConfigurationError
from chongming_spec.texts import check_id, check_text
from chongming_task.policies import RetryPolicy, Timeout, check_seconds
from chongming_task.runtime.targets import check_target, parameters_of

DECLARATION = "__chongming_task__"
RESERVED: frozenset[str] = frozenset(
    {
        "task_id", "name", "label", "tags", "priority", "bucket_key", "retry", "timeout", "executor", "graceful_stop",
        "artifact_dir", "clock", "owner", "args", "kwargs", "upstream",
    }
)  # fmt: skip
F = TypeVar("F", bound=Callable[..., Any])


@attrs.frozen
class TaskDeclaration:
    """What `@task` declares: name, description, tags, policies. None: the caller's or the library's default."""

    name: str
    description: str
    tags: frozenset[str] = frozenset()
    retry: RetryPolicy | None = None
    timeout: Timeout | None = None
    graceful_stop: float | None = None
    idempotent: bool = False
    store_arguments: bool = True


@overload
def task(function: F) -> F: ...


@overload
def task(
    *,
    name: str | None = None,
    description: str | None = None,
    tags: Iterable[str] = (),
    retry: RetryPolicy | None = None,
    timeout: Timeout | None = None,
    graceful_stop: float | None = None,
    idempotent: bool = False,
    store_arguments: bool = True,
) -> Callable[[F], F]: ...


def task(
    function: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    tags: Iterable[str] = (),
    retry: RetryPolicy | None = None,
    timeout: Timeout | None = None,
    graceful_stop: float | None = None,
    idempotent: bool = False,
    store_arguments: bool = True,
) -> Any:
    """Declare a function to be a task. Works with and without parentheses; the function itself stays as it is.

    Name and description default to the function's name and the first line of its docstring. Raises ConfigurationError
    for a target that cannot be a body, a parameter that bears a reserved name (D42), or an unusable value.
    """

    def declare(target: F) -> F:
        check_target(target)
        check_reserved(target)
        declaration = TaskDeclaration(
            name=check_id("name", name if name is not None else getattr(target, "__name__", type(target).__name__)),
            description=description if description is not None else _first_line(target),
            tags=checked_tags(tags),
            retry=checked("retry", retry, RetryPolicy),
            timeout=checked("timeout", timeout, Timeout),
            graceful_stop=None if graceful_stop is None else check_seconds("graceful_stop", graceful_stop),
            idempotent=idempotent,
            store_arguments=store_arguments,
        )
        setattr(target, DECLARATION, declaration)
        return target

    return declare if function is None else declare(function)


def declaration_of(target: object) -> TaskDeclaration | None:
    """What `@task` declared on `target`, if anything."""
    declared = getattr(target, DECLARATION, None)
    return declared if isinstance(declared, TaskDeclaration) else None


def check_reserved(target: Callable[..., Any]) -> None:
    """D42: ConfigurationError if a parameter of the task bears one of our keyword names."""
    taken = sorted(RESERVED.intersection(parameters_of(target)))
    if taken:
        raise ConfigurationError(
            f"parameter {', '.join(taken)} bears a reserved name (reserved are {', '.join(sorted(RESERVED))}): "
            "rename it, or do not use @task and pass its arguments through kwargs={...}"
        )


def checked(argument: str, value: Any, kind: type[Any]) -> Any:
    """`value` if it is None or a `kind`; else ConfigurationError naming `argument`."""
    if value is not None and not isinstance(value, kind):
        raise ConfigurationError(f"{argument} must be a {kind.__name__}, not {type(value).__name__}")
    return value


def checked_tags(tags: Iterable[str]) -> frozenset[str]:
    """A set of texts; ConfigurationError for one bare str or a tag that is no text."""
    if isinstance(tags, str):
        raise ConfigurationError(f"tags must be a collection of str, not one str; use {{{tags!r}}}")
    return frozenset(check_text("every tag", tag) for tag in tags)


def _first_line(target: object) -> str:
    lines = (getattr(target, "__doc__", None) or "").strip().splitlines()
    return lines[0] if lines else ""
