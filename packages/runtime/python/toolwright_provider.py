"""Toolwright providers in Python: functions become tools of a process that a host starts and speaks with over a socket.

    from toolwright_provider import run, tool

    @tool(read_only=True)
    def add(a: float, b: float) -> dict:
        '''Add two numbers.'''
        return {"sum": a + b}

    run("calculator", version="1.0.0")

One file, standard library only, Python 3.9 or later. `run` serves when a host has started the file as a provider, and
returns at once otherwise, so that a unit test can import it. In this order: what an author uses, types as JSON Schema,
tools, results, frames, the connection, the provider.
"""

from __future__ import annotations

import asyncio
import collections.abc
import dataclasses
import enum
import inspect
import json
import math
import os
import queue
import random
import re
import signal
import sys
import threading
import time
import traceback
import typing
from collections import deque
from types import FrameType
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, TypeVar, Union

__all__ = [
    "Cancelled",
    "Context",
    "Directive",
    "LifecycleContext",
    "Log",
    "Result",
    "Settings",
    "ToolError",
    "add_tool",
    "remove_tool",
    "run",
    "tool",
]

Json = Dict[str, Any]
Function = TypeVar("Function", bound=Callable[..., Any])

PROTOCOL = 1
CODES = frozenset(
    """
    INVALID_ARGUMENT TOOL_NOT_FOUND NAME_CONFLICT PERMISSION_DENIED APPROVAL_REQUIRED NOT_FOUND OUTSIDE_PROJECT
    PROTECTED_PATH BINARY_FILE TOO_LARGE READ_REQUIRED FILE_CHANGED NO_MATCH MULTIPLE_MATCHES NO_CHANGE
    NOT_A_REPOSITORY LOCKED NO_SPACE CANCELLED TIMED_OUT NOT_CONNECTED CONNECTION_CLOSED PROTOCOL_VIOLATION
    FRAME_TOO_LARGE BUSY UNAVAILABLE OUTCOME_UNKNOWN SPAWN_FAILED PROCESS_EXITED RESTART_LIMIT EXECUTION_FAILED
    OUTPUT_INVALID INTERNAL
    """.split()
)
"""Every code that an error can carry; docs/errors.md says what each means."""

_RETRYABLE = frozenset(("BUSY", "LOCKED", "UNAVAILABLE"))
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_MAX_MESSAGE = 16_384
"""Characters of an error's message that are sent."""


# What an author uses -------------------------------------------------------------------------------------------------


class ToolError(Exception):
    """A failure with a code, for the program that called, and a message, for the model: what failed, and what to do.

    `retryable` says that the very same call may succeed later and that repeating it is safe; by default it is true for
    BUSY, LOCKED and UNAVAILABLE. `details` is JSON. A code that is not in `CODES` becomes INTERNAL.
    """

    def __init__(
        self, code: str, message: str, retryable: Optional[bool] = None, details: Optional[Mapping[str, Any]] = None
    ) -> None:
        super().__init__(message)
        self.code = code if code in CODES else "INTERNAL"
        self.message = str(message)
        self.retryable = self.code in _RETRYABLE if retryable is None else bool(retryable)
        self.details = details

    def to_json(self) -> Json:
        """The plain form that results and JSON-RPC errors carry. Of `details`, what JSON does not carry is left out."""
        message = self.message if len(self.message) <= _MAX_MESSAGE else self.message[:_MAX_MESSAGE] + "…"
        info: Json = {"code": self.code, "message": message, "retryable": self.retryable}
        if self.details is not None:
            details, _ = _carried_by_json(dict(self.details))
            if len(json.dumps(details)) <= 4 * _MAX_MESSAGE:
                info["details"] = details
        return info


class Cancelled(ToolError):
    """The caller does not want the answer any more. Raised by `Context.check`."""

    def __init__(self, message: str = "The call was cancelled.") -> None:
        super().__init__("CANCELLED", message)


@dataclasses.dataclass(frozen=True)
class Directive:
    """An instruction to the engine beside a result, such as `Directive("inject_context", {"content": "…"})`."""

    type: str
    params: Json = dataclasses.field(default_factory=dict)

    def to_json(self) -> Json:
        return {"type": self.type, "params": self.params}


@dataclasses.dataclass
class Result:
    """The full form of what a tool may return. `error` makes it a failure that keeps its content."""

    content: Optional[Sequence[Json]] = None
    """MCP's content blocks. Default: `structured_content` as text."""
    structured_content: Any = None
    """A dict or a dataclass."""
    is_error: bool = False
    error: Optional[ToolError] = None
    directives: Sequence[Directive] = ()
    meta: Optional[Json] = None


class Log:
    """Says something to whoever runs the host. Fields are JSON; what is not is shown as text."""

    def __init__(self, emit: Callable[[str, Json], None] = lambda level, data: None) -> None:
        self._emit = emit

    def debug(self, message: str, **fields: Any) -> None:
        self._emit("debug", {**fields, "message": message})

    def info(self, message: str, **fields: Any) -> None:
        self._emit("info", {**fields, "message": message})

    def warning(self, message: str, **fields: Any) -> None:
        self._emit("warning", {**fields, "message": message})

    def error(self, message: str, **fields: Any) -> None:
        self._emit("error", {**fields, "message": message})


class Context:
    """What a tool may know of its call. A parameter annotated with it is filled in and is no argument of the tool.

    Every member may be used from any thread. A unit test makes its own: `Context(state={"count": 0})`.
    """

    def __init__(
        self,
        *,
        state: Any = None,
        call_id: str = "",
        session_id: Optional[str] = None,
        meta: Optional[Json] = None,
        provider: str = "",
        log: Optional[Log] = None,
        on_progress: Optional[Callable[[Json], None]] = None,
        get_state: Optional[Callable[[], Any]] = None,
    ) -> None:
        self.signal = threading.Event()
        """Set when the call is cancelled. A `def` tool that waits does so with `ctx.signal.wait(seconds)`."""
        self.call_id = call_id
        self.session_id = session_id
        self.meta = meta
        """What the caller passed along with the call."""
        self.provider = provider
        self.log = log or Log()
        self._on_progress = on_progress
        self._get_state = get_state or (lambda: state)

    @property
    def state(self) -> Any:
        """The very object that `initialize` returned last; without `initialize`, a dict. Tools may change it."""
        return self._get_state()

    @property
    def cancelled(self) -> bool:
        return self.signal.is_set()

    def check(self) -> None:
        """Raises `Cancelled` once the call is cancelled. For a `def` tool between two steps of its work."""
        if self.cancelled:
            raise Cancelled()

    def progress(self, progress: float, total: Optional[float] = None, message: Optional[str] = None) -> None:
        """Tells the caller how far the call is, which also renews its deadline. Nothing once the call has ended."""
        if self._on_progress is None:
            return
        told: Json = {"progress": progress}
        if total is not None:
            told["total"] = total
        if message is not None:
            told["message"] = str(message)
        self._on_progress(told)


@dataclasses.dataclass(frozen=True)
class Settings:
    """What the host gives a provider: JSON settings, and strings by name that are in no environment."""

    config: Json
    variables: Dict[str, str]


@dataclasses.dataclass(frozen=True)
class LifecycleContext:
    """What `initialize`, `end_session` and `dispose` are given beside the settings."""

    log: Log
    signal: threading.Event
    """Set when the process is to end."""
    state: Any = None
    reason: str = "start"
    """`start`, `reload` (the file changed; `previous` is the state of the process before), `config`, `end_session` or
    `dispose`."""
    is_reinitialization: bool = False
    session_id: Optional[str] = None
    """For `end_session`: what `ctx.session_id` was in the calls that are over."""


# Types as JSON Schema ------------------------------------------------------------------------------------------------

Path = Tuple[Union[str, int], ...]
_JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?\Z")
_MAX_DIGITS = 4_300
"""As Python 3.11 and later have it: to read an integer costs the square of its digits."""


class _Wrong(Exception):
    """A value is not what its type wants: every fault, and where."""

    def __init__(self, *issues: Tuple[Path, str]) -> None:
        super().__init__()
        self.issues = list(issues)

    def below(self, key: Union[str, int]) -> List[Tuple[Path, str]]:
        return [((key, *path), message) for path, message in self.issues]

    def in_words(self, limit: int = 5) -> str:
        lines = []
        for path, message in self.issues[:limit]:
            at = "".join(f"[{key}]" if isinstance(key, int) else f".{_shortened(key)}" for key in path).lstrip(".")
            lines.append(f"{at}: {message}" if at else message)
        if len(self.issues) > limit:
            lines.append(f"and {len(self.issues) - limit} more")
        return "; ".join(lines)


class _Shape(NamedTuple):
    """A type, twice: as JSON Schema for the listing, and as the function that takes a JSON value in."""

    schema: Json
    parse: Callable[[Any, bool], Any]
    """Gives the Python value or raises `_Wrong`. True lets it mend a number or boolean that was sent as a string."""


class _Field(NamedTuple):
    shape: _Shape
    required: bool


def _parse_integer(value: Any, mend: bool) -> Any:
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    if mend and type(value) is str and len(value) < 20 and _JSON_NUMBER.match(value):
        number = float(value)
        if number.is_integer():
            return int(value) if value.lstrip("-").isdigit() else int(number)
    raise _Wrong(((), f"must be integer, not {_kind(value)}"))


def _parse_number(value: Any, mend: bool) -> Any:
    if mend and type(value) is str and _JSON_NUMBER.match(value):
        value = float(value)
    if type(value) in (int, float):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
        raise _Wrong(((), "must be a finite number"))
    raise _Wrong(((), f"must be number, not {_kind(value)}"))


