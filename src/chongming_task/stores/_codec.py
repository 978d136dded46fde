"""One codec for everything a store keeps: attrs classes, enums, times and JSON values, to text and back, byte-stable.

The same value always gives the same bytes: keys and sets are sorted, times are UTC with six digits. Decoding builds
values only; nothing is looked up, imported or run (D40). What does not decode raises ValueError, which a store turns
into a report about that one row (D29).
"""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import Enum
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any

import attrs

Decoder = Callable[[Any], Any]
TIME_LENGTH = len("2026-05-01T12:00:00.000000Z")
KEPT = (
    4096  # values of one kind that are converted again and again, such as the creation of a task at each of its saves
)


@lru_cache(KEPT)
def time_text(value: datetime) -> str:
    """Aware time as sortable text."""
    return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def time_of(text: Any) -> datetime:
    """The aware time of a text written by `time_text`."""
    if not isinstance(text, str) or len(text) != TIME_LENGTH or text[-1] != "Z":
        raise ValueError(f"{text!r} is no time in UTC")
    return _time_of(text)


_time_of = lru_cache(KEPT)(datetime.fromisoformat)


def plain(value: Any) -> Any:
    """A value as JSON has it: dicts with sorted keys, lists, texts, numbers, booleans, None."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str):
        return value
    if isinstance(value, datetime):
        return time_text(value)
    if isinstance(value, (set, frozenset)):
        return sorted(plain(one) for one in value)
    if isinstance(value, Mapping):
        return {key: plain(value[key]) for key in value}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if attrs.has(type(value)):
        return {field.name: plain(getattr(value, field.name)) for field in attrs.fields(type(value))}
    raise TypeError(f"a store cannot keep a {type(value).__name__}")


_ENCODE = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def dumps(value: Any) -> str:
    """Canonical JSON text of any value a store keeps."""
    return _ENCODE(plain(value))


def _no_json(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_DECODE = json.JSONDecoder(parse_constant=_no_json).decode


def loads(text: str) -> Any:
    """The JSON value of a text; NaN and the infinities are none."""
    return _DECODE(text)


def decode(kind: Any, value: Any) -> Any:
    """The attrs class, enum, time or container `kind` whose `plain` form is `value`."""
    return decoder(kind)(value)


@cache
def decoder(kind: Any) -> Decoder:
    """How to decode one annotated type."""
    if kind is Any:
        return _same
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return _optional(kind)
    if origin in (frozenset, tuple, list):
        return _sequence(origin, typing.get_args(kind)[0])
    if origin is not None and issubclass(origin, Mapping):
        return _checked(dict)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind
    if kind is datetime:
        return time_of
    if attrs.has(kind):
        return _attrs(kind)
    if kind is float:
        return _number
    return _checked(kind)


def _same(value: Any) -> Any:
    return value


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{value!r} is no number")
    return value


def _checked(kind: type[Any]) -> Decoder:
    def check(value: Any) -> Any:
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise ValueError(f"{value!r} is no {kind.__name__}")
        return value

    return check


def _optional(kind: Any) -> Decoder:
    (inner,) = (one for one in typing.get_args(kind) if one is not type(None))
    inside = decoder(inner)
    return lambda value: None if value is None else inside(value)


def _sequence(origin: type[Any], inner: Any) -> Decoder:
    inside = decoder(inner)

    def build(value: Any) -> Any:
        if not isinstance(value, list):
            raise ValueError(f"{value!r} is no list")
        return origin(inside(one) for one in value)

    return build


def _attrs(kind: type[Any]) -> Decoder:
    hints = typing.get_type_hints(kind)
    fields = {field.name: decoder(hints[field.name]) for field in attrs.fields(kind)}

    def build(value: Any) -> Any:
        if not isinstance(value, dict) or not value.keys() <= fields.keys():
            raise ValueError(f"{value!r} is no {kind.__name__}")
        try:
            return kind(**{name: fields[name](one) for name, one in value.items()})
        except TypeError as error:
            raise ValueError(str(error)) from None

    return build


class Column(typing.NamedTuple):
    """One column of a table: its name, its SQL type, and how a field goes in and comes out."""

    name: str
    sql: str
    encode: Callable[[Any], Any]
    decode: Decoder
    is_plain: bool
    """Whether a cell is kept as it is and nothing but its type is to be judged."""


def _scalar(kind: Any) -> tuple[str, Callable[[Any], Any], Decoder] | None:
    if kind is bool:
        return "INTEGER", _same, _bool_of
    if kind is int:
        return "INTEGER", _same, _checked(int)
    if kind is str:
        return "TEXT", _same, _checked(str)
    if kind is datetime:
        return "TEXT", time_text, time_of
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "TEXT", attrgetter("_value_"), {member.value: member for member in kind}.__getitem__
    return None


def _bool_of(value: Any) -> bool:
    if value not in (0, 1):
        raise ValueError(f"{value!r} is no truth value")
    return bool(value)


def _nullable(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else function(value)


def _from_text(inside: Decoder) -> Decoder:
    return lambda text: inside(loads(text))


def columns_of(kind: Any) -> tuple[Column, ...]:
    """The columns of an attrs class: scalars as they are, everything else as canonical JSON text."""
    return _columns_of(kind)


@cache
def _columns_of(kind: Any) -> tuple[Column, ...]:
    hints = typing.get_type_hints(kind)
    columns = []
    for field in attrs.fields(kind):
        hint = hints[field.name]
        inner = [one for one in typing.get_args(hint) if one is not type(None)]
        is_optional = typing.get_origin(hint) in (typing.Union, types.UnionType) and len(inner) == 1
        within = inner[0] if is_optional else hint
        scalar = _scalar(within)
        if scalar is not None:
            sql, encode, decode_one = scalar
        else:
            inside = decoder(within)
            sql, encode, decode_one = "TEXT", dumps, _from_text(inside)
            if typing.get_origin(hint) is frozenset:
                encode, decode_one = lru_cache(KEPT)(encode), lru_cache(KEPT)(decode_one)
        nullable = is_optional or hint is Any
        columns.append(
            Column(
                field.name,
                sql if nullable else f"{sql} NOT NULL",
                encode,
                _nullable(decode_one) if nullable else decode_one,
                within in (int, str),
            )
        )
    return tuple(columns)


Conversions = tuple[tuple[int, Callable[[Any], Any]], ...]


class _Shape(typing.NamedTuple):
    """A class's columns, prepared: read all fields at once, convert only those that need it.

    `known` maps the types of the cells of a row to what then remains to be converted. Rows of a table have few such
    patterns, so that most cells are judged by one look into a dictionary.
    """

    read: Callable[[Any], tuple[Any, ...]]
    encoders: Conversions
    known: dict[tuple[type[Any], ...], Conversions]


@cache
def _shape_of(kind: Any) -> _Shape:
    columns = columns_of(kind)
    return _Shape(
        attrgetter(*(column.name for column in columns)),
        tuple((index, column.encode) for index, column in enumerate(columns) if column.encode is not _same),
        {},
    )


def row_of(value: Any) -> tuple[Any, ...]:
    """The column values of an attrs instance, in the order of `columns_of`."""
    kind: Any = type(value)
    shape = _shape_of(kind)
    cells = list(shape.read(value))
    for index, encode in shape.encoders:
        if cells[index] is not None:
            cells[index] = encode(cells[index])
    return tuple(cells)


def value_of(kind: Any, row: typing.Sequence[Any]) -> Any:
    """The attrs instance of a row; ValueError naming the column that does not decode."""
    known = _shape_of(kind).known
    pattern = tuple(map(type, row))
    try:
        conversions = known.get(pattern)
        if conversions is None:
            conversions = _conversions(kind, row)
            if len(known) < KEPT:
                known[pattern] = conversions
        cells = list(row)
        for index, convert in conversions:
            cells[index] = convert(cells[index])
        return kind(*cells)
    except (KeyError, ValueError, TypeError, RecursionError):
        raise ValueError(_what_is_wrong(kind, row)) from None


def _conversions(kind: Any, row: typing.Sequence[Any]) -> Conversions:
    """What remains to be converted in rows with cells of these types; ValueError or TypeError if they cannot be."""
    left = []
    for index, (column, cell) in enumerate(zip(columns_of(kind), row, strict=True)):
        column.decode(cell)
        if cell is not None and not column.is_plain:
            left.append((index, column.decode))
    return tuple(left)


def _what_is_wrong(kind: Any, row: typing.Sequence[Any]) -> str:
    for column, cell in zip(columns_of(kind), row, strict=False):
        try:
            column.decode(cell)
        except (KeyError, ValueError, TypeError, RecursionError) as error:
            return (
                f"column {column.name}: {error!r}" if isinstance(error, KeyError) else f"column {column.name}: {error}"
            )
    return f"{len(row)} columns do not make a {kind.__name__}"
