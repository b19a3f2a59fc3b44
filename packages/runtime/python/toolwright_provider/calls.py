"""The calls of a provider: running a tool in the event loop or a thread, cancelling it, answering once."""

from __future__ import annotations

import asyncio
from typing import Any, Callable, Dict, Optional

from .connection import Connection, response
from .context import Context
from .definition import ToolDefinition
from .errors import Cancelled, ToolError, await_without_exit, to_tool_error, write_stderr
from .json_values import Json
from .output import to_error_result, to_result
from .registry import Registry
from .text import describe_exception, shorten, suggest
from .threads import ThreadPool, call_in_loop


class Call:
    """A call in flight."""

    def __init__(self, request_id: Any, definition: ToolDefinition, context: Context) -> None:
        self.request_id = request_id
        self.definition = definition
        self.context = context
        self.task: Optional[asyncio.Task[bytes]] = None
        self.is_settled = False

    def cancel(self) -> None:
        self.context.signal.set()
        if self.task is not None:
            self.task.cancel()


class Calls:
    """The calls in flight, by the id of their request. It belongs to the event loop."""

    def __init__(self, provider_name: str, tools: Registry, threads: ThreadPool) -> None:
        self.busy_threads = 0
        self._provider_name = provider_name
        self._tools = tools
        self._threads = threads
        self._loop = asyncio.get_running_loop()
        self._calls: Dict[Any, Call] = {}
        self._idle = asyncio.Event()
        self._idle.set()

    def __contains__(self, request_id: Any) -> bool:
        return request_id in self._calls

    async def wait_until_idle(self, seconds: float) -> bool:
        """True when no call is running, false when some still are after this time."""
        try:
            await asyncio.wait_for(self._idle.wait(), seconds)
        except asyncio.TimeoutError:
            pass
        return not self._calls

    def cancel(self, request_id: Any) -> None:
        call = self._calls.get(request_id)
        if call is not None:
            call.cancel()

    def cancel_all(self) -> None:
        for call in list(self._calls.values()):
            call.cancel()

    def find(self, name: Any) -> ToolDefinition:
        """Raises ToolError TOOL_NOT_FOUND."""
        definition = self._tools.by_name.get(name) if isinstance(name, str) else None
        if definition is None:
            suggestion = suggest(str(name), self._tools.by_name, f"{self._provider_name}.")
            reason = f'The provider "{self._provider_name}" has no tool "{shorten(str(name))}"{suggestion}'
            raise ToolError("TOOL_NOT_FOUND", reason)
        return definition

    def start(
        self, connection: Connection, definition: ToolDefinition, request_id: Any, params: Json, context: Context
    ) -> None:
        """Starts a call, which answers its request once, on this connection."""
        call = Call(request_id, definition, context)
        try:
            run_tool = definition.bind(definition.parse(params.get("arguments", {})), context)
        except ToolError as error:
            connection.answer(request_id, to_error_result(error))
            return
        context._on_progress = _progress_sender(connection, call, params.get("_meta"))
        self._calls[request_id] = call
        self._idle.clear()
        if definition.is_async:
            self._start_task(connection, call, run_tool)
        else:
            self._start_thread(connection, call, run_tool)

    def _start_task(self, connection: Connection, call: Call, run_tool: Callable[[], Any]) -> None:
        async def run() -> bytes:
            output = await await_without_exit(run_tool)
            return self._frame(connection, call, lambda: output)  # now, as the next call may change the output

        def settle(task: asyncio.Task[bytes]) -> None:
            failed = task.cancelled() or task.exception() is not None
            self._settle(connection, call, self._frame(connection, call, task.result) if failed else task.result())

        call.task = self._loop.create_task(run())
        call.task.add_done_callback(settle)

    def _start_thread(self, connection: Connection, call: Call, run_tool: Callable[[], Any]) -> None:
        def settle(frame: bytes) -> None:
            self.busy_threads -= 1
            self._settle(connection, call, frame)

        def run() -> Any:
            call.context.check()  # it may have been cancelled while it waited for a thread
            return run_tool()

        self.busy_threads += 1
        try:
            self._threads.run(lambda: call_in_loop(self._loop, settle, self._frame(connection, call, run)))
        except RuntimeError as error:
            busy = ToolError("BUSY", f"The system cannot start another thread: {describe_exception(error)}.")
            settle(connection.encode(response(call.request_id, to_error_result(busy))))

    def _frame(self, connection: Connection, call: Call, get_output: Callable[[], Any]) -> bytes:
        """The answer of a call as a frame, whether the tool returns or raises. Runs in the thread of a `def` tool."""
        try:
            try:
                result = to_result(call.definition, get_output())
                return connection.encode(response(call.request_id, result))
            finally:
                call.is_settled = True
        except BaseException as raised:
            if isinstance(raised, asyncio.CancelledError):
                by_itself = ToolError("EXECUTION_FAILED", "The tool cancelled its own task.")
                raised = Cancelled() if call.context.cancelled else by_itself
            error = to_tool_error(raised, f'{self._provider_name}: the tool "{call.definition.name}"')
            return connection.encode(response(call.request_id, to_error_result(error)))

    def _settle(self, connection: Connection, call: Call, frame: bytes) -> None:
        del self._calls[call.request_id]
        connection.write(frame)
        if not self._calls:
            self._idle.set()


def _progress_sender(connection: Connection, call: Call, meta: Any) -> Optional[Callable[[Json], None]]:
    """Sends a call's progress until its answer; None when the caller requested no progress."""
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    if token is None:
        return None

    def send(progress: Json) -> None:
        if call.is_settled:
            return
        try:
            connection.notify("notifications/progress", {"progressToken": token, **progress})
        except ToolError as error:
            write_stderr(f"dropped a progress notification: {error.message}")

    return send