def _parse_boolean(value: Any, mend: bool) -> Any:
    if type(value) is bool:
        return value
    if mend and value in ("true", "false"):
        return bool(value == "true")
    raise _Wrong(((), f"must be boolean, not {_kind(value)}"))


def _parse_string(value: Any, mend: bool) -> Any:
    if type(value) is str:
        return value
    raise _Wrong(((), f"must be string, not {_kind(value)}"))


def _parse_null(value: Any, mend: bool) -> Any:
    if value is None:
        return None
    raise _Wrong(((), f"must be null, not {_kind(value)}"))


_ANYTHING = _Shape({}, lambda value, mend: value)
_PLAIN: Dict[Any, _Shape] = {
    int: _Shape({"type": "integer"}, _parse_integer),
    float: _Shape({"type": "number"}, _parse_number),
    bool: _Shape({"type": "boolean"}, _parse_boolean),
    str: _Shape({"type": "string"}, _parse_string),
    type(None): _Shape({"type": "null"}, _parse_null),
    None: _Shape({"type": "null"}, _parse_null),
    Any: _ANYTHING,
    object: _ANYTHING,
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
_UNIONS = (Union, getattr(sys.modules["types"], "UnionType", Union))

_CHECKS: Dict[str, Tuple[tuple, Callable[[Any, Any], bool], str]] = {
    "minimum": ((int, float), lambda value, limit: value >= limit, "must be at least {}"),
    "maximum": ((int, float), lambda value, limit: value <= limit, "must be at most {}"),
    "exclusiveMinimum": ((int, float), lambda value, limit: value > limit, "must be more than {}"),
    "exclusiveMaximum": ((int, float), lambda value, limit: value < limit, "must be less than {}"),
    "minLength": ((str,), lambda value, limit: len(value) >= limit, "must have at least {} characters"),
    "maxLength": ((str,), lambda value, limit: len(value) <= limit, "must have at most {} characters"),
    "pattern": ((str,), lambda value, limit: re.search(limit, value) is not None, "must match {}"),
    "minItems": ((list, tuple, set, frozenset), lambda value, limit: len(value) >= limit, "must have at least {} items"),
    "maxItems": ((list, tuple, set, frozenset), lambda value, limit: len(value) <= limit, "must have at most {} items"),
}
"""The keywords of `Annotated[int, {"minimum": 0}]` that are enforced; any other is only listed."""


class _Shapes:
    """Makes shapes of type hints, for one schema: a class that contains itself goes into its `$defs`."""

    def __init__(self) -> None:
        self.definitions: Json = {}
        self._made: Dict[type, _Shape] = {}
        self._open: List[type] = []

    def of(self, hint: Any) -> _Shape:
        """Raises TypeError, saying what to take instead, for a hint that JSON has no form for."""
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Annotated:
            return self._annotated(self.of(arguments[0]), arguments[1:])
        if origin is None and hint in _PLAIN:
            return _PLAIN[hint]
        if _special_form(origin) in ("Required", "NotRequired", "ReadOnly"):
            return self.of(arguments[0])
        if origin is typing.Literal:
            return _one_of(list(arguments), list(arguments))
        if origin in _UNIONS:
            return self._union([self.of(argument) for argument in arguments])
        if type(hint).__name__ == "TypeAliasType":  # `type X = …` of Python 3.12
            return self.of(getattr(hint, "__value__"))
        if hasattr(hint, "__supertype__"):  # typing.NewType
            return self.of(getattr(hint, "__supertype__"))
        container = origin or hint
        if container is tuple:
            return self._tuple(arguments)
        if container in _ARRAYS:
            return _array(self.of(arguments[0]) if arguments else _ANYTHING, _ARRAYS[container])
        if container in _OBJECTS:
            return self._mapping(arguments)
        if isinstance(hint, type):
            if issubclass(hint, enum.Enum):
                return _one_of([member.value for member in hint], list(hint))
            if dataclasses.is_dataclass(hint):
                return self._class(hint, self._dataclass)
            if _is_typed_dict(hint):
                return self._class(hint, self._typed_dict)
        raise TypeError(
            f"{_name_of(hint)} has no form in JSON; take int, float, bool, str, list, dict with str keys, tuple, set, "
            "Optional, Union, Literal, an Enum, a TypedDict or a dataclass"
        )

    def root_of(self, hint: type) -> Json:
        """The schema of a class that stands at the root, where a reference is not allowed."""
        schema = self.of(hint).schema
        if "$ref" in schema:
            schema = self._made[hint].schema
        return {**schema, "$defs": self.definitions} if self.definitions else schema

    def _annotated(self, shape: _Shape, notes: Sequence[Any]) -> _Shape:
        keywords: Json = {}
        for note in notes:
            if isinstance(note, str):
                keywords["description"] = note
            elif isinstance(note, dict):
                keywords.update(note)
        checks = [(*_CHECKS[keyword], limit) for keyword, limit in keywords.items() if keyword in _CHECKS]

        def parse(value: Any, mend: bool) -> Any:
            parsed = shape.parse(value, mend)
            for types, holds, words, limit in checks:
                if isinstance(parsed, types) and not isinstance(parsed, bool) and not holds(parsed, limit):
                    raise _Wrong(((), words.format(limit)))
            return parsed

        return _Shape({**shape.schema, **keywords}, parse if checks else shape.parse)

    def _union(self, members: List[_Shape]) -> _Shape:
        def parse(value: Any, mend: bool) -> Any:
            faults = []
            for member in members:
                try:
                    return member.parse(value, False)  # which member was meant is not ours to guess
                except _Wrong as wrong:
                    faults.append(wrong.in_words(1))
            raise _Wrong(((), ", or ".join(faults)))

        return _Shape({"anyOf": [member.schema for member in members]}, parse)

    def _tuple(self, arguments: Tuple[Any, ...]) -> _Shape:
        if not arguments:
            return _array(_ANYTHING, tuple)
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return _array(self.of(arguments[0]), tuple)
        members = [self.of(argument) for argument in arguments if argument != ()]
        length = len(members)

        def parse(value: Any, mend: bool) -> Any:
            if type(value) is not list or len(value) != length:
                raise _Wrong(((), f"must be array of {length} items"))
            return tuple(_parse_items(zip(members, value), mend))

        schema = {"type": "array", "prefixItems": [member.schema for member in members]}
        return _Shape({**schema, "items": False, "minItems": length, "maxItems": length}, parse)

    def _mapping(self, arguments: Tuple[Any, ...]) -> _Shape:
        if arguments and arguments[0] not in (str, Any):
            raise TypeError("an object of JSON has keys of type str")
        return _object({}, dict, self.of(arguments[1]) if arguments else _ANYTHING)

    def _class(self, cls: Any, make: Callable[[Any], _Shape]) -> _Shape:
        reference = {"$ref": "#/$defs/" + re.sub(r"\W+", "_", cls.__qualname__)}
        name = reference["$ref"][len("#/$defs/") :]
        if cls in self._open:
            self.definitions[name] = {}
            return _Shape(reference, lambda value, mend: self._made[cls].parse(value, mend))
        self._open.append(cls)
        try:
            shape = self._made[cls] = make(cls)
        finally:
            self._open.pop()
        if name not in self.definitions:
            return shape
        self.definitions[name] = shape.schema
        return _Shape(reference, shape.parse)

    def _dataclass(self, cls: Any) -> _Shape:
        hints = typing.get_type_hints(cls, include_extras=True)
        fields = {}
        for field in dataclasses.fields(cls):
            if not field.init:
                continue
            missing = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
            default = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
            fields[field.name] = _Field(_with_default(self.of(hints[field.name]), default), missing)
        return _object(fields, lambda values: cls(**values))

    def _typed_dict(self, cls: Any) -> _Shape:
        fields = {}
        for name, hint in typing.get_type_hints(cls, include_extras=True).items():
            form = _special_form(typing.get_origin(hint))
            required = form == "Required" or (form != "NotRequired" and name in cls.__required_keys__)
            fields[name] = _Field(self.of(hint), required)
        return _object(fields, dict)


def _object(fields: Dict[str, _Field], make: Callable[[Json], Any], others: Optional[_Shape] = None) -> _Shape:
    """Named fields, and beside them either nothing else or any number of `others`."""
    schema: Json = {"type": "object"}
    if fields or others is None:
        schema["properties"] = {name: field.shape.schema for name, field in fields.items()}
    required = [name for name, field in fields.items() if field.required]
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False if others is None else others.schema or True

    def parse(value: Any, mend: bool) -> Any:
        if type(value) is not dict:
            raise _Wrong(((), f"must be object, not {_kind(value)}"))
        values: Json = {}
        issues: List[Tuple[Path, str]] = []
        for name, given in value.items():
            field = fields.get(name)
            shape = others if field is None else field.shape
            if shape is None:
                issues.append(((name,), "is unknown" + _suggestion(name, fields)))
                continue
            try:
                values[name] = shape.parse(given, mend)
            except _Wrong as wrong:
                issues += wrong.below(name)
        issues += [((name,), "is missing") for name in required if name not in value]
        if issues:
            raise _Wrong(*issues)
        try:
            return make(values)
        except (TypeError, ValueError) as refused:  # the `__post_init__` of a dataclass
            raise _Wrong(((), _text_of(refused))) from None

    return _Shape(schema, parse)


def _array(item: _Shape, make: Callable[[List[Any]], Any]) -> _Shape:
    def parse(value: Any, mend: bool) -> Any:
        if type(value) is not list:
            raise _Wrong(((), f"must be array, not {_kind(value)}"))
        items = value if item is _ANYTHING else _parse_items(((item, given) for given in value), mend)
        try:
            return make(items)
        except TypeError:
            raise _Wrong(((), "must have items that can be told apart: no arrays and no objects")) from None

    schema: Json = {"type": "array"}
    if item.schema:
        schema["items"] = item.schema
    if make in (set, frozenset):
        schema["uniqueItems"] = True
    return _Shape(schema, parse)


def _parse_items(pairs: Any, mend: bool) -> List[Any]:
    items: List[Any] = []
    issues: List[Tuple[Path, str]] = []
    for index, (shape, given) in enumerate(pairs):
        try:
            items.append(shape.parse(given, mend))
        except _Wrong as wrong:
            issues += wrong.below(index)
            if len(issues) > 100:
                break
    if issues:
        raise _Wrong(*issues)
    return items


def _one_of(values: List[Any], members: List[Any]) -> _Shape:
    """`values` as JSON has them, and what each stands for in Python."""
    kinds = {_kind(value) for value in values}
    if not kinds <= {"string", "integer", "number", "boolean", "null"}:
        raise TypeError(f"{values!r} has values that are no plain JSON")
    schema: Json = {"enum": values}
    if len(kinds) == 1:
        schema["type"] = next(iter(kinds))

    def parse(value: Any, mend: bool) -> Any:
        for known, member in zip(values, members):
            if value == known and _kind(value) == _kind(known):  # True == 1 in Python
                return member
        raise _Wrong(((), "must be one of " + ", ".join(json.dumps(known, ensure_ascii=False) for known in values)))

    return _Shape(schema, parse)


def _with_default(shape: _Shape, default: Any) -> _Shape:
    """Lists a default, where JSON has it."""
    if default is inspect.Parameter.empty:
        return shape
    try:
        return _Shape({**shape.schema, "default": json.loads(_dump(default))}, shape.parse)
    except (TypeError, ValueError, RecursionError):
        return shape


def _special_form(origin: Any) -> Optional[str]:
    """`Required` and its like come from `typing` or, before Python 3.11, from a package that may not be there."""
    return getattr(origin, "_name", None)


def _is_typed_dict(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, dict) and hasattr(hint, "__required_keys__")


def _is_class(hint: Any) -> bool:
    """True for a class whose values are objects in JSON."""
    is_own = isinstance(hint, type) and hint not in (Result, Directive)
    return is_own and (dataclasses.is_dataclass(hint) or _is_typed_dict(hint))


def _name_of(hint: Any) -> str:
    return hint.__qualname__ if isinstance(hint, type) else repr(hint)


def _kind(value: Any) -> str:
    """What JSON calls it."""
    if value is None:
        return "null"
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), type(value).__name__)


