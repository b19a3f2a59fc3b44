"""Log messages of a provider: what tools write with, and how their fields are sent."""

from __future__ import annotations

import json
from typing import Any, Callable

from .json_values import Json
from .text import safe_repr


class Log:
    """Writes to the host's log. Fields are JSON; values that JSON cannot represent are sent as their `repr`."""

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


def log_fields(data: Json) -> Json:
    """The fields of a log message as JSON, with the `repr` of what JSON cannot represent."""
    fields: Json = {}
    for name, value in data.items():
        try:
            fields[name] = json.loads(json.dumps(value, default=safe_repr, allow_nan=False))
        except (TypeError, ValueError, RecursionError):
            fields[name] = safe_repr(value)
    return fields
