"""JSON values as Python values: type adapters, which validate and coerce, for each kind of JSON value."""

from __future__ import annotations

import json
import math
import re
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple, Union

from .json_values import Json, json_type_name
from .text import describe_exception, shorten, suggest

Path = Tuple[Union[str, int], ...]

_JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?\Z")
_MAX_INTEGER_TEXT = 20
_MAX_LISTED_ISSUES = 5
_MAX_ITEM_ISSUES = 100


class InvalidValue(Exception):
    """A value does not match its type. Each issue has the path of the value and a message."""

    def __init__(self, *issues: Tuple[Path, str]) -> None:
        super().__init__()
        self.issues = list(issues)

    def under(self, key: Union[str, int]) -> List[Tuple[Path, str]]:
        """The issues with their paths seen from the container that has the value at `key`."""
        return [((key, *path), message) for path, message in self.issues]

    def summary(self, limit: int = _MAX_LISTED_ISSUES) -> str:
        lines = []
        for path, message in self.issues[:limit]:
            at = "".join(f"[{key}]" if isinstance(key, int) else f".{shorten(key)}" for key in path).lstrip(".")
            lines.append(f"{at}: {message}" if at else message)
        if len(self.issues) > limit:
            lines.append(f"and {len(self.issues) - limit} more")
        return "; ".join(lines)


class TypeAdapter(NamedTuple):
    """A Python type for JSON: its JSON Schema, and a function that reads a value of it."""

    schema: Json
    parse: Callable[[Any, bool], Any]
    """`parse(value, coerce)` returns the Python value or raises InvalidValue. With `coerce`, a number or boolean may be
    sent as a string."""


class Field(NamedTuple):
    adapter: TypeAdapter
    required: bool


def _parse_integer(value: Any, coerce: bool) -> Any:
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    if coerce and type(value) is str and len(value) < _MAX_INTEGER_TEXT and _JSON_NUMBER.match(value):
        number = float(value)
        if number.is_integer():
            return int(value) if value.lstrip("-").isdigit() else int(number)
    raise InvalidValue(((), f"must be integer, not {json_type_name(value)}"))


def _parse_number(value: Any, coerce: bool) -> Any:
    if coerce and type(value) is str and _JSON_NUMBER.match(value):
        value = float(value)
    if type(value) in (int, float):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
        raise InvalidValue(((), "must be a finite number"))
    raise InvalidValue(((), f"must be number, not {json_type_name(value)}"))


def _parse_boolean(value: Any, coerce: bool) -> Any:
    if type(value) is bool:
        return value
    if coerce and value in ("true", "false"):
        return bool(value == "true")
    raise InvalidValue(((), f"must be boolean, not {json_type_name(value)}"))


def _parse_string(value: Any, coerce: bool) -> Any:
    if type(value) is str:
        return value
    raise InvalidValue(((), f"must be string, not {json_type_name(value)}"))


def _parse_null(value: Any, coerce: bool) -> Any:
    if value is None:
        return None
    raise InvalidValue(((), f"must be null, not {json_type_name(value)}"))


ANY = TypeAdapter({}, lambda value, coerce: value)
INTEGER = TypeAdapter({"type": "integer"}, _parse_integer)
NUMBER = TypeAdapter({"type": "number"}, _parse_number)
BOOLEAN = TypeAdapter({"type": "boolean"}, _parse_boolean)
STRING = TypeAdapter({"type": "string"}, _parse_string)
NULL = TypeAdapter({"type": "null"}, _parse_null)


def object_of(
    fields: Dict[str, Field], make: Callable[[Json], Any], others: Optional[TypeAdapter] = None
) -> TypeAdapter:
    """An object with these fields. `others` is the type of any other field; without it they are not allowed."""
    schema: Json = {"type": "object"}
    if fields or others is None:
        schema["properties"] = {name: field.adapter.schema for name, field in fields.items()}
    required = [name for name, field in fields.items() if field.required]
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False if others is None else others.schema or True

    def parse(value: Any, coerce: bool) -> Any:
        if type(value) is not dict:
            raise InvalidValue(((), f"must be object, not {json_type_name(value)}"))
        values: Json = {}
        issues: List[Tuple[Path, str]] = []
        for name, given in value.items():
            field = fields.get(name)
            adapter = others if field is None else field.adapter
            if adapter is None:
                issues.append(((name,), "is unknown" + suggest(name, fields)))
                continue
            try:
                values[name] = adapter.parse(given, coerce)
            except InvalidValue as invalid:
                issues += invalid.under(name)
        issues += [((name,), "is missing") for name in required if name not in value]
        if issues:
            raise InvalidValue(*issues)
        try:
            return make(values)
        except (TypeError, ValueError) as error:  # from the `__post_init__` of a dataclass
            raise InvalidValue(((), describe_exception(error))) from None

    return TypeAdapter(schema, parse)


