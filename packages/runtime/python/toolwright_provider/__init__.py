"""Toolwright providers in Python: functions become tools of a process that a host starts and calls over a socket.

    from toolwright_provider import run, tool

    @tool(read_only=True)
    def add(a: float, b: float) -> dict:
        '''Add two numbers.'''
        return {"sum": a + b}

    run("calculator", version="1.0.0")

Standard library only, Python 3.9 or later. `run` serves when a host has started the file as a provider, and returns
immediately otherwise, so that a unit test can import the file.

The names in `__all__` are the public interface; the modules of this package may change in any release.
"""

from .context import Context, LifecycleContext, Settings
from .errors import Cancelled, ToolError
from .log import Log
from .registry import add_tool, remove_tool, tool
from .result import Directive, Result
from .running import run

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
