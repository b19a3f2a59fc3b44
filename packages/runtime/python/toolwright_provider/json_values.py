"""Python values as JSON: encoding them, and separating what JSON can represent from what it cannot."""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import json
import math
from typing import Any, Dict, List, Tuple

Json = Dict[str, Any]
"""A JSON object."""

_MAX_STATE_DEPTH = 48
_TYPE_NAMES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
_OMITTED = object()


def encode_json(value: Any) -> str:
    """Compact JSON of a value. Raises TypeError, ValueError or RecursionError when JSON cannot represent it."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_json_form)


def _json_form(value: Any) -> Any:
    """The JSON form of Python's own types, one level deep: `json.dumps` asks again for what is inside."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (set, frozenset)):
        return list(value)
    if isinstance(value, collections.abc.Mapping):
        return dict(value)
    raise TypeError(f"a value of type {type(value).__name__}")


def json_part(value: Any) -> Tuple[Any, List[str]]:
    """The part of a value that JSON can represent, and the dotted paths of what was left out.

    An item of a list that is left out becomes None, so that the others keep their places.
    """
    omitted: List[str] = []

    def copy(given: Any, path: str, above: Tuple[int, ...]) -> Any:
        if given is None or type(given) in (bool, int, str) or (type(given) is float and math.isfinite(given)):
            return given
        if id(given) not in above and len(above) < _MAX_STATE_DEPTH:
            inside = (*above, id(given))
            if dataclasses.is_dataclass(given) and not isinstance(given, type):
                given = {field.name: getattr(given, field.name, _OMITTED) for field in dataclasses.fields(given)}
            if isinstance(given, dict):
                copied: Json = {}
                for key, item in list(given.items()):
                    below = f"{path}.{key}" if path else str(key)
                    if not isinstance(key, str):
                        omitted.append(below)
                        continue
                    item = copy(item, below, inside)
                    if item is not _OMITTED:
                        copied[key] = item
                return copied
            if isinstance(given, (list, tuple)):
                items = [copy(item, f"{path}.{index}", inside) for index, item in enumerate(list(given))]
                return [None if item is _OMITTED else item for item in items]
        omitted.append(path or "state")
        return _OMITTED

    part = copy(value, "", ())
    return (None if part is _OMITTED else part), omitted


def json_type_name(value: Any) -> str:
    """The name of a value's type in JSON Schema; for other values that of their Python type."""
    return "null" if value is None else _TYPE_NAMES.get(type(value), type(value).__name__)
