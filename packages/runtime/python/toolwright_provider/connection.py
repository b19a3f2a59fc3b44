"""The connection to the host: JSON-RPC 2.0 over a socket or named pipe."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Optional, Union

from .errors import ToolError, write_stderr
from .frames import (
    HARD_FRAME_BYTES,
    MAX_DEPTH,
    MAX_FRAME_BYTES,
    FrameReader,
    OversizedFrame,
    encode_frame,
    is_deeper_frame,
    parse_frame,
)
from .json_values import Json
from .text import describe_exception, shorten
from .threads import call_in_loop

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, REQUEST_FAILED = -32700, -32600, -32601, -32602, -32000

_MAX_BAD_FRAMES = 10
_QUEUE_BYTES = 16 * 1024 * 1024
_MAX_BATCHED_FRAME_BYTES = 64 * 1024
"""A longer frame is written without waiting for others of the same turn."""
_MAX_QUEUED_NOTIFICATIONS = 1_000
"""Notifications of threads that wait for the event loop. At the limit, a thread waits for up to a second."""
_CLOSE_SECONDS = 0.5


def response(request_id: Any, result: Json) -> Json:
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


class Connection(asyncio.Protocol):
    """One connection. It belongs to the event loop; only `notify` and `encode` may be called from other threads."""

    def __init__(
        self,
        on_request: Callable[[Any, str, Json], None],
        on_notification: Callable[[str, Json], None],
        on_close: Callable[[Connection], None],
    ) -> None:
        self.is_registered = False
        self.max_frame_bytes = MAX_FRAME_BYTES
        self.max_depth = MAX_DEPTH
        self.socket_number = -1
        """The file descriptor of the socket; -1 for a named pipe, which child processes do not inherit."""
        self._on_request = on_request
        self._on_notification = on_notification
        self._on_close = on_close
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._closed: asyncio.Future[None] = self._loop.create_future()
        self._transport: Any = None
        self._reader = FrameReader()
        self._bad_frames = 0
        self._requests: Dict[str, asyncio.Future[Json]] = {}
        self._refusal: Optional[ToolError] = None
        self._is_paused = False
        self._queued: Deque[bytes] = deque()
        self._batch: List[bytes] = []
        self._notification_slots = threading.BoundedSemaphore(_MAX_QUEUED_NOTIFICATIONS)

    # asyncio calls these.

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        sock = transport.get_extra_info("socket")
        if sock is not None:
            self.socket_number = sock.fileno()
        transport.set_write_buffer_limits(high=_QUEUE_BYTES)

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._reader.feed(data):
                if self._transport.is_closing():
                    return
                self._on_frame(frame)
        except ToolError as error:
            self.close(error)

    def pause_writing(self) -> None:
        self._is_paused = True

    def resume_writing(self) -> None:
        self._is_paused = False
        self._flush()
        while self._queued and not self._is_paused:
            self._transport.write(self._queued.popleft())

    def connection_lost(self, exc: Optional[BaseException]) -> None:
        self._fail_requests(self._refusal or ToolError("CONNECTION_CLOSED", "The host closed the connection."))
        self._queued.clear()
        self._closed.set_result(None)
        self._on_close(self)

    # The provider calls these.

    def close(self, reason: Optional[ToolError] = None) -> None:
        if reason is not None:
            write_stderr(f"closing the connection: {reason.message}")
        self._flush()
        self._transport.close()

    async def flush_and_close(self) -> None:
        """Closes after everything written has been sent, or after half a second if the host does not read."""
        self.close()
        await asyncio.wait([self._closed], timeout=_CLOSE_SECONDS)
        if not self._closed.done():
            self._transport.abort()

    def apply_limits(self, limits: Any) -> None:
        """Marks the connection as registered and applies the host's limits, within the bounds of this side."""
        self.is_registered = True
        if not isinstance(limits, dict):
            return
        max_bytes, depth = limits.get("maxFrameBytes"), limits.get("maxDepth")
        if type(max_bytes) is int and 1_024 <= max_bytes <= HARD_FRAME_BYTES:
            self.max_frame_bytes = self._reader.limit = max_bytes
        if type(depth) is int and 8 <= depth <= 256:
            self.max_depth = depth

    def answer(self, request_id: Any, result: Json) -> None:
        self.write(self.encode(response(request_id, result)))

    def refuse(self, request_id: Any, number: int, error: ToolError) -> None:
        """Answers with a JSON-RPC error."""
        info = error.to_json()
        rpc_error = {"code": number, "message": info["message"], "data": info}
        self.write(self.encode({"jsonrpc": "2.0", "id": request_id, "error": rpc_error}))

    def encode(self, message: Json) -> bytes:
        """A message as a frame within the host's limits. From any thread. Raises ToolError."""
        return encode_frame(message, self.max_frame_bytes, self.max_depth)

    def write(self, frame: bytes) -> None:
        """Writes a frame; does nothing when the connection is closed.

        Frames of one turn of the event loop are sent together. While the host does not read, they are queued.
        """
        if self._transport.is_closing():
            return
        if self._is_paused:
            self._queued.append(frame)
            return
        self._batch.append(frame)
        if len(frame) > _MAX_BATCHED_FRAME_BYTES:
            self._flush()
        elif len(self._batch) == 1:
            self._loop.call_soon(self._flush)

    async def request(self, method: str, params: Json) -> Json:
        """Sends a request and returns its result. Raises ToolError."""
        if self._refusal is not None:
            raise self._refusal
        request_id = f"p{len(self._requests) + 1}"
        answered = self._requests[request_id] = self._loop.create_future()
        self.write(self.encode({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}))
        return await answered

    def notify(self, method: str, params: Json) -> None:
        """Sends a notification, from any thread and in order. It is dropped while the host does not read."""
        frame = self.encode({"jsonrpc": "2.0", "method": method, "params": params})
        if threading.get_ident() == self._thread:
            self._write_notification(frame)
        elif self._notification_slots.acquire(timeout=1.0):
            call_in_loop(self._loop, self._write_queued_notification, frame)

    def _write_queued_notification(self, frame: bytes) -> None:
        self._notification_slots.release()
        self._write_notification(frame)

    def _write_notification(self, frame: bytes) -> None:
        if not self._is_paused:
            self.write(frame)

    def _flush(self) -> None:
        batch, self._batch = self._batch, []
        if batch and not self._transport.is_closing():
            self._transport.write(batch[0] if len(batch) == 1 else b"".join(batch))

    # What the host sends.

    def _on_frame(self, frame: Union[bytes, OversizedFrame]) -> None:
        if isinstance(frame, OversizedFrame):
            self._refuse_oversized(frame)
            return
        try:
            message = parse_frame(frame)
        except (ValueError, RecursionError) as error:
            self._bad_frames += 1
            reason = f"A frame is not JSON: {shorten(describe_exception(error), 200)}."
            self.refuse(None, PARSE_ERROR, ToolError("PROTOCOL_VIOLATION", reason))
            if self._bad_frames >= _MAX_BAD_FRAMES:
                self.close(ToolError("PROTOCOL_VIOLATION", f"{_MAX_BAD_FRAMES} frames were not JSON."))
            return
        if not isinstance(message, dict):
            self.refuse(None, INVALID_REQUEST, ToolError("PROTOCOL_VIOLATION", "A message must be a JSON object."))
        elif "method" in message:
            self._on_request_message(message, frame)
        else:
            self._on_response(message)

    def _on_request_message(self, message: Json, frame: bytes) -> None:
        request_id, method, params = message.get("id"), message["method"], message.get("params", {})
        is_id = type(request_id) in (str, int, float)
        if ("id" in message and not is_id) or not isinstance(method, str) or not isinstance(params, dict):
            reason = "A request must have a string as method, an object as params, and a string or number as id."
            self.refuse(request_id if is_id else None, INVALID_REQUEST, ToolError("PROTOCOL_VIOLATION", reason))
        elif is_deeper_frame(frame, message, self.max_depth):
            if is_id:
                reason = f"The message is nested deeper than {self.max_depth} levels."
                self.refuse(request_id, REQUEST_FAILED, ToolError("INVALID_ARGUMENT", reason))
        elif is_id:
            self._on_request(request_id, method, params)
        else:
            self._on_notification(method, params)

    def _on_response(self, message: Json) -> None:
        request_id, error, result = message.get("id"), message.get("error"), message.get("result")
        if request_id is None and isinstance(error, dict):
            self._refusal = _error_from(error)  # BUSY, which may arrive before any request was sent
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

    def _refuse_oversized(self, frame: OversizedFrame) -> None:
        reason = f"A frame of {frame.length} bytes is longer than {self._reader.limit} bytes; send less in one message."
        request_id = frame.request_id()
        if request_id is None:
            write_stderr(reason)
        else:
            self.refuse(request_id, REQUEST_FAILED, ToolError("FRAME_TOO_LARGE", reason))


def _error_from(error: Json) -> ToolError:
    """The ToolError of a JSON-RPC error."""
    data = error.get("data")
    info = data if isinstance(data, dict) else {}
    details = info.get("details")
    return ToolError(
        str(info.get("code", "PROTOCOL_VIOLATION")),
        str(error.get("message")),
        bool(info.get("retryable")),
        details if isinstance(details, dict) else None,
    )
