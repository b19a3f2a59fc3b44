"""A function as a tool: how it is listed, how its arguments are read, what its output must be."""

from __future__ import annotations

import dataclasses
import inspect
import re
import typing
from typing import Any, Callable, Dict, List, Optional

from .coercion import Field, InvalidValue, TypeAdapter, object_of
from .context import Context
from .docstring import read_docstring
from .errors import ToolError
from .json_values import Json
from .schema import SchemaBuilder, is_object_class, with_default
from .text import describe_exception

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
"""Names of tools and providers."""

_MAX_SENT_ISSUES = 20


@dataclasses.dataclass(frozen=True)
class ToolOptions:
    """The options of `@tool`, which documents them."""

    name: Optional[str] = None
    title: Optional[str] = None
    description: Optional[str] = None
    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = True
    output_schema: Optional[Json] = None
    icons: Optional[List[Json]] = None
    meta: Optional[Json] = None


class ToolDefinition:
    """A tool. Raises ToolError INVALID_ARGUMENT, listing every fault, when the function cannot be one."""

    def __init__(self, function: Callable[..., Any], options: ToolOptions) -> None:
        self.function = function
        self.is_async = inspect.iscoroutinefunction(function)
        self.name: str = options.name or getattr(function, "__name__", "")
        docstring, described = read_docstring(inspect.getdoc(function) or "")
        description = options.description or docstring
        faults: List[str] = []
        if not (isinstance(self.name, str) and NAME.match(self.name)):
            faults.append(f"its name must be 1 to 64 of A-Z a-z 0-9 _ -, not {self.name!r}; set name=…")
        if not description.strip():
            faults.append("it needs a docstring or description=… that says what it does")
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            faults.append("it must return its result instead of yielding it")
        hints: Dict[str, Any] = {}
        try:
            hints = typing.get_type_hints(function, include_extras=True)
        except Exception as error:
            reason = f"its type hints cannot be evaluated: {describe_exception(error)}"
            faults.append(f"{reason}; before Python 3.10 write Optional[X]")
        self._context_names: List[str] = []
        self._arguments = self._read_parameters(hints, described, faults)
        self.output: Optional[TypeAdapter] = None
        """Validates the structured content, from the return annotation."""
        self.wraps_output = False
        """True for an output that is not an object: it is listed, validated and sent as `{"result": …}`."""
        output_schema = self._given_output(options.output_schema) or self._read_return(hints.get("return"), faults)
        self.has_output_schema = output_schema is not None
        if faults:
            raise ToolError("INVALID_ARGUMENT", f'The tool "{self.name}" cannot be defined: {"; ".join(faults)}.')
        self.listing: Json = {
            "name": self.name,
            "description": description,
            "inputSchema": self._arguments.schema,
            "annotations": {
                "readOnlyHint": options.read_only,
                "destructiveHint": options.destructive,
                "idempotentHint": options.idempotent,
                "openWorldHint": options.open_world,
            },
        }
        for key, value in (
            ("title", options.title),
            ("outputSchema", output_schema),
            ("icons", options.icons),
            ("_meta", options.meta),
        ):
            if value is not None:
                self.listing[key] = value

    def parse(self, arguments: Any) -> Any:
        """The arguments as Python values. Raises ToolError INVALID_ARGUMENT that lists every fault."""
        try:
            return self._arguments.parse(arguments, True)
        except InvalidValue as invalid:
            sent = invalid.issues[:_MAX_SENT_ISSUES]
            issues = [{"path": [str(key) for key in path], "message": message} for path, message in sent]
            message = f'Wrong arguments for "{self.name}": {invalid.summary()}.'
            raise ToolError("INVALID_ARGUMENT", message, details={"issues": issues}) from None

    def bind(self, arguments: Json, context: Context) -> Callable[[], Any]:
        """The call as a function without parameters."""
        bound = {**arguments, **{name: context for name in self._context_names}}
        return lambda: self.function(**bound)

    def _read_parameters(self, hints: Json, described: Dict[str, str], faults: List[str]) -> TypeAdapter:
        builder = SchemaBuilder()
        fields: Dict[str, Field] = {}
        others: Optional[TypeAdapter] = None
        for parameter in inspect.signature(self.function).parameters.values():
            name, hint = parameter.name, hints.get(parameter.name, Any)
            if hint is Context or Context in typing.get_args(hint):
                self._context_names.append(name)
                continue
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
                faults.append(f"its parameter {name} must accept a keyword argument")
                continue
            if name == "self" and not fields:
                faults.append("it is a method without its object; pass object.method to add_tool()")
                continue
            try:
                adapter = builder.adapter_for(hint)
            except Exception as error:
                faults.append(f"its parameter {name}: {describe_exception(error)}")
                continue
            if parameter.kind is parameter.VAR_KEYWORD:
                others = adapter
                continue
            if name in described and "description" not in adapter.schema:
                adapter = TypeAdapter({**adapter.schema, "description": described[name]}, adapter.parse)
            fields[name] = Field(with_default(adapter, parameter.default), parameter.default is parameter.empty)
        arguments = object_of(fields, dict, others)
        return TypeAdapter(builder.with_definitions(arguments.schema), arguments.parse)

    def _given_output(self, schema: Optional[Json]) -> Optional[Json]:
        """`output_schema` as it is listed: one of another type than object becomes that of `{"result": …}`."""
        if not schema or schema.get("type") == "object" or ("type" not in schema and "properties" in schema):
            return schema
        self.wraps_output = True
        inner = {key: value for key, value in schema.items() if key not in ("$schema", "$defs")}
        outer = {key: value for key, value in schema.items() if key in ("$schema", "$defs")}
        return {**outer, "type": "object", "properties": {"result": inner}, "required": ["result"]}

    def _read_return(self, hint: Any, faults: List[str]) -> Optional[Json]:
        """The output schema of a return annotation.

        A TypedDict or a dataclass has its schema. A number, a boolean, and a list of these, of strings or of such
        classes have that of `{"result": …}`. A list of dicts has none, as it may be content blocks.
        """
        items = typing.get_args(hint)[:1] if typing.get_origin(hint) is list else ()
        self.wraps_output = hint in (int, float, bool) or any(
            item in (int, float, bool, str) or is_object_class(item) for item in items
        )
        if not self.wraps_output and not is_object_class(hint):
            return None
        builder = SchemaBuilder()
        try:
            if not self.wraps_output:
                self.output = builder.adapter_for(hint)
                return builder.root_schema(hint)
            self.output = object_of({"result": Field(builder.adapter_for(hint), True)}, dict)
            return builder.with_definitions(self.output.schema)
        except Exception as error:
            faults.append(f"its return annotation: {describe_exception(error)}")
            return None
