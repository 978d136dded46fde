"""What can be the body of a task, and which arguments fit it (D42, P-119)."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from chongming_spec.errors import ConfigurationError
from chongming_task.runtime.body import bind, check_target
from chongming_task.runtime.targets import is_async, name_of, parameters_of


class Callable_:  # noqa: N801 - stands for any callable object
    def __call__(self, ctx: Any) -> None:
        """Do nothing."""


class AsyncCallable:
    async def __call__(self, ctx: Any) -> None:
        """Do nothing."""


async def coroutine_function(ctx: Any) -> None:
    """Do nothing."""


def generator(ctx: Any) -> Any:
    yield 1


async def async_generator(ctx: Any) -> Any:
    yield 1


class GeneratorObject:
    def __call__(self, ctx: Any) -> Any:
        yield 1


@pytest.mark.parametrize(
    "target",
    [lambda ctx: 1, lambda *args: 1, print, Callable_(), AsyncCallable(), coroutine_function, dict, min, type],
    ids=name_of,
)
def test_targets_that_can_be_bodies(target: Any) -> None:
    """Functions, methods, partials and objects with a first positional parameter; built-ins that do not tell."""
    check_target(target)


@pytest.mark.parametrize(
    ("target", "says"),
    [
        (3, "must be a function"),
        ("name", "must be a function"),
        (lambda: 1, "first positional parameter must be ctx"),
        (lambda *, ctx: 1, "first positional parameter must be ctx"),
        (generator, "generator function"),
        (async_generator, "generator function"),
        (GeneratorObject(), "generator function"),
        (functools.partial(generator), "generator function"),
    ],
)
def test_targets_that_cannot_be_bodies_are_refused(target: Any, says: str) -> None:
    """Non-callables, no ctx, generator functions: ConfigurationError with the fix (P-119)."""
    with pytest.raises(ConfigurationError, match=says):
        check_target(target)


def test_arguments_are_bound_at_the_call() -> None:
    """They must fit the signature behind ctx; the message shows both (D42)."""

    def body(ctx: Any, source: str, *, size: int = 1) -> None:
        """Do nothing."""

    bind(body, ("x",), {"size": 2})
    bind(dict.fromkeys, (), {})
    bind(min, (1, 2, 3), {"no": "signature"})
    for args, kwargs, says in [
        ((), {}, "missing a required argument: 'source'"),
        (("x", 2), {}, "too many positional"),
        (("x",), {"sise": 2}, "'sise'"),
        (("x",), {"ctx": 2}, "multiple values for argument 'ctx'"),
    ]:
        with pytest.raises(ConfigurationError, match=says) as caught:
            bind(body, args, kwargs)
        assert "body(ctx" in str(caught.value)


def test_the_keyword_parameters_of_a_target() -> None:
    """Everything after ctx that can be given by name; nothing for a built-in that does not tell (D42)."""

    def body(ctx: Any, source: str, /, other: int, *rest: int, size: int = 1, **more: int) -> None:
        """Do nothing."""

    assert parameters_of(body) == ("other", "size")
    assert parameters_of(min) == ()


def test_names_and_kinds_of_targets() -> None:
    """What a person calls it, and whether it is async, through partials and objects."""
    assert name_of(functools.partial(generator)) == "generator"
    assert name_of(AsyncCallable()) == "AsyncCallable"
    assert is_async(coroutine_function)
    assert is_async(functools.partial(coroutine_function))
    assert is_async(AsyncCallable())
    assert not is_async(generator)
