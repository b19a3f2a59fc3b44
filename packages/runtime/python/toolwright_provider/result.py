"""What a tool may return in addition to plain values."""

from __future__ import annotations

import dataclasses
from typing import Any, Optional, Sequence

from .errors import ToolError
from .json_values import Json


@dataclasses.dataclass(frozen=True)
class Directive:
    """An instruction to the engine, such as `Directive("inject_context", {"content": "…"})`."""

    type: str
    params: Json = dataclasses.field(default_factory=dict)

    def to_json(self) -> Json:
        return {"type": self.type, "params": self.params}


@dataclasses.dataclass
class Result:
    """The full form of a tool's result. With `error` it is a failure that keeps its content."""

    content: Optional[Sequence[Json]] = None
    """MCP content blocks. Default: `structured_content` as text."""
    structured_content: Any = None
    """A dict or a dataclass."""
    is_error: bool = False
    error: Optional[ToolError] = None
    directives: Sequence[Directive] = ()
    meta: Optional[Json] = None