def _shortened(text: str, limit: int = 80) -> str:
    return text if len(text) <= limit else text[:limit] + "…"


def _suggestion(wanted: str, names: Any, prefix: str = "") -> str:
    """`; did you mean "x"?`, or all the names, where they are few."""
    import difflib  # only ever needed for a mistake

    known = list(names)
    lower = {name.lower(): name for name in known}
    near = difflib.get_close_matches(str(wanted)[:128].lower(), lower, n=1, cutoff=0.4)
    if near:
        return f'; did you mean "{prefix}{lower[near[0]]}"?'
    return f"; known are {', '.join(prefix + name for name in known[:20])}" if known else "; there is none"


# Tools ---------------------------------------------------------------------------------------------------------------


class _Tool:
    """A function as a tool: how it is listed, how its arguments are taken in, what its output must be."""

    def __init__(self, function: Callable[..., Any], options: Json) -> None:
        self.function = function
        self.is_async = inspect.iscoroutinefunction(function)
        self.name: str = options["name"] or getattr(function, "__name__", "")
        text, described = _read_docstring(inspect.getdoc(function) or "")
        description = options["description"] or text
        faults: List[str] = []
        if not (isinstance(self.name, str) and _NAME.match(self.name)):
            faults.append(f"its name must be 1 to 64 of A-Z a-z 0-9 _ -, not {self.name!r}; give name=…")
        if not description.strip():
            faults.append("it needs a docstring or description=… that says what it does")
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            faults.append("it must return its result instead of yielding it")
        hints: Dict[str, Any] = {}
        try:
            hints = typing.get_type_hints(function, include_extras=True)
        except Exception as error:
            words = f"its type hints cannot be evaluated: {_text_of(error)}"
            faults.append(f"{words}; before Python 3.10 write Optional[X]")
        self._context_names: List[str] = []
        self._arguments = self._read_parameters(hints, described, faults)
        self.output: Optional[_Shape] = None
        # True for an output that is no object: it is listed, checked and sent as `{"result": …}`.
        self.wraps = False
        output_schema = self._given_output(options["output_schema"]) or self._read_return(hints.get("return"), faults)
        self.has_output_schema = output_schema is not None
        if faults:
            words = "; ".join(faults)
            raise ToolError("INVALID_ARGUMENT", f'The tool "{self.name}" cannot be defined: {words}.')
        self.listing: Json = {
            "name": self.name,
            "description": description,
            "inputSchema": self._arguments.schema,
            "annotations": {
                "readOnlyHint": options["read_only"],
                "destructiveHint": options["destructive"],
                "idempotentHint": options["idempotent"],
                "openWorldHint": options["open_world"],
            },
        }
        for key, value in (
            ("title", options["title"]),
            ("outputSchema", output_schema),
            ("icons", options["icons"]),
            ("_meta", options["meta"]),
        ):
            if value is not None:
                self.listing[key] = value

    def parse(self, arguments: Any) -> Json:
        """Raises ToolError INVALID_ARGUMENT that names every fault."""
        try:
            return self._arguments.parse(arguments, True)
        except _Wrong as wrong:
            issues = [{"path": [str(key) for key in path], "message": text} for path, text in wrong.issues[:20]]
            message = f'Wrong arguments for "{self.name}": {wrong.in_words()}.'
            raise ToolError("INVALID_ARGUMENT", message, details={"issues": issues}) from None

    def bound(self, arguments: Json, context: Context) -> Callable[[], Any]:
        """The call, ready to be made."""
        given = {**arguments, **{name: context for name in self._context_names}}
        return lambda: self.function(**given)

    def _read_parameters(self, hints: Json, described: Dict[str, str], faults: List[str]) -> _Shape:
        shapes = _Shapes()
        fields: Dict[str, _Field] = {}
        others: Optional[_Shape] = None
        for parameter in inspect.signature(self.function).parameters.values():
            name, hint = parameter.name, hints.get(parameter.name, Any)
            if hint is Context or Context in typing.get_args(hint):
                self._context_names.append(name)
                continue
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
                faults.append(f"its parameter {name} has to be one that is given by name")
                continue
            if name == "self" and not fields:
                faults.append("it is a method; give add_tool() the method of an object")
                continue
            try:
                shape = shapes.of(hint)
            except Exception as error:
                faults.append(f"its parameter {name}: {_text_of(error)}")
                continue
            if parameter.kind is parameter.VAR_KEYWORD:
                others = shape
                continue
            if name in described and "description" not in shape.schema:
                shape = _Shape({**shape.schema, "description": described[name]}, shape.parse)
            fields[name] = _Field(_with_default(shape, parameter.default), parameter.default is parameter.empty)
        arguments = _object(fields, dict, others)
        if shapes.definitions:
            arguments.schema["$defs"] = shapes.definitions
        return arguments

    def _given_output(self, schema: Optional[Json]) -> Optional[Json]:
        if not schema or schema.get("type") == "object" or ("type" not in schema and "properties" in schema):
            return schema
        self.wraps = True
        inner = {key: value for key, value in schema.items() if key not in ("$schema", "$defs")}
        outer = {key: value for key, value in schema.items() if key in ("$schema", "$defs")}
        return {**outer, "type": "object", "properties": {"result": inner}, "required": ["result"]}

    def _read_return(self, hint: Any, faults: List[str]) -> Optional[Json]:
        """The output schema that the return annotation stands for: that of a TypedDict or a dataclass, or `{"result": …}`
        for a number, a boolean, or a list of these, of texts or of such classes. A list of dicts may be content blocks."""
        items = typing.get_args(hint)[:1] if typing.get_origin(hint) is list else ()
        self.wraps = hint in (int, float, bool) or any(item in (int, float, bool, str) or _is_class(item) for item in items)
        if not self.wraps and not _is_class(hint):
            return None
        shapes = _Shapes()
        try:
            if not self.wraps:
                self.output = shapes.of(hint)
                return shapes.root_of(hint)
            self.output = _object({"result": _Field(shapes.of(hint), True)}, dict, None)
            return {**self.output.schema, **({"$defs": shapes.definitions} if shapes.definitions else {})}
        except Exception as error:
            faults.append(f"its return annotation: {_text_of(error)}")
            return None


def _read_docstring(text: str) -> Tuple[str, Dict[str, str]]:
    """A docstring without its `Args:` section, and what that says of each argument."""
    kept: List[str] = []
    described: Dict[str, str] = {}
    name, inside, indent = "", False, 0
    for line in text.splitlines():
        if line.strip() in ("Args:", "Arguments:", "Parameters:") and not line[:1].isspace():
            inside, indent = True, 0
            continue
        if inside and line.strip() and not line[0].isspace():
            inside = False
        if not inside:
            kept.append(line)
            continue
        depth = len(line) - len(line.lstrip())
        entry = re.match(r"\s+\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)", line)
        if entry and depth <= (indent or depth):
            indent, name = depth, entry[1]
            described[name] = entry[2].strip()
        elif name and line.strip():
            described[name] = f"{described[name]} {line.strip()}".strip()
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
    return text, {name: words for name, words in described.items() if words}


