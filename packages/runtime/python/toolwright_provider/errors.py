"""Errors with a code: what a tool raises, and how any other exception becomes one."""

from __future__ import annotations

import json
import sys
import traceback
from typing import Any, Awaitable, Callable, Mapping, Optional

from .json_values import Json, json_part
from .text import describe_exception, shorten

CODES = frozenset(
    """
    INVALID_ARGUMENT TOOL_NOT_FOUND NAME_CONFLICT PERMISSION_DENIED APPROVAL_REQUIRED NOT_FOUND OUTSIDE_PROJECT
    PROTECTED_PATH BINARY_FILE TOO_LARGE READ_REQUIRED FILE_CHANGED NO_MATCH MULTIPLE_MATCHES NO_CHANGE
    NOT_A_REPOSITORY LOCKED NO_SPACE CANCELLED TIMED_OUT NOT_CONNECTED CONNECTION_CLOSED PROTOCOL_VIOLATION
    FRAME_TOO_LARGE BUSY UNAVAILABLE OUTCOME_UNKNOWN SPAWN_FAILED PROCESS_EXITED RESTART_LIMIT EXECUTION_FAILED
    OUTPUT_INVALID INTERNAL
    """.split()
)
"""Every code that an error can have; docs/errors.md defines them."""

MAX_MESSAGE_LENGTH = 16_384
"""Characters of an error's message that are sent."""

_RETRYABLE = frozenset(("BUSY", "LOCKED", "UNAVAILABLE"))


class ToolError(Exception):
    """A failure with a code for the calling program and a message for the model: what failed, and what to do next.

    `retryable` means that the same call may succeed later and that repeating it is safe; by default it is true for
    BUSY, LOCKED and UNAVAILABLE. `details` is JSON. An unknown code becomes INTERNAL.
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
        """The plain form that results and JSON-RPC errors carry, without the details that JSON cannot represent."""
        info: Json = {
            "code": self.code,
            "message": shorten(self.message, MAX_MESSAGE_LENGTH),
            "retryable": self.retryable,
        }
        if self.details is not None:
            details, _ = json_part(dict(self.details))
            if len(json.dumps(details)) <= 4 * MAX_MESSAGE_LENGTH:
                info["details"] = details
        return info


class Cancelled(ToolError):
    """The caller no longer wants the answer. Raised by `Context.check`."""

    def __init__(self, message: str = "The call was cancelled.") -> None:
        super().__init__("CANCELLED", message)


def to_tool_error(raised: BaseException, source: str) -> ToolError:
    """An exception as a ToolError. The traceback of any other exception is printed to stderr and not sent."""
    if isinstance(raised, ToolError):
        return raised
    try:
        write_stderr(f"{source} failed")
        traceback.print_exception(type(raised), raised, raised.__traceback__)
    except Exception:
        pass  # stderr is closed, or the exception cannot be formatted
    return ToolError("EXECUTION_FAILED", describe_exception(exit_as_failure(raised)))


def exit_as_failure(raised: BaseException) -> BaseException:
    """`sys.exit()` and KeyboardInterrupt as failures of the function that raised them; other exceptions unchanged."""
    if isinstance(raised, Exception):
        return raised
    name = type(raised).__name__
    return ToolError("EXECUTION_FAILED", f"The function tried to end the process ({name}), which is not allowed.")


async def await_without_exit(function: Callable[[], Awaitable[Any]]) -> Any:
    """Awaits a coroutine function. Inside a task, an exit would end the event loop, so it becomes a failure."""
    try:
        return await function()
    except (KeyboardInterrupt, SystemExit) as raised:
        raise exit_as_failure(raised) from raised


def write_stderr(message: str) -> None:
    """Writes a line to stderr, whose last part the host keeps for its errors."""
    try:
        print(f"toolwright_provider: {message}", file=sys.stderr, flush=True)
    except (OSError, ValueError, AttributeError):
        pass  # stderr is closed or missing
