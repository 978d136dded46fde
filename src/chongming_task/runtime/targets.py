"""Whether something can be the body of a task, and whether arguments fit it; judged before anything starts (D42).

A body takes the context as its first positional argument. A generator function is refused: calling it does
nothing, and the task would succeed without having run (P-119).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from chongming_spec.errors import ConfigurationError

_POSITIONAL = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.VAR_POSITIONAL,
)


def check_target(target: object) -> None:
    """ConfigurationError unless `target` can be called with a context; says what to write instead."""
    if not callable(target):
        raise ConfigurationError(f"target must be a function whose first parameter is ctx, not {type(target).__name__}")
    code = _code_of(target)
    if inspect.isgeneratorfunction(code) or inspect.isasyncgenfunction(code):
        raise ConfigurationError(
            f"{name_of(target)} is a generator function; calling it runs nothing: return the values (a list) instead"
        )
    signature = _signature(target)
    if signature is not None:
        first = next(iter(signature.parameters.values()), None)
        if first is None or first.kind not in _POSITIONAL:
            raise ConfigurationError(
                f"{name_of(target)}{signature} takes no context: its first positional parameter must be ctx"
            )


def bind(target: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """ConfigurationError unless `target(ctx, *args, **kwargs)` fits its signature. The context is not among `args`."""
    signature = _signature(target)
    if signature is None:
        return
    try:
        signature.bind(None, *args, **kwargs)
    except TypeError as error:
        raise ConfigurationError(
            f"the arguments do not fit {name_of(target)}{signature}: {error}; ctx is passed for you"
        ) from None


def parameters_of(target: Callable[..., Any]) -> tuple[str, ...]:
    """The names of its parameters that can be given by keyword, without the context; empty if it does not tell."""
    signature = _signature(target)
    if signature is None:
        return ()
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return tuple(name for name, one in list(signature.parameters.items())[1:] if one.kind in named)


def is_async(target: object) -> bool:
    """Whether calling `target` gives a coroutine."""
    return inspect.iscoroutinefunction(_code_of(target))


def name_of(target: object) -> str:
    """What a person calls it."""
    inner = target
    while isinstance(inner, functools.partial):
        inner = inner.func
    return str(getattr(inner, "__qualname__", None) or type(inner).__qualname__)


def _code_of(target: object) -> Any:
    """The function whose kind decides: through partials, methods, wrappers and callable objects."""
    inner: Any = target
    while isinstance(inner, functools.partial):
        inner = inner.func
    if not (inspect.isroutine(inner) or isinstance(inner, type)):
        inner = getattr(type(inner), "__call__", inner)  # noqa: B004 - looked up, not tested
    return inner


def _signature(target: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(target)
    except (TypeError, ValueError):  # some built-in functions do not tell
        return None