class _Registry:
    """The tools of this process, by name. Any thread may change them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tools: Dict[str, _Tool] = {}
        self.on_change: Callable[[], None] = lambda: None

    def add(self, added: _Tool) -> None:
        with self._lock:
            present = self._tools.get(added.name)
            if present is not None and not _same_source(present.function, added.function):
                message = f'There is a tool "{added.name}" already; remove or rename one.'
                raise ToolError("NAME_CONFLICT", message)
            self._tools = {**self._tools, added.name: added}
        self.on_change()

    def remove(self, name: str) -> bool:
        with self._lock:
            left = {known: present for known, present in self._tools.items() if known != name}
            removed = len(left) < len(self._tools)
            self._tools = left
        if removed:
            self.on_change()
        return removed

    @property
    def by_name(self) -> Dict[str, _Tool]:
        """As they are now; this dict does not change."""
        return self._tools


def _same_source(one: Callable[..., Any], other: Callable[..., Any]) -> bool:
    """True for two readings of one definition, as `importlib.reload` makes them."""
    places = [(getattr(f, "__module__", f), getattr(f, "__qualname__", f)) for f in (one, other)]
    return places[0] == places[1] and "<" not in str(places[0][1])


_registry = _Registry()


@typing.overload
def tool(function: Function) -> Function: ...


@typing.overload
def tool(
    *,
    name: Optional[str] = ...,
    title: Optional[str] = ...,
    description: Optional[str] = ...,
    read_only: bool = ...,
    destructive: bool = ...,
    idempotent: bool = ...,
    open_world: bool = ...,
    timeout_ms: Optional[float] = ...,
    output_schema: Optional[Json] = ...,
    icons: Optional[List[Json]] = ...,
    meta: Optional[Json] = ...,
) -> Callable[[Function], Function]: ...


def tool(
    function: Optional[Function] = None,
    *,
    name: Optional[str] = None,
    title: Optional[str] = None,
    description: Optional[str] = None,
    read_only: bool = False,
    destructive: bool = True,
    idempotent: bool = False,
    open_world: bool = True,
    timeout_ms: Optional[float] = None,
    output_schema: Optional[Json] = None,
    icons: Optional[List[Json]] = None,
    meta: Optional[Json] = None,
) -> Any:
    """Makes a function a tool, with or without options: `@tool` or `@tool(read_only=True)`. The function stays as it is.

    The input schema comes from the type hints, the output schema from a return annotation that is a TypedDict, a
    dataclass, a number, a boolean or a list of these (or from `output_schema`, which is listed and not enforced here;
    what is no object is listed and sent as `{"result": …}`), the description from the docstring, and
    those of the arguments from its `Args:` section. The four hints have MCP's pessimistic defaults. `timeout_ms` is the
    deadline of a call that names none.

    A `def` tool runs in a thread and may block. An `async def` tool runs in the event loop and must not.

    Raises ToolError INVALID_ARGUMENT naming every fault, NAME_CONFLICT when another tool has the name.
    """
    options = {
        "name": name,
        "title": title,
        "description": description,
        "read_only": read_only,
        "destructive": destructive,
        "idempotent": idempotent,
        "open_world": open_world,
        "output_schema": output_schema,
        "icons": icons,
        "meta": meta if timeout_ms is None else {**(meta or {}), "toolwright/timeoutMs": timeout_ms},
    }

    def register(decorated: Function) -> Function:
        _registry.add(_Tool(decorated, options))
        return decorated

    return register if function is None else register(function)


def add_tool(function: Callable[..., Any], **options: Any) -> None:
    """`tool` as a call, also while the provider runs: the host is told that the list has changed."""
    tool(**options)(function)


def remove_tool(name: str) -> bool:
    """Removes a tool; calls of it that run go on. False when there was none of that name."""
    return _registry.remove(name)


# Results -------------------------------------------------------------------------------------------------------------

_BLOCK_FIELDS: Dict[str, Dict[str, type]] = {
    "text": {"text": str},
    "image": {"data": str, "mimeType": str},
    "audio": {"data": str, "mimeType": str},
    "resource_link": {"uri": str},
    "resource": {"resource": dict},
}
_RESULT_KEYS = frozenset(("content", "structuredContent", "isError", "_meta"))
_NO_CONTENT: Json = {"content": [], "isError": False}


def _result_of(tool_: _Tool, output: Any) -> Json:
    """MCP's result for what a tool returned. Raises ToolError OUTPUT_INVALID."""
    result = _plain_result(tool_, output)
    if tool_.has_output_schema and not result["isError"] and "structuredContent" not in result:
        raise _invalid(tool_, "gave no structured content although it declares an output schema")
    return result


def _plain_result(tool_: _Tool, output: Any) -> Json:
    if tool_.wraps and not isinstance(output, (Result, Directive)):
        return _wrapped(tool_, output)
    if output is None:
        return _NO_CONTENT
    if isinstance(output, str):
        text = output.value if isinstance(output, enum.Enum) else str(output)
        return {"content": [{"type": "text", "text": text}], "isError": False}
    if isinstance(output, Result):
        return _full_result(tool_, output)
    if isinstance(output, Directive):
        return _full_result(tool_, Result(directives=[output]))
    if isinstance(output, (list, tuple)) and output and all(map(_is_known_block, output)):
        return {"content": list(output), "isError": False}
    if _is_full_form(output):
        content, structured = output.get("content"), output.get("structuredContent")
        failed = output.get("isError", False)
        return _full_result(tool_, Result(content, structured, failed, meta=output.get("_meta")))
    if isinstance(output, dict) or (dataclasses.is_dataclass(output) and not isinstance(output, type)):
        return _structured(tool_, output)
    if inspect.iscoroutine(output):
        output.close()
        raise _invalid(tool_, "returned a coroutine; write `async def`")
    return _wrapped(tool_, output)


def _wrapped(tool_: _Tool, output: Any) -> Json:
    """A value that is no object as `{"result": value}`, with its own text."""
    result = _structured(tool_, {"result": output})
    text = output if isinstance(output, str) else _dump(output)
    return {**result, "content": [{"type": "text", "text": text}]}


def _structured(tool_: _Tool, output: Any, is_error: bool = False) -> Json:
    try:
        text = _dump(output)
    except (TypeError, ValueError, RecursionError) as error:
        raise _invalid(tool_, f"gave what JSON does not carry: {_text_of(error)}") from None
    structured = json.loads(text)
    if type(structured) is not dict:
        raise _invalid(tool_, "gave structured content that is no object")
    if tool_.output is not None and not is_error:
        try:
            tool_.output.parse(structured, False)
        except _Wrong as wrong:
            raise _invalid(tool_, f"gave an output that breaks its own schema: {wrong.in_words()}") from None
    return {"content": [{"type": "text", "text": text}], "structuredContent": structured, "isError": is_error}


def _full_result(tool_: _Tool, output: Result) -> Json:
    is_error = bool(output.is_error) or output.error is not None
    result: Json = {"content": [], "isError": is_error}
    if output.structured_content is not None:
        result = _structured(tool_, output.structured_content, is_error)
    if output.content is not None:
        result["content"] = _blocks(tool_, output.content)
    meta = dict(output.meta or {})
    if is_error:
        text = "\n".join(block["text"] for block in result["content"] if block.get("type") == "text")
        error = output.error or ToolError("EXECUTION_FAILED", text or "The tool reported a failure without words.")
        if not result["content"]:
            result["content"] = [_text_block(error)]
        meta["toolwright/error"] = error.to_json()
    if output.directives:
        if not all(isinstance(directive, Directive) for directive in output.directives):
            raise _invalid(tool_, "gave a directive that is no Directive")
        meta["toolwright/directives"] = [directive.to_json() for directive in output.directives]
    if meta:
        result["_meta"] = meta
    return result


def _failure(error: ToolError) -> Json:
    """The result of a failed call: the message for the model, the code for the program."""
    return {"content": [_text_block(error)], "isError": True, "_meta": {"toolwright/error": error.to_json()}}


def _text_block(error: ToolError) -> Json:
    return {"type": "text", "text": f"[{error.code}] {_shortened(error.message, _MAX_MESSAGE)}"}


def _invalid(tool_: _Tool, what: str) -> ToolError:
    return ToolError("OUTPUT_INVALID", f'"{tool_.name}" ran, and {what}.')


def _blocks(tool_: _Tool, content: Any) -> List[Json]:
    blocks = list(content) if isinstance(content, (list, tuple)) else [content]
    if not all(map(_is_block, blocks)):
        raise _invalid(tool_, 'gave a list that is not of content blocks, such as {"type": "text", "text": "…"}')
    return blocks


def _is_block(block: Any) -> bool:
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        return False
    fields = _BLOCK_FIELDS.get(block["type"], {})
    return all(isinstance(block.get(name), wanted) for name, wanted in fields.items())


def _is_known_block(block: Any) -> bool:
    """Asked of a bare list: rows of data have a `type` of their own often enough."""
    return isinstance(block, dict) and block.get("type") in _BLOCK_FIELDS and _is_block(block)


