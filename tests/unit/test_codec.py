"""The codec of the stores: every class comes back as it went in, as the same bytes; damage is named (D29, D40)."""

from __future__ import annotations

import sqlite3
import types
import typing
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from enum import Enum
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chongming_spec.snapshot import AttemptRecord, Failure, Progress, TaskSnapshot, Transition
from chongming_spec.stores import Command, OwnerRecord, RunRecord, Tombstone
from chongming_task.stores import _codec as codec

ROWS: tuple[Any, ...] = (AttemptRecord, Transition, TaskSnapshot, Command, OwnerRecord, RunRecord, Tombstone)
CLASSES: tuple[Any, ...] = (Progress, Failure, *ROWS)
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
FIRST, LAST = NOON.replace(year=2, tzinfo=None), NOON.replace(year=9998, tzinfo=None)
times = st.datetimes(FIRST, LAST, timezones=st.just(UTC))
numbers = st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False))
json_values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)
SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    bool: st.booleans(),
    int: st.integers(-(2**63), 2**63 - 1),
    float: numbers,
    str: texts,
    datetime: times,
    Any: json_values,
}


def of(kind: Any) -> st.SearchStrategy[Any]:
    """Values of one annotated type."""
    if kind in SCALARS:
        return SCALARS[kind]
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return st.one_of(*(st.none() if one is type(None) else of(one) for one in args))
    if origin is frozenset:
        return st.frozensets(of(args[0]), max_size=4)
    if origin is tuple:
        return st.lists(of(args[0]), max_size=4).map(tuple)
    if origin is not None and issubclass(origin, Mapping):
        return st.dictionaries(texts, json_values, max_size=4)
    if issubclass(kind, Enum):
        return st.sampled_from(kind)
    hints = typing.get_type_hints(kind)
    return st.builds(kind, **{field.name: of(hints[field.name]) for field in attrs.fields(kind)})


def through_sqlite(kind: Any, row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The row as a table with the codec's own column types gives it back."""
    columns = codec.columns_of(kind)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE t ({', '.join(f'c{n} {one.sql}' for n, one in enumerate(columns))})")
        connection.execute(f"INSERT INTO t VALUES ({', '.join('?' for _ in columns)})", row)
        found: tuple[Any, ...] = connection.execute("SELECT * FROM t").fetchone()
    return found


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_every_class_comes_back_as_the_same_bytes(kind: Any, data: st.DataObject) -> None:
    """From text, and from a table where NULL stands for None: the value is equal, and no byte changes (D29, D40)."""
    value = data.draw(of(kind))
    text = codec.dumps(value)
    again = codec.decode(kind, codec.loads(text))
    assert again == value
    assert codec.dumps(again) == text
    row = codec.row_of(value)
    stored = through_sqlite(kind, row)
    assert codec.value_of(kind, stored) == value
    assert codec.row_of(codec.value_of(kind, stored)) == row
    fields = [getattr(value, field.name) for field in attrs.fields(kind)]
    assert [cell is None for cell in stored] == [field is None for field in fields]


@given(given=st.dictionaries(texts, json_values, min_size=2, max_size=5))
def test_the_order_in_which_keys_were_put_in_leaves_no_trace(given: dict[str, Any]) -> None:
    """Equal mappings and sets are equal bytes, so a repeated save is recognised (D22)."""
    turned = dict(reversed(given.items()))
    assert codec.dumps(given) == codec.dumps(turned)
    assert codec.dumps(frozenset(given)) == codec.dumps(frozenset(turned)) == codec.dumps(sorted(given))


@given(at=times, hours=st.integers(-14, 14))
def test_one_instant_is_one_text_and_texts_sort_as_instants_do(at: datetime, hours: int) -> None:
    """Whatever the zone: UTC with six digits, so that SQL compares times as texts (D25)."""
    text = codec.time_text(at)
    assert codec.time_text(at.astimezone(timezone(timedelta(hours=hours)))) == text
    assert codec.time_of(text) == at
    assert codec.time_text(at + timedelta(microseconds=1)) > text


class Colour(Enum):
    RED = "red"


@attrs.frozen
class Pair:
    left: int
    right: float = 0.0


def test_each_kind_of_value_has_its_form() -> None:
    """The published forms, byte for byte; a change of one is a change of schema (D29)."""
    value = {"b": [True, None, 1, 1.5, "ü"], "a": (Colour.RED, NOON, frozenset({"y", "x"}), Pair(1))}
    assert codec.dumps(value) == (
        '{"a":["red","2026-05-01T12:00:00.000000Z",["x","y"],{"left":1,"right":0.0}],"b":[true,null,1,1.5,"ü"]}'
    )
    assert codec.decode(Pair, {"left": 1, "right": 2}) == Pair(1, 2)
    assert codec.decode(list[int], [1, 2]) == [1, 2]


@pytest.mark.parametrize("value", [object(), b"bytes", {1j}, {"a": [object()]}])
def test_what_a_store_cannot_keep_is_refused(value: Any) -> None:
    """Only JSON values, times, enums and attrs classes: anything else would come back as something else (D40)."""
    with pytest.raises(TypeError, match="a store cannot keep a"):
        codec.dumps(value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [float("-inf")]])
