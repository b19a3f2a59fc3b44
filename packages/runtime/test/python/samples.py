"""Types of the kinds that a tool's parameters may have, and the definition of a tool that is not registered."""

from __future__ import annotations

import dataclasses
import enum
import typing
from typing import Any, List

from toolwright_provider import registry as tools
from toolwright_provider import tool
from toolwright_provider.definition import ToolDefinition
from toolwright_provider.registry import Registry


def define(function: Any, **options: Any) -> ToolDefinition:
    """The definition of a function as a tool, without registering it."""
    registry, tools.registry = tools.registry, Registry()
    try:
        tool(**options)(function)
        return next(iter(tools.registry.by_name.values()))
    finally:
        tools.registry = registry


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0
    label: typing.Annotated[str, "What to call it."] = ""


@dataclasses.dataclass
class Tree:
    name: str
    children: List[Tree] = dataclasses.field(default_factory=list)


class Options(typing.TypedDict, total=False):
    deep: bool
    limit: int


class Sum(typing.TypedDict):
    sum: float


@dataclasses.dataclass
class Even:
    n: int

    def __post_init__(self) -> None:
        if self.n % 2:
            raise ValueError("n must be even")
