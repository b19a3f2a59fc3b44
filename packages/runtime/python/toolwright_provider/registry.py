"""The tools of this process: `@tool`, `add_tool` and `remove_tool`."""

from __future__ import annotations

import threading
import typing
from typing import Any, Callable, Dict, List, Optional, TypeVar

from .definition import ToolDefinition, ToolOptions
from .errors import ToolError
from .json_values import Json

Function = TypeVar("Function", bound=Callable[..., Any])


class Registry:
    """Tools by name. Any thread may add and remove them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tools: Dict[str, ToolDefinition] = {}
        self.on_change: Callable[[], None] = lambda: None

    def add(self, added: ToolDefinition) -> None:
        """Raises ToolError NAME_CONFLICT when another function has the name."""
        with self._lock:
            present = self._tools.get(added.name)
            if present is not None and not _same_source(present.function, added.function):
                message = f'Another function already defines the tool "{added.name}"; remove or rename one of them.'
                raise ToolError("NAME_CONFLICT", message)
            self._tools = {**self._tools, added.name: added}
        self.on_change()

    def remove(self, name: str) -> bool:
        with self._lock:
            remaining = {known: present for known, present in self._tools.items() if known != name}
            removed = len(remaining) < len(self._tools)
            self._tools = remaining
        if removed:
            self.on_change()
        return removed

    @property
    def by_name(self) -> Dict[str, ToolDefinition]:
        """The current tools; each change makes a new dict."""
        return self._tools


def _same_source(one: Callable[..., Any], other: Callable[..., Any]) -> bool:
    """True for two versions of one definition, as `importlib.reload` creates them."""
    places = [(getattr(f, "__module__", f), getattr(f, "__qualname__", f)) for f in (one, other)]
    return places[0] == places[1] and "<" not in str(places[0][1])


registry = Registry()


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
    """Makes a function a tool: `@tool` or `@tool(read_only=True)`. Returns the function unchanged.

    - The input schema comes from the type hints.
    - The output schema comes from a return annotation that is a TypedDict, a dataclass, a number, a boolean or a list
      of these, or from `output_schema`, which is listed and not enforced here. An output that is not an object is
      listed and sent as `{"result": …}`.
    - The description comes from the docstring, and those of the arguments from its `Args:` section.
    - `read_only`, `destructive`, `idempotent` and `open_world` are MCP's hints, with its pessimistic defaults.
    - `timeout_ms` is the deadline of a call that sets none.

    A `def` tool runs in a thread and may block. An `async def` tool runs in the event loop and must not block.

    Raises ToolError INVALID_ARGUMENT listing every fault, NAME_CONFLICT when another function has the name.
    """
    options = ToolOptions(
        name=name,
        title=title,
        description=description,
        read_only=read_only,
        destructive=destructive,
        idempotent=idempotent,
        open_world=open_world,
        output_schema=output_schema,
        icons=icons,
        meta=meta if timeout_ms is None else {**(meta or {}), "toolwright/timeoutMs": timeout_ms},
    )

    def register(decorated: Function) -> Function:
        registry.add(ToolDefinition(decorated, options))
        return decorated

    return register if function is None else register(function)


def add_tool(function: Callable[..., Any], **options: Any) -> None:
    """Adds a tool, also while the provider runs; `options` are those of `tool`. The host receives the changed list."""
    tool(**options)(function)


def remove_tool(name: str) -> bool:
    """Removes a tool. Calls of it that are running continue. False when no tool has that name."""
    return registry.remove(name)