def test_numbers_that_json_does_not_have_are_refused(value: Any) -> None:
    """Neither written nor read: NaN is not even equal to itself (D19, D40)."""
    with pytest.raises(ValueError, match="Out of range float"):
        codec.dumps(value)
    for text in ("NaN", "[Infinity]", '{"a":-Infinity}'):
        with pytest.raises(ValueError, match="no JSON"):
            codec.loads(text)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (int, True),
        (int, "1"),
        (int, 1.0),
        (str, 1),
        (bool, 1),
        (float, True),
        (float, "1"),
        (datetime, "2026-05-01T12:00:00"),
        (datetime, "yesterdayZ"),
        (datetime, 5),
        (datetime, []),
        (Colour, "blue"),
        (tuple[int, ...], {"0": 1}),
        (frozenset[str], ["a", 1]),
        (Mapping[str, Any], []),
        (int | None, "1"),
        (Pair, [1]),
        (Pair, {}),
        (Pair, {"left": 1, "top": 2}),
        (Pair, {"left": "1"}),
    ],
)
def test_a_value_of_another_kind_is_a_value_error(kind: Any, value: Any) -> None:
    """Nothing is guessed and nothing else is raised: a store turns it into a report about one row (D29)."""
    with pytest.raises(ValueError):
        codec.decode(kind, value)


NONSENSE: tuple[Any, ...] = (
    None, 7, -1, 2.5, b"\xff\xfe", b"", "", "nonsense", "{", "NaN", "[NaN]", '{"kind":5}', '{"done":"x"}', "[1,2",
    "9999-99-99T00:00:00.000000Z", "Z", "[" * 50_000, '{"a":' * 50_000, '"\ud800"', 2**62,
)  # fmt: skip
ONE_OF_EACH: dict[Any, Any] = {
    AttemptRecord: AttemptRecord("t", 1, 1, 1, NOON),
    Tombstone: Tombstone("t", next(iter(typing.get_type_hints(Tombstone)["status"])), 1, 1, NOON),
    OwnerRecord: OwnerRecord("a#1"),
    RunRecord: RunRecord("r", "run", "a#1", NOON, NOON),
    Command: Command("c", "t", "stop", "ann", NOON, NOON),
}


def example(kind: Any) -> Any:
    """Some instance of a class with columns."""
    if kind in ONE_OF_EACH:
        return ONE_OF_EACH[kind]
    status = ONE_OF_EACH[Tombstone].status
    if kind is TaskSnapshot:
        return TaskSnapshot("t", "t", "t", status, 1, NOON, NOON)
    return Transition("t", 1, None, status, "user:create", "ann", None, NOON, 0, 1, 1, 1)


@pytest.mark.parametrize("kind", ROWS, ids=lambda kind: kind.__name__)
def test_a_damaged_cell_is_named_by_its_column(kind: Any) -> None:
    """Whatever stands in a cell: a value that is written again as it stands, or a ValueError that names the column."""
    row = codec.row_of(example(kind))
    for index, column in enumerate(codec.columns_of(kind)):
        refused = 0
        for cell in NONSENSE:
            spoiled = (*row[:index], cell, *row[index + 1 :])
            try:
                value = codec.value_of(kind, spoiled)
            except ValueError as error:
                named = str(error).startswith(f"column {column.name}: ")
                refused += named
            else:
                named = bool(codec.row_of(value))
            assert named, (column.name, cell)
        assert refused, f"nothing at all is refused in column {column.name}"


@pytest.mark.parametrize("kind", ROWS, ids=lambda kind: kind.__name__)
def test_a_row_of_another_shape_is_no_row(kind: Any) -> None:
    """A missing or additional cell is told as what it is; no field takes the value of its neighbour."""
    row = codec.row_of(example(kind))
    for spoiled in (row[:-1], (*row, None), ()):
        with pytest.raises(ValueError, match=f"{len(spoiled)} columns do not make a {kind.__name__}"):
            codec.value_of(kind, spoiled)