def _is_full_form(output: Any) -> bool:
    """True for a dict of MCP's result: no other keys, and blocks as its content."""
    if not isinstance(output, dict) or not output or not _RESULT_KEYS.issuperset(output):
        return False
    content, structured = output.get("content", []), output.get("structuredContent", {})
    return (
        isinstance(content, list)
        and all(map(_is_block, content))
        and isinstance(structured, dict)
        and isinstance(output.get("isError", False), bool)
        and isinstance(output.get("_meta", {}), dict)
    )


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_as_json)


def _as_json(value: Any) -> Any:
    """What JSON has no form for and Python's own types do: for `json.dumps`, which asks for one level at a time."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (set, frozenset)):
        return list(value)
    if isinstance(value, collections.abc.Mapping):
        return dict(value)
    raise TypeError(f"a value of type {type(value).__name__}")


def _carried_by_json(value: Any) -> Tuple[Any, List[str]]:
    """What JSON carries of a value, and the dotted paths of what it does not."""
    dropped: List[str] = []

    def carry(given: Any, path: str, above: Tuple[int, ...]) -> Any:
        if given is None or type(given) in (bool, int, str) or (type(given) is float and math.isfinite(given)):
            return given
        if id(given) not in above and len(above) < 48:
            inside = (*above, id(given))
            if dataclasses.is_dataclass(given) and not isinstance(given, type):
                given = {field.name: getattr(given, field.name, _DROPPED) for field in dataclasses.fields(given)}
            if isinstance(given, dict):
                kept = {}
                for key, item in list(given.items()):
                    below = f"{path}.{key}" if path else str(key)
                    carried = carry(item, below, inside) if isinstance(key, str) else _DROPPED
                    if carried is not _DROPPED:
                        kept[key] = carried
                    elif not isinstance(key, str):
                        dropped.append(below)
                return kept
            if isinstance(given, (list, tuple)):
                items = [carry(item, f"{path}.{index}", inside) for index, item in enumerate(list(given))]
                return [None if item is _DROPPED else item for item in items]
        dropped.append(path or "state")
        return _DROPPED

    carried = carry(value, "", ())
    return (None if carried is _DROPPED else carried), dropped


_DROPPED = object()


def _text_of(error: BaseException) -> str:
    """The message of an exception; never raises itself. That of a KeyError is its key alone, so its name goes before."""
    try:
        text = str(error)
    except Exception:
        text = ""
    if not text:
        return type(error).__name__
    return f"{type(error).__name__}: {text}" if isinstance(error, KeyError) else text


# Frames --------------------------------------------------------------------------------------------------------------

MAX_FRAME_BYTES = 16 * 1024 * 1024
"""A longer frame is refused and skipped."""
HARD_FRAME_BYTES = 64 * 1024 * 1024
"""A frame that is longer still ends the connection."""
MAX_DEPTH = 64
MAX_BAD_FRAMES = 10
_HEAD_BYTES = 1_024
_REQUEST_HEAD = re.compile(
    rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?'
    rb'(?:"method"\s*:\s*"[^"\\]*"\s*,\s*"id"\s*:\s*(?P<after>-?\d{1,15}|"[^"\\]{1,200}")\s*[,}]'
    rb'|"id"\s*:\s*(?P<before>-?\d{1,15}|"[^"\\]{1,200}")\s*,\s*"method"\s*:)'
)


class _Oversized(NamedTuple):
    """A frame over the soft limit, of which only the first bytes were kept."""

    head: bytes
    length: int


class _Frames:
    """Cuts bytes into lines, in time linear in the bytes and in memory of one frame."""

    def __init__(self) -> None:
        self.limit = MAX_FRAME_BYTES
        self._held = bytearray()
        self._length = 0

    def feed(self, chunk: bytes) -> Iterator[Union[bytes, _Oversized]]:
        """The frames that end in `chunk`; blank lines are none. Raises ToolError for one over the hard limit."""
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            self._hold(piece)
            frame, length = bytes(self._held), self._length
            self._held.clear()
            self._length = 0
            if length > self.limit:
                yield _Oversized(frame, length)
            elif frame.strip():
                yield frame
        self._hold(rest)

    def _hold(self, piece: bytes) -> None:
        self._length += len(piece)
        if self._length <= self.limit:
            self._held += piece
            return
        del self._held[_HEAD_BYTES:]
        self._held += piece[: _HEAD_BYTES - len(self._held)]
        if self._length > HARD_FRAME_BYTES:
            raise ToolError("FRAME_TOO_LARGE", f"A frame is longer than {HARD_FRAME_BYTES} bytes.")


def _parse_frame(frame: bytes) -> Any:
    """JSON of a frame. Raises ValueError when it is none, RecursionError when it is far too deep."""
    return json.loads(frame.decode("utf-8"), parse_constant=_no_constant, parse_int=_bounded_int)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _bounded_int(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError("an integer with too many digits")
    return int(digits)


def _fields_of(data: Json) -> Json:
    """The fields of a log line. What JSON does not carry is shown as text."""
    fields: Json = {}
    for name, value in data.items():
        try:
            fields[name] = json.loads(json.dumps(value, default=_shown, allow_nan=False))
        except (TypeError, ValueError, RecursionError):
            fields[name] = _shown(value)
    return fields


def _shown(value: Any) -> str:
    try:
        return repr(value)
    except Exception:  # its own, which says nothing of the line
        return f"<{type(value).__name__}>"


def _encode(message: Json, max_bytes: int = MAX_FRAME_BYTES, max_depth: int = MAX_DEPTH) -> bytes:
    """A frame. Raises ToolError when JSON does not carry the message, or when it is over a limit."""
    try:
        text = _dump(message)
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolError("OUTPUT_INVALID", f"The answer is not JSON: {_text_of(error)}.") from None
    try:
        frame = text.encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON carries as an escape only
        frame = json.dumps(json.loads(text), separators=(",", ":")).encode("ascii")
    if len(frame) > max_bytes:
        words = f"The answer has {len(frame)} bytes, more than the {max_bytes} of a frame; return less, or a part."
        raise ToolError("FRAME_TOO_LARGE", words)
    if frame.count(b"{") + frame.count(b"[") > max_depth and _is_deeper(json.loads(text), max_depth):
        raise ToolError("OUTPUT_INVALID", f"The answer is nested deeper than {max_depth} levels.")
    return frame + b"\n"


def _is_deeper(value: Any, limit: int) -> bool:
    """True when arrays and objects stand in each other more than `limit` times. Level by level, so linear and flat."""
    level = [value] if type(value) in (dict, list) else []
    for _ in range(limit):
        level = [
            child
            for node in level
            for child in (node.values() if type(node) is dict else node)
            if type(child) in (dict, list)
        ]
        if not level:
            return False
    return True


def _rpc_error(number: int, error: ToolError) -> Json:
    info = error.to_json()
    return {"code": number, "message": info["message"], "data": info}


def _error_from(error: Json) -> ToolError:
    """The error of an answer."""
    data = error.get("data")
    info = data if isinstance(data, dict) else {}
    details = info.get("details")
    return ToolError(
        str(info.get("code", "PROTOCOL_VIOLATION")),
        str(error.get("message")),
        bool(info.get("retryable")),
        details if isinstance(details, dict) else None,
    )


_PARSE_ERROR, _INVALID_REQUEST, _METHOD_NOT_FOUND, _INVALID_PARAMS, _FAILED = -32700, -32600, -32601, -32602, -32000


# The connection ------------------------------------------------------------------------------------------------------

_QUEUE_BYTES = 16 * 1024 * 1024
# A larger frame is not gathered with others first.
_FLUSH_BYTES = 64 * 1024
_MAX_WAITING_NOTICES = 1_000
"""Notifications of threads that wait for the event loop; more make their thread wait."""


class _Connection(asyncio.Protocol):
    """JSON-RPC on a socket. Lives in the event loop; `notify` alone may be called from any thread."""

    def __init__(
        self,
        on_request: Callable[[Any, str, Json], None],
        on_notification: Callable[[str, Json], None],
        on_close: Callable[[_Connection], None],
    ) -> None:
        self.is_registered = False
        self.max_frame_bytes = MAX_FRAME_BYTES
        self.max_depth = MAX_DEPTH
        self._on_request = on_request
        self._on_notification = on_notification
        self._on_close = on_close
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._closed: asyncio.Future = self._loop.create_future()
        self.socket_number = -1
        self._transport: Any = None
        self._frames = _Frames()
        self._bad_frames = 0
        self._requests: Dict[Any, asyncio.Future] = {}
        self._refusal: Optional[ToolError] = None
        self._is_paused = False
        self._waiting: deque = deque()
        self._batch: List[bytes] = []
        self._notices = threading.BoundedSemaphore(_MAX_WAITING_NOTICES)

    # asyncio calls these.

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        sock = transport.get_extra_info("socket")
        self.socket_number = -1 if sock is None else sock.fileno()  # a named pipe is inherited by no child
        transport.set_write_buffer_limits(high=_QUEUE_BYTES)

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._frames.feed(data):
                if self._transport.is_closing():
                    return
                self._take(frame)
        except ToolError as error:
            self.close(error)

    def pause_writing(self) -> None:
        self._is_paused = True

    def resume_writing(self) -> None:
        self._is_paused = False
        self._flush()
        while self._waiting and not self._is_paused:
            self._transport.write(self._waiting.popleft())

    def connection_lost(self, exc: Optional[BaseException]) -> None:
        self._fail_requests(self._refusal or ToolError("CONNECTION_CLOSED", "The host closed the connection."))
        self._waiting.clear()
        self._closed.set_result(None)
        self._on_close(self)

    # The provider calls these.

    def close(self, reason: Optional[ToolError] = None) -> None:
        if reason is not None:
            _say(f"the connection is closed: {reason.message}")
        self._flush()
        self._transport.close()

    async def flush_and_close(self) -> None:
        """Lets what was written go out, for as long as a host that reads needs."""
        self.close()
        await asyncio.wait([self._closed], timeout=_SETTLE_SECONDS)
        if not self._closed.done():
            self._transport.abort()

    def answer(self, request_id: Any, result: Json) -> None:
        self.write(self.encode({"jsonrpc": "2.0", "id": request_id, "result": result}))

    def refuse(self, request_id: Any, number: int, error: ToolError) -> None:
        self.write(self.encode({"jsonrpc": "2.0", "id": request_id, "error": _rpc_error(number, error)}))

    def encode(self, message: Json) -> bytes:
        """From any thread. Raises ToolError."""
        return _encode(message, self.max_frame_bytes, self.max_depth)

    def write(self, frame: bytes) -> None:
        """What is written in one turn of the event loop goes out in one piece. It waits for its turn while the host does
        not read. Nothing once the connection is closed."""
        if self._transport.is_closing():
            return
        if self._is_paused:
            self._waiting.append(frame)
            return
        self._batch.append(frame)
        if len(frame) > _FLUSH_BYTES:
            self._flush()
        elif len(self._batch) == 1:
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        batch, self._batch = self._batch, []
        if batch and not self._transport.is_closing():
            self._transport.write(batch[0] if len(batch) == 1 else b"".join(batch))

    async def request(self, method: str, params: Json) -> Json:
        """The result. Raises ToolError."""
        if self._refusal is not None:
            raise self._refusal
        request_id = f"p{len(self._requests) + 1}"
        answered = self._requests[request_id] = self._loop.create_future()
        self.write(self.encode({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}))
        return await answered

    def notify(self, method: str, params: Json) -> None:
        """From any thread, in order. Left out while the host does not read: nobody may wait for it."""
        frame = self.encode({"jsonrpc": "2.0", "method": method, "params": params})
        if threading.get_ident() == self._thread:
            self._write_notice(frame)
        elif self._notices.acquire(timeout=1.0):
            self._soon(self._write_waited, frame)

    def _write_waited(self, frame: bytes) -> None:
        self._notices.release()
        self._write_notice(frame)

    def _write_notice(self, frame: bytes) -> None:
        if not self._is_paused:
            self.write(frame)

    def _soon(self, callback: Callable[..., None], *arguments: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:
            pass  # the loop is closed: the process is about to end

    # What the host sends.

    def _take(self, frame: Union[bytes, _Oversized]) -> None:
        if isinstance(frame, _Oversized):
            self._refuse_oversized(frame)
            return
        try:
            message = _parse_frame(frame)
        except (ValueError, RecursionError) as error:
            self._bad_frames += 1
            words = f"A frame is not JSON: {_shortened(_text_of(error), 200)}."
            self.refuse(None, _PARSE_ERROR, ToolError("PROTOCOL_VIOLATION", words))
            if self._bad_frames >= MAX_BAD_FRAMES:
                self.close(ToolError("PROTOCOL_VIOLATION", f"{MAX_BAD_FRAMES} frames were not JSON."))
            return
        if not isinstance(message, dict):
            self.refuse(None, _INVALID_REQUEST, ToolError("PROTOCOL_VIOLATION", "A message is one JSON object."))
        elif "method" in message:
            self._take_request(message, frame)
        else:
            self._take_response(message)

    def _take_request(self, message: Json, frame: bytes) -> None:
        request_id, method, params = message.get("id"), message["method"], message.get("params", {})
        is_id = type(request_id) in (str, int, float)
        if ("id" in message and not is_id) or not isinstance(method, str) or not isinstance(params, dict):
            words = "A request has a text as its method, an object as params, and a text or number as id."
            self.refuse(request_id if is_id else None, _INVALID_REQUEST, ToolError("PROTOCOL_VIOLATION", words))
        elif frame.count(b"{") + frame.count(b"[") > self.max_depth and _is_deeper(message, self.max_depth):
            if is_id:
                words = f"The message is nested deeper than {self.max_depth} levels."
                self.refuse(request_id, _FAILED, ToolError("INVALID_ARGUMENT", words))
        elif is_id:
            self._on_request(request_id, method, params)
        else:
            self._on_notification(method, params)

    def _take_response(self, message: Json) -> None:
        request_id, error, result = message.get("id"), message.get("error"), message.get("result")
        if request_id is None and isinstance(error, dict):
            self._refusal = _error_from(error)  # BUSY, which may be said before anything was asked
            self._fail_requests(self._refusal)
            return
        waiting = self._requests.pop(request_id, None) if isinstance(request_id, str) else None
        if waiting is None or waiting.done():
            return  # late, repeated or unknown
        if isinstance(error, dict):
            waiting.set_exception(_error_from(error))
        else:
            waiting.set_result(result if isinstance(result, dict) else {})

    def _fail_requests(self, error: ToolError) -> None:
        for request in self._requests.values():
            if not request.done():
                request.set_exception(error)
        self._requests.clear()

    def _refuse_oversized(self, frame: _Oversized) -> None:
        words = f"A frame of {frame.length} bytes is longer than {self._frames.limit} bytes; send less at once."
        found = _REQUEST_HEAD.match(frame.head)
        if found is None:
            _say(words)
            return
        request_id = json.loads((found["after"] or found["before"]).decode("utf-8", "replace"))
        self.refuse(request_id, _FAILED, ToolError("FRAME_TOO_LARGE", words))

    def limit(self, limits: Any) -> None:
        """Takes over what the host says of its limits, within ours, once it has taken the registration."""
        self.is_registered = True
        if not isinstance(limits, dict):
            return
        max_bytes, depth = limits.get("maxFrameBytes"), limits.get("maxDepth")
        if type(max_bytes) is int and 1_024 <= max_bytes <= HARD_FRAME_BYTES:
            self.max_frame_bytes = self._frames.limit = max_bytes
        if type(depth) is int and 8 <= depth <= 256:
            self.max_depth = depth


class _Threads:
    """Runs `def` tools. Daemon threads, since one that is stuck in a call must not keep the process from ending."""

    def __init__(self, limit: int = 64) -> None:
        self._limit = limit
        self._jobs: queue.SimpleQueue = queue.SimpleQueue()
        self._free = threading.Semaphore(0)
        self._count = 0

    def run(self, job: Callable[[], None]) -> None:
        """Runs `job` as soon as a thread is free; from the event loop's thread only. `job` must not raise."""
        if not self._free.acquire(blocking=False) and self._count < self._limit:
            thread = threading.Thread(target=self._work, name=f"toolwright-{self._count + 1}", daemon=True)
            try:
                thread.start()
                self._count += 1
            except RuntimeError:  # the system gives no more threads
                if self._count == 0:
                    raise
        self._jobs.put(job)

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            job()
            del job  # else its arguments live until the next call
            self._free.release()


