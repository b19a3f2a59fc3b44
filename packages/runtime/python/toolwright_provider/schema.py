"""Python type hints as type adapters: which JSON Schema a hint has, and how its values are read."""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import inspect
import json
import re
import types
import typing
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from .coercion import (
    ANY,
    BOOLEAN,
    INTEGER,
    NULL,
    NUMBER,
    STRING,
    Field,
    TypeAdapter,
    array_of,
    object_of,
    one_of,
    tuple_of,
    union_of,
    with_keywords,
)
from .json_values import Json, encode_json
from .result import Directive, Result

_SCALARS: Dict[Any, TypeAdapter] = {
    int: INTEGER,
    float: NUMBER,
    bool: BOOLEAN,
    str: STRING,
    type(None): NULL,
    None: NULL,
    Any: ANY,
    object: ANY,
}
_ARRAYS: Dict[Any, Callable[[List[Any]], Any]] = {
    list: list,
    collections.abc.Sequence: list,
    collections.abc.Iterable: list,
    collections.abc.Collection: list,
    set: set,
    frozenset: frozenset,
    collections.abc.Set: frozenset,
}
_OBJECTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_UNIONS = (Union, getattr(types, "UnionType", Union))


class SchemaBuilder:
    """Makes the type adapters of one schema. A class that contains itself becomes an entry of its `$defs`."""

    def __init__(self) -> None:
        self.definitions: Json = {}
        self._made: Dict[Any, TypeAdapter] = {}
        self._open: List[Any] = []

    def adapter_for(self, hint: Any) -> TypeAdapter:
        """Raises TypeError, with the hints that are supported, for one that has no JSON form."""
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Annotated:
            return with_keywords(self.adapter_for(arguments[0]), _keywords_of(arguments[1:]))
        if origin is None and hint in _SCALARS:
            return _SCALARS[hint]
        if _special_form(origin) in ("Required", "NotRequired", "ReadOnly"):
            return self.adapter_for(arguments[0])
        if origin is typing.Literal:
            return one_of(list(arguments), list(arguments))
        if origin in _UNIONS:
            return union_of([self.adapter_for(argument) for argument in arguments])
        if type(hint).__name__ == "TypeAliasType":  # `type X = …` of Python 3.12
            return self.adapter_for(getattr(hint, "__value__"))
        if hasattr(hint, "__supertype__"):  # typing.NewType
            return self.adapter_for(getattr(hint, "__supertype__"))
        container = origin or hint
        if container is tuple:
            return self._tuple(arguments)
        if container in _ARRAYS:
            return array_of(self.adapter_for(arguments[0]) if arguments else ANY, _ARRAYS[container])
        if container in _OBJECTS:
            return self._mapping(arguments)
        if isinstance(hint, type):
            if issubclass(hint, enum.Enum):
                return one_of([member.value for member in hint], list(hint))
            if dataclasses.is_dataclass(hint):
                return self._class(hint, self._dataclass)
            if _is_typed_dict(hint):
                return self._class(hint, self._typed_dict)
        raise TypeError(
            f"{_name_of(hint)} has no form in JSON; use int, float, bool, str, list, dict with str keys, tuple, set, "
            "Optional, Union, Literal, an Enum, a TypedDict or a dataclass"
        )

    def root_schema(self, hint: Any) -> Json:
        """The schema of a class at the root, where a reference is not allowed."""
        schema = self.adapter_for(hint).schema
        if "$ref" in schema:
            schema = self._made[hint].schema
        return self.with_definitions(schema)

    def with_definitions(self, schema: Json) -> Json:
        return {**schema, "$defs": self.definitions} if self.definitions else schema

    def _tuple(self, arguments: Tuple[Any, ...]) -> TypeAdapter:
        if not arguments:
            return array_of(ANY, tuple)
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return array_of(self.adapter_for(arguments[0]), tuple)
        return tuple_of([self.adapter_for(argument) for argument in arguments if argument != ()])

    def _mapping(self, arguments: Tuple[Any, ...]) -> TypeAdapter:
        if arguments and arguments[0] not in (str, Any):
            raise TypeError("the keys of a JSON object must be str")
        return object_of({}, dict, self.adapter_for(arguments[1]) if arguments else ANY)

    def _class(self, cls: Any, make: Callable[[Any], TypeAdapter]) -> TypeAdapter:
        name = re.sub(r"\W+", "_", cls.__qualname__)
        reference = {"$ref": f"#/$defs/{name}"}
        if cls in self._open:
            self.definitions[name] = {}
            return TypeAdapter(reference, lambda value, coerce: self._made[cls].parse(value, coerce))
        self._open.append(cls)
        try:
            adapter = self._made[cls] = make(cls)
        finally:
            self._open.pop()
        if name not in self.definitions:
            return adapter
        self.definitions[name] = adapter.schema
        return TypeAdapter(reference, adapter.parse)

    def _dataclass(self, cls: Any) -> TypeAdapter:
        hints = typing.get_type_hints(cls, include_extras=True)
        fields = {}
        for field in dataclasses.fields(cls):
            if not field.init:
                continue
            required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
            default = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
            fields[field.name] = Field(with_default(self.adapter_for(hints[field.name]), default), required)
        return object_of(fields, lambda values: cls(**values))

    def _typed_dict(self, cls: Any) -> TypeAdapter:
        fields = {}
        for name, hint in typing.get_type_hints(cls, include_extras=True).items():
            form = _special_form(typing.get_origin(hint))
            required = form == "Required" or (form != "NotRequired" and name in cls.__required_keys__)
            fields[name] = Field(self.adapter_for(hint), required)
        return object_of(fields, dict)


def with_default(adapter: TypeAdapter, default: Any) -> TypeAdapter:
    """Lists a default that JSON can represent. `inspect.Parameter.empty` stands for none."""
    if default is inspect.Parameter.empty:
        return adapter
    try:
        return TypeAdapter({**adapter.schema, "default": json.loads(encode_json(default))}, adapter.parse)
    except (TypeError, ValueError, RecursionError):
        return adapter


def is_object_class(hint: Any) -> bool:
    """True for a dataclass or TypedDict of the author, whose values are JSON objects."""
    is_authors = isinstance(hint, type) and hint not in (Result, Directive)
    return is_authors and (dataclasses.is_dataclass(hint) or _is_typed_dict(hint))


def _keywords_of(notes: Sequence[Any]) -> Json:
    """The JSON Schema keywords of an `Annotated` hint: a string is its description."""
    keywords: Json = {}
    for note in notes:
        if isinstance(note, str):
            keywords["description"] = note
        elif isinstance(note, dict):
            keywords.update(note)
    return keywords


def _special_form(origin: Any) -> Optional[str]:
    """By name: `Required` and its like come from `typing` or, before Python 3.11, from `typing_extensions`."""
    return getattr(origin, "_name", None)


def _is_typed_dict(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, dict) and hasattr(hint, "__required_keys__")


def _name_of(hint: Any) -> str:
    return hint.__qualname__ if isinstance(hint, type) else repr(hint)