def array_of(item: TypeAdapter, make: Callable[[List[Any]], Any]) -> TypeAdapter:
    """An array whose items have one type, as the collection that `make` returns."""

    def parse(value: Any, coerce: bool) -> Any:
        if type(value) is not list:
            raise InvalidValue(((), f"must be array, not {json_type_name(value)}"))
        items = value if item is ANY else _parse_items(((item, given) for given in value), coerce)
        try:
            return make(items)
        except TypeError:
            reason = "must be a set of strings, numbers or booleans: no arrays and no objects"
            raise InvalidValue(((), reason)) from None

    schema: Json = {"type": "array"}
    if item.schema:
        schema["items"] = item.schema
    if make in (set, frozenset):
        schema["uniqueItems"] = True
    return TypeAdapter(schema, parse)


def tuple_of(members: List[TypeAdapter]) -> TypeAdapter:
    """An array with one type per position."""
    length = len(members)

    def parse(value: Any, coerce: bool) -> Any:
        if type(value) is not list or len(value) != length:
            raise InvalidValue(((), f"must be array of {length} items"))
        return tuple(_parse_items(zip(members, value), coerce))

    schema = {"type": "array", "prefixItems": [member.schema for member in members]}
    return TypeAdapter({**schema, "items": False, "minItems": length, "maxItems": length}, parse)


def union_of(members: List[TypeAdapter]) -> TypeAdapter:
    """The first member that accepts the value."""

    def parse(value: Any, coerce: bool) -> Any:
        reasons = []
        for member in members:
            try:
                return member.parse(value, False)  # a coerced value could match the wrong member
            except InvalidValue as invalid:
                reasons.append(invalid.summary(1))
        raise InvalidValue(((), ", or ".join(reasons)))

    return TypeAdapter({"anyOf": [member.schema for member in members]}, parse)


def one_of(values: List[Any], members: List[Any]) -> TypeAdapter:
    """One of some JSON values. `members` are the Python values for them, in the same order."""
    kinds = {json_type_name(value) for value in values}
    if not kinds <= {"string", "integer", "number", "boolean", "null"}:
        raise TypeError(f"{values!r} must be strings, numbers, booleans or None")
    schema: Json = {"enum": values}
    if len(kinds) == 1:
        schema["type"] = next(iter(kinds))

    def parse(value: Any, coerce: bool) -> Any:
        for known, member in zip(values, members):
            if value == known and json_type_name(value) == json_type_name(known):  # True == 1 in Python
                return member
        listed = ", ".join(json.dumps(known, ensure_ascii=False) for known in values)
        raise InvalidValue(((), f"must be one of {listed}"))

    return TypeAdapter(schema, parse)


def _parse_items(pairs: Iterable[Tuple[TypeAdapter, Any]], coerce: bool) -> List[Any]:
    items: List[Any] = []
    issues: List[Tuple[Path, str]] = []
    for index, (adapter, given) in enumerate(pairs):
        try:
            items.append(adapter.parse(given, coerce))
        except InvalidValue as invalid:
            issues += invalid.under(index)
            if len(issues) > _MAX_ITEM_ISSUES:
                break
    if issues:
        raise InvalidValue(*issues)
    return items


_ARRAY_TYPES = (list, tuple, set, frozenset)
_KEYWORDS: Dict[str, Tuple[Tuple[type, ...], Callable[[Any, Any], bool], str]] = {
    "minimum": ((int, float), lambda value, limit: bool(value >= limit), "must be at least {}"),
    "maximum": ((int, float), lambda value, limit: bool(value <= limit), "must be at most {}"),
    "exclusiveMinimum": ((int, float), lambda value, limit: bool(value > limit), "must be more than {}"),
    "exclusiveMaximum": ((int, float), lambda value, limit: bool(value < limit), "must be less than {}"),
    "minLength": ((str,), lambda value, limit: len(value) >= limit, "must have at least {} characters"),
    "maxLength": ((str,), lambda value, limit: len(value) <= limit, "must have at most {} characters"),
    "pattern": ((str,), lambda value, limit: re.search(limit, value) is not None, "must match {}"),
    "minItems": (_ARRAY_TYPES, lambda value, limit: len(value) >= limit, "must have at least {} items"),
    "maxItems": (_ARRAY_TYPES, lambda value, limit: len(value) <= limit, "must have at most {} items"),
}


def with_keywords(adapter: TypeAdapter, keywords: Json) -> TypeAdapter:
    """Adds keywords of JSON Schema. Those of `_KEYWORDS` are enforced, any other is only listed."""
    checks = [(*_KEYWORDS[keyword], limit) for keyword, limit in keywords.items() if keyword in _KEYWORDS]

    def parse(value: Any, coerce: bool) -> Any:
        parsed = adapter.parse(value, coerce)
        for types, holds, message, limit in checks:
            if isinstance(parsed, types) and not isinstance(parsed, bool) and not holds(parsed, limit):
                raise InvalidValue(((), message.format(limit)))
        return parsed

    return TypeAdapter({**adapter.schema, **keywords}, parse if checks else adapter.parse)