# The provider --------------------------------------------------------------------------------------------------------

_HANDSHAKE_SECONDS = 15.0
_CONNECT_SECONDS = 2.0
_RETRY_SECONDS = 0.05
_DRAIN_SECONDS = 30.0
_MAX_DRAIN_SECONDS = 600.0
_SETTLE_SECONDS = 0.5
_DISPOSE_SECONDS = 2.0
_REFUSED_EXIT_CODE = 78
_EXIT_SECONDS = 3.0
"""From the moment that the process is to end: calls may settle, `dispose` may run, and then it ends in any case."""


class _Call:
    """A call in flight."""

    def __init__(self, request_id: Any, called: _Tool, context: Context) -> None:
        self.request_id = request_id
        self.tool = called
        self.context = context
        self.task: Optional[asyncio.Task] = None
        self.is_settled = False

    def cancel(self) -> None:
        self.context.signal.set()
        if self.task is not None:
            self.task.cancel()


@dataclasses.dataclass(frozen=True)
class _Functions:
    """What the author gave to `run`."""

    initialize: Optional[Callable[..., Any]] = None
    should_restart: Optional[Callable[..., Any]] = None
    should_reinitialize: Optional[Callable[..., Any]] = None
    end_session: Optional[Callable[..., Any]] = None
    dispose: Optional[Callable[..., Any]] = None


