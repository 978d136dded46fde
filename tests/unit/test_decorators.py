"""`@task` keeps a declaration on the function and nowhere else, and refuses what cannot be a task (D42)."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from chongming_spec.errors import ConfigurationError
from chongming_task.decorators import RESERVED, check_reserved, declaration_of, task
from chongming_task.policies import RetryPolicy, Timeout


def test_with_and_without_parentheses() -> None:
    """Guide 8.13: name from the function, description from the first line of its docstring; the function stays."""

    def load(ctx: Any, source: str) -> str:
        """Read it.

        All of it.
        """
        return source

    assert task(load) is load
    bare = declaration_of(load)
    assert bare is not None
    assert (bare.name, bare.description, bare.tags) == ("load", "Read it.", frozenset())
    assert load(None, "x") == "x"
    assert task()(load) is load
    assert declaration_of(load) == bare


def test_everything_that_can_be_declared() -> None:
    """Guide 8.13: policies, tags and words of one's own."""
    retry, timeout = RetryPolicy(max_attempts=3), Timeout(per_attempt=60)

    @task(
        name="extract",
        description="Ours.",
        tags={"io"},
        retry=retry,
        timeout=timeout,
        graceful_stop=2,
        idempotent=True,
        store_arguments=False,
    )
    def body(ctx: Any) -> None: ...

    declared = declaration_of(body)
    assert declared is not None
    assert (declared.name, declared.description, declared.tags) == ("extract", "Ours.", frozenset({"io"}))
    assert (declared.retry, declared.timeout, declared.graceful_stop) == (retry, timeout, 2)
    assert (declared.idempotent, declared.store_arguments) == (True, False)


def test_no_docstring_no_description() -> None:
    """A description is never made up."""
    declared = declaration_of(task(lambda ctx: None))
    assert declared is not None
    assert declared.description == ""


def test_what_was_not_declared_has_no_declaration() -> None:
    """Guide 8.13: no registry; an attribute that only looks like ours is none."""

    def body(ctx: Any) -> None: ...

    assert declaration_of(body) is None
    body.__chongming_task__ = "not ours"  # type: ignore[attr-defined]
    assert declaration_of(body) is None


def no_context() -> None: ...
def only_keywords(*, ctx: Any) -> None: ...
def generator(ctx: Any) -> Iterator[int]:
    yield 1


async def async_generator(ctx: Any) -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (5, "target must be a function whose first parameter is ctx, not int"),
        (no_context, "its first positional parameter must be ctx"),
        (only_keywords, "its first positional parameter must be ctx"),
        (generator, "return the values (a list) instead"),
        (async_generator, "return the values (a list) instead"),
    ],
)
def test_what_cannot_be_a_body(target: Any, said: str) -> None:
    """D42, P-119: refused where it is declared, with the way out."""
    with pytest.raises(ConfigurationError) as caught:
        task()(target)
    assert said in str(caught.value)


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_reserved_names(name: str) -> None:
    """D42: a parameter with one of our names could never be given; the message lists them all."""
    made: dict[str, Any] = {}
    exec(f"def body(ctx, {name}): ...", made)
    with pytest.raises(ConfigurationError, match=f"parameter {name} bears a reserved name") as caught:
        task(made["body"])
    assert all(one in str(caught.value) for one in RESERVED)
    assert "kwargs={...}" in str(caught.value)


def test_other_names_are_free() -> None:
    """D42: only ours are taken, and the context may be called what one likes."""
    check_reserved(lambda timeout, source, *, batch_size: None)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"name": ""}, "name must not be empty"),
        ({"name": "a\nb"}, "name must not contain line breaks"),
        ({"tags": "io"}, "tags must be a collection of str, not one str; use {'io'}"),
        ({"tags": [None]}, "every tag must be a str"),
        ({"retry": 3}, "retry must be a RetryPolicy, not int"),
        ({"timeout": 60}, "timeout must be a Timeout, not int"),
        ({"graceful_stop": -1}, "graceful_stop must be a finite number of seconds"),
        ({"graceful_stop": math.nan}, "graceful_stop must be a finite number of seconds"),
    ],
)
def test_unusable_values(values: dict[str, Any], said: str) -> None:
    """Bad input: named where it is written, with the fix."""
    with pytest.raises(ConfigurationError) as caught:
        task(**values)(lambda ctx: None)
    assert said in str(caught.value)
