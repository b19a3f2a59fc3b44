"""Newline-delimited JSON: cutting bytes into frames, and reading and writing one frame within its limits."""

from __future__ import annotations

import json
import re
from typing import Any, Iterator, NamedTuple, NoReturn, Optional, Union

from .errors import ToolError
from .json_values import Json, encode_json
from .text import describe_exception

MAX_FRAME_BYTES = 16 * 1024 * 1024
"""A longer frame is skipped and answered with an error."""

HARD_FRAME_BYTES = 64 * 1024 * 1024
"""A frame longer than this ends the connection."""

MAX_DEPTH = 64

_HEAD_BYTES = 1_024
_MAX_DIGITS = 4_300
"""The limit of Python 3.11 and later: the time to read an integer grows with the square of its digits."""

_REQUEST_HEAD = re.compile(
    rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?'
    rb'(?:"method"\s*:\s*"[^"\\]*"\s*,\s*"id"\s*:\s*(?P<after>-?\d{1,15}|"[^"\\]{1,200}")\s*[,}]'
    rb'|"id"\s*:\s*(?P<before>-?\d{1,15}|"[^"\\]{1,200}")\s*,\s*"method"\s*:)'
)


class OversizedFrame(NamedTuple):
    """A frame over the soft limit, of which only the first bytes were retained."""

    head: bytes
    length: int

    def request_id(self) -> Union[str, int, None]:
        """The id of the request that the frame starts with, if its first bytes have one."""
        found = _REQUEST_HEAD.match(self.head)
        if found is None:
            return None
        request_id: Union[str, int] = json.loads((found["after"] or found["before"]).decode("utf-8", "replace"))
        return request_id


class FrameReader:
    """Cuts bytes into lines, in time linear in the bytes and in the memory of one frame."""

    def __init__(self) -> None:
        self.limit = MAX_FRAME_BYTES
        self._buffer = bytearray()
        self._length = 0

    def feed(self, chunk: bytes) -> Iterator[Union[bytes, OversizedFrame]]:
        """The frames that end in `chunk`, without blank lines. Raises ToolError for a frame over the hard limit."""
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            self._append(piece)
            frame, length = bytes(self._buffer), self._length
            self._buffer.clear()
            self._length = 0
            if length > self.limit:
                yield OversizedFrame(frame, length)
            elif frame.strip():
                yield frame
        self._append(rest)

    def _append(self, piece: bytes) -> None:
        self._length += len(piece)
        if self._length <= self.limit:
            self._buffer += piece
            return
        del self._buffer[_HEAD_BYTES:]
        self._buffer += piece[: _HEAD_BYTES - len(self._buffer)]
        if self._length > HARD_FRAME_BYTES:
            raise ToolError("FRAME_TOO_LARGE", f"A frame is longer than {HARD_FRAME_BYTES} bytes.")


def parse_frame(frame: bytes) -> Any:
    """The JSON value of a frame. Raises ValueError when it is not JSON, RecursionError when it is too deep."""
    return json.loads(frame.decode("utf-8"), parse_constant=_refuse_constant, parse_int=_parse_int)


def encode_frame(message: Json, max_bytes: int = MAX_FRAME_BYTES, max_depth: int = MAX_DEPTH) -> bytes:
    """A message as a frame. Raises ToolError when JSON cannot represent it, or when it exceeds a limit."""
    try:
        text = encode_json(message)
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolError("OUTPUT_INVALID", f"The answer is not JSON: {describe_exception(error)}.") from None
    try:
        frame = text.encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can represent only as an escape
        frame = json.dumps(json.loads(text), separators=(",", ":")).encode("ascii")
    if len(frame) > max_bytes:
        reason = f"The answer has {len(frame)} bytes; a frame has at most {max_bytes}. Return less, or a part."
        raise ToolError("FRAME_TOO_LARGE", reason)
    if is_deeper_frame(frame, None, max_depth):
        raise ToolError("OUTPUT_INVALID", f"The answer is nested deeper than {max_depth} levels.")
    return frame + b"\n"


def is_deeper_frame(frame: bytes, message: Optional[Json], limit: int) -> bool:
    """True when the frame is nested deeper than `limit`. `message` is its value; None parses it when needed.

    A frame with at most `limit` brackets cannot be, which decides for almost every frame without a walk.
    """
    if frame.count(b"{") + frame.count(b"[") <= limit:
        return False
    return is_deeper(json.loads(frame) if message is None else message, limit)


def is_deeper(value: Any, limit: int) -> bool:
    """True when arrays and objects are nested deeper than `limit`. Takes linear time and does not recurse."""
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


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _parse_int(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError("an integer with too many digits")
    return int(digits)