class _Provider:
    """One provider on one connection, from registration to the end of the process."""

    def __init__(
        self,
        name: str,
        version: str,
        description: str,
        functions: _Functions,
        tools: _Registry,
        on_end: Callable[[], None],
    ) -> None:
        self.name = name
        self.version = version
        self.description = description
        self._functions = functions
        self._tools = tools
        self._on_end = on_end
        self._is_initialized = False
        self._connection: Any = None
        self._state: Any = {}
        self._calls: Dict[Any, _Call] = {}
        self._threads = _Threads()
        self._busy_threads = 0
        self._ending = threading.Event()
        self._disposal: Optional[asyncio.Task] = None
        self._tasks: set = set()

    @property
    def is_busy(self) -> bool:
        """True while a thread runs a tool: an interpreter that ends under it may crash."""
        return self._busy_threads > 0

    async def serve(self, address: str, token: str) -> None:
        """Registers, and serves until the connection closes or `end_soon` is called. Raises ToolError, OSError."""
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._log = Log(self._log_for(None))
        self._tools.on_change = self._tell_of_tools
        try:
            await asyncio.wait_for(self._register(address, token), _HANDSHAKE_SECONDS)
            await self._ended.wait()
            await self._end()
        except asyncio.TimeoutError:
            words = f"The host did not answer the registration within {_HANDSHAKE_SECONDS:.0f} s."
            raise ToolError("TIMED_OUT", words) from None
        finally:
            self._on_end()
            self._tools.on_change = lambda: None
            if self._connection is not None:
                await self._connection.flush_and_close()

    def end_soon(self) -> None:
        """From a signal handler: lets `serve` end."""
        self._ending.set()
        try:
            self._loop.call_soon_threadsafe(self._ended.set)
        except (AttributeError, RuntimeError):
            pass  # not yet connected, or ended already

    async def _register(self, address: str, token: str) -> None:
        """Connects and registers; again while the host is busy, or makes its socket anew."""
        patience = time.monotonic() + _CONNECT_SECONDS
        while not self._ended.is_set():
            try:
                self._connection = await self._connect(address)
                listed = self._tools.by_name
                answer = await self._connection.request("provider/register", self._registration(token))
            except (FileNotFoundError, ConnectionError, BlockingIOError):
                if time.monotonic() > patience:
                    raise
            except ToolError as error:
                self._connection.close()
                # A busy host may have closed before we wrote, so that its word is lost.
                is_closed = error.code == "CONNECTION_CLOSED" and time.monotonic() < patience
                if error.code != "BUSY" and not is_closed:
                    raise
            else:
                if answer.get("protocol") != PROTOCOL:
                    words = f"The host speaks protocol {answer.get('protocol')!r}, and this file {PROTOCOL}"
                    raise ToolError("PROTOCOL_VIOLATION", f"{words}; use those of one release.")
                self._connection.limit(answer.get("limits"))
                if self._tools.by_name is not listed:
                    self._tell_of_tools()
                return
            await asyncio.sleep(_RETRY_SECONDS * (1 + 4 * random.random()))

    async def _connect(self, address: str) -> _Connection:
        def make() -> _Connection:
            return _Connection(self._on_request, self._on_notification, self._on_close)

        loop: Any = self._loop
        if sys.platform == "win32":
            _, connection = await loop.create_pipe_connection(make, address)
        else:
            _, connection = await loop.create_unix_connection(make, address)
            _forks_close.add(connection.socket_number)
        return connection

    def _on_close(self, closed: _Connection) -> None:
        _forks_close.discard(closed.socket_number)
        if closed.is_registered:
            self._ended.set()

    def _registration(self, token: str) -> Json:
        functions = self._functions
        capabilities = {
            "initialize": functions.initialize is not None,
            "decide": functions.should_restart is not None or functions.should_reinitialize is not None,
            "state": True,
            "endSession": functions.end_session is not None,
            "dispose": functions.dispose is not None,
        }
        return {
            "protocol": PROTOCOL,
            "token": token,
            "name": self.name,
            "version": self.version,
            "description": self.description,
            "tools": self._listing(),
            "pid": os.getpid(),
            "capabilities": {name: True for name, present in capabilities.items() if present},
        }

    def _listing(self) -> List[Json]:
        return [known.listing for known in self._tools.by_name.values()]

    def _tell_of_tools(self) -> None:
        if self._connection is not None and self._connection.is_registered:
            self._connection.notify("notifications/tools/list_changed", {})

    def _log_for(self, call_id: Optional[str]) -> Callable[[str, Json], None]:
        def emit(level: str, data: Json) -> None:
            params: Json = {"level": level, "logger": self.name, "data": _fields_of(data)}
            if call_id is not None:
                params["_meta"] = {"toolwright/call": {"callId": call_id}}
            try:
                self._connection.notify("notifications/message", params)
            except ToolError as error:
                _say(f"a log line was left out: {error.message}")

        return emit

    # Requests of the host.

    def _on_request(self, request_id: Any, method: str, params: Json) -> None:
        if request_id in self._calls:
            _say(f"a request with the id {_shortened(str(request_id))} of a call in flight was left out")
        elif method == "ping":
            self._connection.answer(request_id, {})
        elif method == "tools/call":
            self._start_call(request_id, params)
        else:
            task = self._loop.create_task(self._answer(request_id, method, params))
            self._tasks.add(task)  # the loop itself holds tasks weakly
            task.add_done_callback(self._tasks.discard)

    async def _answer(self, request_id: Any, method: str, params: Json) -> None:
        handlers = {
            "tools/list": self._list_tools,
            "provider/initialize": self._initialize,
            "provider/decide": self._decide,
            "provider/export_state": self._export_state,
            "provider/drain": self._drain,
            "provider/end_session": self._end_session,
            "provider/dispose": self._dispose,
        }
        handler = handlers.get(method)
        try:
            if handler is None:
                words = f'A provider has no method "{_shortened(method)}".'
                self._connection.refuse(request_id, _METHOD_NOT_FOUND, ToolError("PROTOCOL_VIOLATION", words))
            else:
                self._connection.answer(request_id, await handler(params))
        except Exception as error:
            self._connection.refuse(request_id, _FAILED, _error_of(error, f"{self.name}: {method}"))

    def _on_notification(self, method: str, params: Json) -> None:
        request_id = params.get("requestId")
        if method == "notifications/cancelled" and type(request_id) in (str, int, float):
            call = self._calls.get(request_id)
            if call is not None:
                call.cancel()

    async def _list_tools(self, params: Json) -> Json:
        return {"tools": self._listing()}

    async def _initialize(self, params: Json) -> Json:
        reason = str(params.get("reason", "start"))
        is_again = bool(params.get("isReinitialization", False))
        previous = self._state if reason == "config" else params.get("previousState")
        if self._functions.initialize is None:
            self._state = {} if previous is None else previous
            self._is_initialized = True
            return {}
        context = LifecycleContext(self._log, self._ending, self._state, reason, is_again)
        state = await self._run(self._functions.initialize, _settings(params), previous, context)
        self._state = {} if state is None else state
        self._is_initialized = True
        return {}

    async def _decide(self, params: Json) -> Json:
        old, new = (_settings(params.get(side)) for side in ("old", "new"))
        functions = self._functions
        if functions.should_restart is not None and await self._run(functions.should_restart, old, new):
            return {"restart": True, "reinitialize": False}
        again = functions.should_reinitialize is None or await self._run(functions.should_reinitialize, old, new)
        return {"restart": False, "reinitialize": bool(again)}

    async def _export_state(self, params: Json) -> Json:
        state, dropped = _carried_by_json(self._state)
        return {"state": state, "dropped": dropped}

    async def _drain(self, params: Json) -> Json:
        deadline = params.get("deadlineMs")
        seconds = max(0.0, deadline / 1_000) if isinstance(deadline, (int, float)) else _DRAIN_SECONDS
        try:
            await asyncio.wait_for(self._idle.wait(), min(seconds, _MAX_DRAIN_SECONDS))
        except asyncio.TimeoutError:
            pass
        return {"drained": not self._calls}

    async def _end_session(self, params: Json) -> Json:
        session_id = params.get("sessionId")
        if self._functions.end_session is not None and self._is_initialized and isinstance(session_id, str):
            context = LifecycleContext(self._log, self._ending, self._state, "end_session", False, session_id)
            await self._run(self._functions.end_session, context)
        return {}

    async def _dispose(self, params: Json) -> Json:
        """Runs the author's `dispose` once; whoever comes later waits for that one."""
        if self._disposal is None:
            self._disposal = self._loop.create_task(self._run_dispose())
        await asyncio.shield(self._disposal)
        return {}

    async def _run_dispose(self) -> None:
        if self._functions.dispose is not None and self._is_initialized:
            context = LifecycleContext(self._log, self._ending, self._state, "dispose")
            await self._run(self._functions.dispose, context)

    async def _run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """A function of the author's: in the event loop when it is asynchronous, else in a thread."""
        if inspect.iscoroutinefunction(function):
            return await _guarded(lambda: function(*arguments))
        done = self._loop.create_future()

        def settle(value: Any, error: Optional[BaseException]) -> None:
            if done.done():
                return
            if error is not None:
                done.set_exception(error)
            else:
                done.set_result(value)

        def job() -> None:
            try:
                value, error = function(*arguments), None
            except BaseException as thrown:
                value, error = None, _without_exit(thrown)
            self._connection._soon(settle, value, error)

        self._threads.run(job)
        return await done

    # Calls.

    def _start_call(self, request_id: Any, params: Json) -> None:
        name = params.get("name")
        called = self._tools.by_name.get(name) if isinstance(name, str) else None
        if called is None:
            near = _suggestion(str(name), self._tools.by_name, f"{self.name}.")
            words = f'The provider "{self.name}" has no tool "{_shortened(str(name))}"{near}'
            self._connection.refuse(request_id, _INVALID_PARAMS, ToolError("TOOL_NOT_FOUND", words))
            return
        if not self._is_initialized:
            early = ToolError("UNAVAILABLE", "provider/initialize must come before any call.")
            self._connection.refuse(request_id, _FAILED, early)
            return
        call = _Call(request_id, called, self._context(request_id, params.get("_meta")))
        try:
            run_tool = called.bound(called.parse(params.get("arguments", {})), call.context)
        except ToolError as error:
            self._connection.answer(request_id, _failure(error))
            return
        call.context._on_progress = self._progress_of(call, params.get("_meta"))
        self._calls[request_id] = call
        self._idle.clear()
        if called.is_async:
            call.task = self._loop.create_task(self._run_async(call, run_tool))
            call.task.add_done_callback(lambda task: self._settle_async(call, task))
            return
        self._busy_threads += 1

        def job() -> None:
            frame = self._outcome(call, lambda: self._run_unless_cancelled(call, run_tool))
            self._connection._soon(self._settle_thread, call, frame)

        try:
            self._threads.run(job)
        except RuntimeError as error:
            busy = ToolError("BUSY", f"The system gives no more threads: {_text_of(error)}.")
            self._settle_thread(call, self._connection.encode(_response(request_id, _failure(busy))))

    def _context(self, request_id: Any, meta: Any) -> Context:
        given = dict(meta) if isinstance(meta, dict) else {}
        given.pop("progressToken", None)
        ids = given.pop("toolwright/call", None)
        ids = ids if isinstance(ids, dict) else {}
        call_id, session_id = ids.get("callId"), ids.get("sessionId")
        call_id = call_id if isinstance(call_id, str) else str(request_id)
        return Context(
            call_id=call_id,
            session_id=session_id if isinstance(session_id, str) else None,
            meta=given or None,
            provider=self.name,
            log=Log(self._log_for(call_id)),
            get_state=lambda: self._state,
        )

    def _progress_of(self, call: _Call, meta: Any) -> Optional[Callable[[Json], None]]:
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        if token is None:
            return None

        def tell(progress: Json) -> None:
            if call.is_settled:
                return
            try:
                self._connection.notify("notifications/progress", {"progressToken": token, **progress})
            except ToolError as error:
                _say(f"a progress notice was left out: {error.message}")

        return tell

    async def _run_async(self, call: _Call, run_tool: Callable[[], Any]) -> bytes:
        output = await _guarded(run_tool)
        return self._outcome(call, lambda: output)  # now: what it returned may be changed by the next call

    def _run_unless_cancelled(self, call: _Call, run_tool: Callable[[], Any]) -> Any:
        call.context.check()  # it may have waited for a thread
        return run_tool()

    def _outcome(self, call: _Call, get_output: Callable[[], Any]) -> bytes:
        """The answer of a call as a frame, whatever the tool did. Runs in the thread of a `def` tool."""
        try:
            try:
                result = _result_of(call.tool, get_output())
                return self._connection.encode(_response(call.request_id, result))
            finally:
                call.is_settled = True
        except BaseException as thrown:
            if isinstance(thrown, asyncio.CancelledError):
                itself = ToolError("EXECUTION_FAILED", "The tool cancelled itself.")
                thrown = Cancelled() if call.context.cancelled else itself
            error = _error_of(thrown, f'{self.name}: the tool "{call.tool.name}"')
            return self._connection.encode(_response(call.request_id, _failure(error)))

    def _settle(self, call: _Call, frame: bytes) -> None:
        del self._calls[call.request_id]
        self._connection.write(frame)
        if not self._calls:
            self._idle.set()

    def _settle_async(self, call: _Call, task: asyncio.Task) -> None:
        failed = task.cancelled() or task.exception() is not None
        self._settle(call, self._outcome(call, task.result) if failed else task.result())

    def _settle_thread(self, call: _Call, frame: bytes) -> None:
        self._busy_threads -= 1
        self._settle(call, frame)

    # The end.

    async def _end(self) -> None:
        """Aborts what runs, and disposes, each for a limited time."""
        started = time.monotonic()
        self._on_end()
        self._ending.set()
        for call in list(self._calls.values()):
            call.cancel()
        try:
            await asyncio.wait_for(self._idle.wait(), _SETTLE_SECONDS)
        except asyncio.TimeoutError:
            pass
        try:
            await asyncio.wait_for(self._dispose({}), _DISPOSE_SECONDS - (time.monotonic() - started))
        except asyncio.TimeoutError:
            _say(f"dispose was left after {_DISPOSE_SECONDS:.0f} s")
        except Exception as error:
            _error_of(error, f"{self.name}: dispose")


