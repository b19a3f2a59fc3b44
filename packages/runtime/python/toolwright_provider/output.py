"""MCP results from what tools return, and from errors."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import json
from typing import Any, Dict, List

from .coercion import InvalidValue
from .definition import ToolDefinition
from .errors import MAX_MESSAGE_LENGTH, ToolError
from .json_values import Json, encode_json
from .result import Directive, Result
from .text import describe_exception, shorten

_BLOCK_FIELDS: Dict[str, Dict[str, type]] = {
    "text": {"text": str},
    "image": {"data": str, "mimeType": str},
    "audio": {"data": str, "mimeType": str},
    "resource_link": {"uri": str},
    "resource": {"resource": dict},
}
_RESULT_KEYS = frozenset(("content", "structuredContent", "isError", "_meta"))


def to_result(definition: ToolDefinition, output: Any) -> Json:
    """The MCP result of a tool's return value. Raises ToolError OUTPUT_INVALID."""
    result = _any_result(definition, output)
    if definition.has_output_schema and not result["isError"] and "structuredContent" not in result:
        raise _invalid(definition, "returned no structured content although it declares an output schema")
    return result


def to_error_result(error: ToolError) -> Json:
    """The result of a failed call: the message for the model, the code for the program."""
    return {"content": [_error_block(error)], "isError": True, "_meta": {"toolwright/error": error.to_json()}}


def _any_result(definition: ToolDefinition, output: Any) -> Json:
    if definition.wraps_output and not isinstance(output, (Result, Directive)):
        return _wrapped(definition, output)
    if output is None:
        return {"content": [], "isError": False}
    if isinstance(output, str):
        text = output.value if isinstance(output, enum.Enum) else str(output)
        return {"content": [{"type": "text", "text": text}], "isError": False}
    if isinstance(output, Result):
        return _full_result(definition, output)
    if isinstance(output, Directive):
        return _full_result(definition, Result(directives=[output]))
    if isinstance(output, (list, tuple)) and output and all(map(_is_known_block, output)):
        return {"content": list(output), "isError": False}
    if _is_mcp_result(output):
        content, structured = output.get("content"), output.get("structuredContent")
        failed = output.get("isError", False)
        return _full_result(definition, Result(content, structured, failed, meta=output.get("_meta")))
    if isinstance(output, dict) or (dataclasses.is_dataclass(output) and not isinstance(output, type)):
        return _structured(definition, output)
    if inspect.iscoroutine(output):
        output.close()
        raise _invalid(definition, "returned a coroutine; write `async def`")
    return _wrapped(definition, output)


def _wrapped(definition: ToolDefinition, output: Any) -> Json:
    """A value that is not an object as `{"result": value}`. The text is that of the value."""
    result = _structured(definition, {"result": output})
    text = output if isinstance(output, str) else encode_json(output)
    return {**result, "content": [{"type": "text", "text": text}]}


def _structured(definition: ToolDefinition, output: Any, is_error: bool = False) -> Json:
    try:
        text = encode_json(output)
    except (TypeError, ValueError, RecursionError) as error:
        reason = f"returned a value that JSON cannot represent: {describe_exception(error)}"
        raise _invalid(definition, reason) from None
    structured = json.loads(text)
    if type(structured) is not dict:
        raise _invalid(definition, "returned structured content that is not an object")
    if definition.output is not None and not is_error:
        try:
            definition.output.parse(structured, False)
        except InvalidValue as invalid:
            reason = f"returned an output that does not match its schema: {invalid.summary()}"
            raise _invalid(definition, reason) from None
    return {"content": [{"type": "text", "text": text}], "structuredContent": structured, "isError": is_error}


def _full_result(definition: ToolDefinition, output: Result) -> Json:
    is_error = bool(output.is_error) or output.error is not None
    result: Json = {"content": [], "isError": is_error}
    if output.structured_content is not None:
        result = _structured(definition, output.structured_content, is_error)
    if output.content is not None:
        result["content"] = _blocks(definition, output.content)
    meta = dict(output.meta or {})
    if is_error:
        text = "\n".join(block["text"] for block in result["content"] if block.get("type") == "text")
        error = output.error or ToolError("EXECUTION_FAILED", text or "The tool reported a failure without a message.")
        if not result["content"]:
            result["content"] = [_error_block(error)]
        meta["toolwright/error"] = error.to_json()
    if output.directives:
        if not all(isinstance(directive, Directive) for directive in output.directives):
            raise _invalid(definition, "returned a directive that is not a Directive")
        meta["toolwright/directives"] = [directive.to_json() for directive in output.directives]
    if meta:
        result["_meta"] = meta
    return result


def _error_block(error: ToolError) -> Json:
    return {"type": "text", "text": f"[{error.code}] {shorten(error.message, MAX_MESSAGE_LENGTH)}"}


def _invalid(definition: ToolDefinition, reason: str) -> ToolError:
    return ToolError("OUTPUT_INVALID", f'"{definition.name}" ran and {reason}.')


def _blocks(definition: ToolDefinition, content: Any) -> List[Json]:
    blocks = list(content) if isinstance(content, (list, tuple)) else [content]
    if not all(map(_is_block, blocks)):
        expected = 'content blocks such as {"type": "text", "text": "…"}'
        raise _invalid(definition, f"returned content other than {expected}")
    return blocks


def _is_block(block: Any) -> bool:
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        return False
    fields = _BLOCK_FIELDS.get(block["type"], {})
    return all(isinstance(block.get(name), expected) for name, expected in fields.items())


def _is_known_block(block: Any) -> bool:
    """For a bare list, whose items may be rows of data that have a `type` too."""
    return isinstance(block, dict) and block.get("type") in _BLOCK_FIELDS and _is_block(block)


def _is_mcp_result(output: Any) -> bool:
    """True for a dict with no other keys than those of an MCP result, and with blocks as its content."""
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
