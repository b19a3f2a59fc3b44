"""A provider: registration with the host, the lifecycle functions of its author, and the end of its process."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import os
import random
import sys
import threading
import time
from typing import Any, Awaitable, Callable, Dict, List, Optional, Set

from .calls import Calls
from .connection import INVALID_PARAMS, METHOD_NOT_FOUND, REQUEST_FAILED, Connection
from .context import Context, LifecycleContext, Settings
from .errors import ToolError, await_without_exit, exit_as_failure, to_tool_error, write_stderr
from .forks import descriptors_to_close
from .json_values import Json, json_part
from .log import Log, log_fields
from .registry import Registry
from .text import shorten
from .threads import ThreadPool, call_in_loop

PROTOCOL = 1

_HANDSHAKE_SECONDS = 15.0
_CONNECT_SECONDS = 2.0
_RETRY_SECONDS = 0.05
_DRAIN_SECONDS = 30.0
_MAX_DRAIN_SECONDS = 600.0
_SETTLE_SECONDS = 0.5
_DISPOSE_SECONDS = 2.0


@dataclasses.dataclass(frozen=True)
class LifecycleFunctions:
    """The functions passed to `run`, which documents them."""

    initialize: Optional[Callable[..., Any]] = None
    should_restart: Optional[Callable[..., Any]] = None
    should_reinitialize: Optional[Callable[..., Any]] = None
    end_session: Optional[Callable[..., Any]] = None
    dispose: Optional[Callable[..., Any]] = None


class Provider:
    """One provider, from registration to the end of the process."""

    def __init__(
        self,
        name: str,
        version: str,
        description: str,
        functions: LifecycleFunctions,
        tools: Registry,
        on_end: Callable[[], None],
    ) -> None:
        self.name = name
        self.version = version
        self.description = description
        self._functions = functions
        self._tools = tools
        self._on_end = on_end
        self._is_initialized = False
        self._connection: Any = None
        self._calls: Any = None
        self._state: Any = {}
        self._threads = ThreadPool()
        self._ending = threading.Event()
        self._disposal: Optional[asyncio.Task[None]] = None
        self._tasks: Set[asyncio.Task[None]] = set()
        self._log = Log(self._log_emitter(None))

    @property
    def is_busy(self) -> bool:
        """True while a thread runs a tool: an interpreter that exits under it may crash."""
        return self._calls is not None and self._calls.busy_threads > 0

    async def serve(self, address: str, token: str) -> None:
        """Registers, and serves until the connection closes or `end_soon` is called. Raises ToolError, OSError."""
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._calls = Calls(self.name, self._tools, self._threads)
        self._tools.on_change = self._notify_tools_changed
        try:
            await asyncio.wait_for(self._register(address, token), _HANDSHAKE_SECONDS)
            await self._ended.wait()
            await self._end()
        except asyncio.TimeoutError:
            reason = f"The host did not answer the registration within {_HANDSHAKE_SECONDS:.0f} s."
            raise ToolError("TIMED_OUT", reason) from None
        finally:
            self._on_end()
            self._tools.on_change = lambda: None
            if self._connection is not None:
                await self._connection.flush_and_close()

    def end_soon(self) -> None:
        """Makes `serve` return. For a signal handler."""
        self._ending.set()
        try:
            self._loop.call_soon_threadsafe(self._ended.set)
        except (AttributeError, RuntimeError):
            pass  # not serving yet, or not any more

    # Registration.

    async def _register(self, address: str, token: str) -> None:
        """Connects and registers. Retries for 2 s while the connection fails, and while the host is busy."""
        deadline = time.monotonic() + _CONNECT_SECONDS
        while not self._ended.is_set():
            try:
                self._connection = await self._connect(address)
                listed = self._tools.by_name
                answer = await self._connection.request("provider/register", self._registration(token))
            except (FileNotFoundError, ConnectionError, BlockingIOError):
                if time.monotonic() > deadline:
                    raise
            except ToolError as error:
                self._connection.close()
                # A busy host may have closed the connection before the request was written, and its answer is lost.
                is_closed = error.code == "CONNECTION_CLOSED" and time.monotonic() < deadline
                if error.code != "BUSY" and not is_closed:
                    raise
            else:
                if answer.get("protocol") != PROTOCOL:
                    versions = f"The host uses protocol {answer.get('protocol')!r}, toolwright_provider uses {PROTOCOL}"
                    raise ToolError("PROTOCOL_VIOLATION", f"{versions}; install both from one release.")
                self._connection.apply_limits(answer.get("limits"))
                if self._tools.by_name is not listed:
                    self._notify_tools_changed()
                return
            await asyncio.sleep(_RETRY_SECONDS * (1 + 4 * random.random()))

    async def _connect(self, address: str) -> Connection:
        def create() -> Connection:
            return Connection(self._on_request, self._on_notification, self._on_close)

        loop: Any = self._loop
        if sys.platform == "win32":
            _, connection = await loop.create_pipe_connection(create, address)
        else:
            _, connection = await loop.create_unix_connection(create, address)
            descriptors_to_close.add(connection.socket_number)
        return connection  # type: ignore[no-any-return]

    def _on_close(self, closed: Connection) -> None:
        descriptors_to_close.discard(closed.socket_number)
        if closed.is_registered:
            self._ended.set()

    def _registration(self, token: str) -> Json:
        functions = self._functions
        capabilities = {
            "initialize": functions.initialize is not None,
            "decide": functions.should_restart is not None or functions.should_reinitialize is not None,
            "state": True,
            "endSession": functions.end_session is not None,
            "dispose": functions.dispose is not None,
        }
        return {
            "protocol": PROTOCOL,
            "token": token,
            "name": self.name,
            "version": self.version,
            "description": self.description,
            "tools": self._listing(),
            "pid": os.getpid(),
            "capabilities": {name: True for name, present in capabilities.items() if present},
        }

    def _listing(self) -> List[Json]:
        return [definition.listing for definition in self._tools.by_name.values()]

    def _notify_tools_changed(self) -> None:
        if self._connection is not None and self._connection.is_registered:
            self._connection.notify("notifications/tools/list_changed", {})

    def _log_emitter(self, call_id: Optional[str]) -> Callable[[str, Json], None]:
        def emit(level: str, data: Json) -> None:
            params: Json = {"level": level, "logger": self.name, "data": log_fields(data)}
            if call_id is not None:
                params["_meta"] = {"toolwright/call": {"callId": call_id}}
            try:
                self._connection.notify("notifications/message", params)
            except ToolError as error:
                write_stderr(f"dropped a log message: {error.message}")

        return emit

    # Messages of the host.

    def _on_request(self, request_id: Any, method: str, params: Json) -> None:
        if request_id in self._calls:
            write_stderr(f"ignored a request whose id {shorten(str(request_id))} is that of a running call")
        elif method == "ping":
            self._connection.answer(request_id, {})
        elif method == "tools/call":
            self._start_call(request_id, params)
        else:
            task = self._loop.create_task(self._answer(request_id, method, params))
            self._tasks.add(task)  # the loop holds only weak references to tasks
            task.add_done_callback(self._tasks.discard)

    def _on_notification(self, method: str, params: Json) -> None:
        request_id = params.get("requestId")
        if method == "notifications/cancelled" and type(request_id) in (str, int, float):
            self._calls.cancel(request_id)

    def _start_call(self, request_id: Any, params: Json) -> None:
        try:
            definition = self._calls.find(params.get("name"))
        except ToolError as error:
            self._connection.refuse(request_id, INVALID_PARAMS, error)
            return
        if not self._is_initialized:
            early = ToolError("UNAVAILABLE", "provider/initialize must be the first request, before any call.")
            self._connection.refuse(request_id, REQUEST_FAILED, early)
            return
        context = self._context(request_id, params.get("_meta"))
        self._calls.start(self._connection, definition, request_id, params, context)

    def _context(self, request_id: Any, meta: Any) -> Context:
        remaining = dict(meta) if isinstance(meta, dict) else {}
        remaining.pop("progressToken", None)
        ids = remaining.pop("toolwright/call", None)
        ids = ids if isinstance(ids, dict) else {}
        call_id, session_id = ids.get("callId"), ids.get("sessionId")
        call_id = call_id if isinstance(call_id, str) else str(request_id)
        return Context(
            call_id=call_id,
            session_id=session_id if isinstance(session_id, str) else None,
            meta=remaining or None,
            provider=self.name,
            log=Log(self._log_emitter(call_id)),
            get_state=lambda: self._state,
        )

    async def _answer(self, request_id: Any, method: str, params: Json) -> None:
        handlers: Dict[str, Callable[[Json], Awaitable[Json]]] = {
            "tools/list": self._list_tools,
            "provider/initialize": self._initialize,
            "provider/decide": self._decide,
            "provider/export_state": self._export_state,
            "provider/drain": self._drain,
            "provider/end_session": self._end_session,
            "provider/dispose": self._dispose,
        }
        handler = handlers.get(method)
        try:
            if handler is None:
                unknown = ToolError("PROTOCOL_VIOLATION", f'A provider has no method "{shorten(method)}".')
                self._connection.refuse(request_id, METHOD_NOT_FOUND, unknown)
            else:
                self._connection.answer(request_id, await handler(params))
        except Exception as error:
            self._connection.refuse(request_id, REQUEST_FAILED, to_tool_error(error, f"{self.name}: {method}"))

    async def _list_tools(self, params: Json) -> Json:
        return {"tools": self._listing()}

    async def _initialize(self, params: Json) -> Json:
        reason = str(params.get("reason", "start"))
        is_reinitialization = bool(params.get("isReinitialization", False))
        previous = self._state if reason == "config" else params.get("previousState")
        state = previous
        if self._functions.initialize is not None:
            context = LifecycleContext(self._log, self._ending, self._state, reason, is_reinitialization)
            state = await self._run(self._functions.initialize, _settings(params), previous, context)
        self._state = {} if state is None else state
        self._is_initialized = True
        return {}

    async def _decide(self, params: Json) -> Json:
        old, new = (_settings(params.get(side)) for side in ("old", "new"))
        functions = self._functions
        if functions.should_restart is not None and await self._run(functions.should_restart, old, new):
            return {"restart": True, "reinitialize": False}
        again = functions.should_reinitialize is None or await self._run(functions.should_reinitialize, old, new)
        return {"restart": False, "reinitialize": bool(again)}

    async def _export_state(self, params: Json) -> Json:
        state, dropped = json_part(self._state)
        return {"state": state, "dropped": dropped}

    async def _drain(self, params: Json) -> Json:
        deadline = params.get("deadlineMs")
        seconds = max(0.0, deadline / 1_000) if isinstance(deadline, (int, float)) else _DRAIN_SECONDS
        return {"drained": await self._calls.wait_until_idle(min(seconds, _MAX_DRAIN_SECONDS))}

    async def _end_session(self, params: Json) -> Json:
        session_id = params.get("sessionId")
        if self._functions.end_session is not None and self._is_initialized and isinstance(session_id, str):
            context = LifecycleContext(self._log, self._ending, self._state, "end_session", False, session_id)
            await self._run(self._functions.end_session, context)
        return {}

    async def _dispose(self, params: Json) -> Json:
        """Runs the author's `dispose` once. A later request waits for that run."""
        if self._disposal is None:
            self._disposal = self._loop.create_task(self._run_dispose())
        await asyncio.shield(self._disposal)
        return {}

    async def _run_dispose(self) -> None:
        if self._functions.dispose is not None and self._is_initialized:
            context = LifecycleContext(self._log, self._ending, self._state, "dispose")
            await self._run(self._functions.dispose, context)

    async def _run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Runs a function of the author: `async def` in the event loop, `def` in a thread."""
        if inspect.iscoroutinefunction(function):
            return await await_without_exit(lambda: function(*arguments))
        done = self._loop.create_future()

        def settle(value: Any, error: Optional[BaseException]) -> None:
            if done.done():
                return
            if error is not None:
                done.set_exception(error)
            else:
                done.set_result(value)

        def job() -> None:
            try:
                value, error = function(*arguments), None
            except BaseException as raised:
                value, error = None, exit_as_failure(raised)
            call_in_loop(self._loop, settle, value, error)

        self._threads.run(job)
        return await done

    # The end.

    async def _end(self) -> None:
        """Cancels the running calls and runs `dispose`, each for a limited time."""
        started = time.monotonic()
        self._on_end()
        self._ending.set()
        self._calls.cancel_all()
        await self._calls.wait_until_idle(_SETTLE_SECONDS)
        try:
            await asyncio.wait_for(self._dispose({}), _DISPOSE_SECONDS - (time.monotonic() - started))
        except asyncio.TimeoutError:
            write_stderr(f"dispose did not return within {_DISPOSE_SECONDS:.0f} s")
        except Exception as error:
            to_tool_error(error, f"{self.name}: dispose")


def _settings(params: Any) -> Settings:
    given = params if isinstance(params, dict) else {}
    return Settings(config=given.get("config") or {}, variables=given.get("variables") or {})