def _response(request_id: Any, result: Json) -> Json:
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def _settings(given: Any) -> Settings:
    side = given if isinstance(given, dict) else {}
    return Settings(config=side.get("config") or {}, variables=side.get("variables") or {})


async def _guarded(function: Callable[[], Any]) -> Any:
    """Awaits a coroutine function. An exit in it is a failure: inside a task it would end the event loop."""
    try:
        return await function()
    except (KeyboardInterrupt, SystemExit) as thrown:
        raise _without_exit(thrown) from thrown


def _without_exit(thrown: BaseException) -> BaseException:
    if isinstance(thrown, Exception):
        return thrown
    return ToolError("EXECUTION_FAILED", f"It tried to end the process ({type(thrown).__name__}); a tool cannot.")


def _error_of(thrown: BaseException, where: str) -> ToolError:
    """What was thrown, as an error. The traceback of anything but a ToolError goes to stderr, and to no caller."""
    if isinstance(thrown, ToolError):
        return thrown
    try:
        _say(f"{where} failed")
        traceback.print_exception(type(thrown), thrown, thrown.__traceback__)
    except Exception:
        pass  # stderr is gone, or the exception cannot be shown
    return ToolError("EXECUTION_FAILED", _text_of(_without_exit(thrown)))


def _say(what: str) -> None:
    """To stderr, whose end the host keeps."""
    try:
        print(f"toolwright_provider: {what}", file=sys.stderr, flush=True)
    except (OSError, ValueError, AttributeError):
        pass  # there is no stderr


_forks_close: set = set()
"""File descriptors that no fork may keep; a child that executes a program has them closed by the system."""


def _forget_in_forks() -> None:
    """A fork without exec would keep the connection open after our end, and take our signals' meaning along."""

    def forget() -> None:
        for descriptor in _forks_close:
            try:
                os.close(descriptor)
            except OSError:
                pass  # closed in this moment
        _forks_close.clear()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forget)


# Running -------------------------------------------------------------------------------------------------------------


class _Host(NamedTuple):
    """Where the host listens, and the proof that it is this process that it has started."""

    address: str
    token: str


def _take_host() -> Optional[_Host]:
    """Reads and removes what the host put into the environment, so that no child of ours can register in our place."""
    address = os.environ.pop("TOOLWRIGHT_SOCKET", None)
    token = os.environ.pop("TOOLWRIGHT_TOKEN", "")
    os.environ.pop("TOOLWRIGHT_PROVIDER", None)
    return _Host(address, token) if address else None


_host = _take_host()


def run(
    name: str,
    *,
    version: str = "0.0.0",
    description: str = "",
    initialize: Optional[Callable[[Settings, Any, LifecycleContext], Any]] = None,
    should_restart: Optional[Callable[[Settings, Settings], Any]] = None,
    should_reinitialize: Optional[Callable[[Settings, Settings], Any]] = None,
    end_session: Optional[Callable[[LifecycleContext], Any]] = None,
    dispose: Optional[Callable[[LifecycleContext], Any]] = None,
) -> None:
    """Serves the tools of this process until the host closes the connection. Returns at once where there is no host.

    Each function may be `def` (it runs in a thread) or `async def`:

    - `initialize(current, previous, ctx)` returns the state that tools see as `ctx.state`, best a dict or a dataclass.
      `current` has `config` and `variables`; `previous` is the state before, as JSON, or None.
    - `should_restart(old, new)` and `should_reinitialize(old, new)` say what a change of the settings needs.
    - `end_session(ctx)` ends what the state keeps for the calls of `ctx.session_id`, which are over.
    - `dispose(ctx)` ends what the state holds. It has 2 s when the host is gone.

    When the connection closes or SIGTERM comes, calls are cancelled, `dispose` runs, and `run` returns; the process ends
    3 s later in any case. Raises ToolError INVALID_ARGUMENT for a wrong name; ends the process with code 1 when the host
    cannot be reached, and 78 when it refuses for good.
    """
    if not (isinstance(name, str) and _NAME.match(name)):
        raise ToolError("INVALID_ARGUMENT", f"A provider's name must be 1 to 64 of A-Z a-z 0-9 _ -, not {name!r}.")
    global _host
    host, _host = _host, None
    if host is None:
        return
    functions = _Functions(initialize, should_restart, should_reinitialize, end_session, dispose)
    leaving = _start_last_resort()
    provider = _Provider(name, version, description, functions, _registry, lambda: leaving.put(0))
    _end_on_signals(provider, leaving)
    _forget_in_forks()
    code = 0
    try:
        asyncio.run(provider.serve(host.address, host.token))
    except (ToolError, OSError) as error:
        _say(f'the provider "{name}" cannot serve: {_text_of(error)}')
        code = _exit_code_of(error)
    leaving.put(code)
    if provider.is_busy:
        _flush()
        os._exit(code)
    if code:
        raise SystemExit(code)


def _exit_code_of(error: Exception) -> int:
    """78 when the host refused for good, so that another start would end the same way; 1 otherwise."""
    details = error.details if isinstance(error, ToolError) else None
    return _REFUSED_EXIT_CODE if details and details.get("permanent") is True else 1


def _start_last_resort() -> queue.SimpleQueue:
    """A thread that ends the process some time after it is told to: whatever else runs then, it was asked to stop."""
    leaving: queue.SimpleQueue = queue.SimpleQueue()  # a queue, as a signal handler may put into it

    def wait() -> None:
        code = leaving.get()
        time.sleep(_EXIT_SECONDS)
        os._exit(code)

    threading.Thread(target=wait, name="toolwright-end", daemon=True).start()
    return leaving


def _end_on_signals(provider: _Provider, leaving: queue.SimpleQueue) -> None:
    def end(number: int, frame: Optional[FrameType]) -> None:
        leaving.put(0)
        provider.end_soon()

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, end)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass  # closed, or its reader is gone
