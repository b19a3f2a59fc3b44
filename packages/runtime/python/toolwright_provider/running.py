"""`run`: the process of a provider, from the address in its environment to its exit code."""

from __future__ import annotations

import asyncio
import os
import queue
import signal
import sys
import threading
import time
from types import FrameType
from typing import Any, Callable, NamedTuple, Optional

from .context import LifecycleContext, Settings
from .definition import NAME
from .errors import ToolError, write_stderr
from .forks import clean_up_after_fork
from .provider import LifecycleFunctions, Provider
from .registry import registry
from .text import describe_exception

_REFUSED_EXIT_CODE = 78
_EXIT_SECONDS = 3.0
"""From the moment that the process is to end: calls may settle and `dispose` may run; then it exits in any case."""


class _Host(NamedTuple):
    """The address of the host, and the token that proves that it started this process."""

    address: str
    token: str


def _read_environment() -> Optional[_Host]:
    """Reads the host's variables and removes them, so that no child process can register as this provider."""
    address = os.environ.pop("TOOLWRIGHT_SOCKET", None)
    token = os.environ.pop("TOOLWRIGHT_TOKEN", "")
    os.environ.pop("TOOLWRIGHT_PROVIDER", None)
    return _Host(address, token) if address else None


_host = _read_environment()


def run(
    name: str,
    *,
    version: str = "0.0.0",
    description: str = "",
    initialize: Optional[Callable[[Settings, Any, LifecycleContext], Any]] = None,
    should_restart: Optional[Callable[[Settings, Settings], Any]] = None,
    should_reinitialize: Optional[Callable[[Settings, Settings], Any]] = None,
    end_session: Optional[Callable[[LifecycleContext], Any]] = None,
    dispose: Optional[Callable[[LifecycleContext], Any]] = None,
) -> None:
    """Serves the tools of this process until the host closes the connection. Without a host it returns immediately.

    Each function may be `def` (it runs in a thread) or `async def`:

    - `initialize(current, previous, ctx)` returns the state that tools see as `ctx.state`, best a dict or a dataclass.
      `current` has `config` and `variables`; `previous` is the previous state as JSON, or None.
    - `should_restart(old, new)` and `should_reinitialize(old, new)` decide what a change of the settings requires.
    - `end_session(ctx)` releases what the state holds for the calls of `ctx.session_id`, which have ended.
    - `dispose(ctx)` releases what the state holds. After the connection has closed, it has 2 s.

    When the connection closes or SIGTERM arrives, calls are cancelled, `dispose` runs and `run` returns. The process
    exits 3 s later in any case. Raises ToolError INVALID_ARGUMENT for an invalid name. Exits with code 1 when the host
    cannot be reached, and with 78 when the host refuses the registration for good.
    """
    if not (isinstance(name, str) and NAME.match(name)):
        raise ToolError("INVALID_ARGUMENT", f"A provider's name must be 1 to 64 of A-Z a-z 0-9 _ -, not {name!r}.")
    global _host
    host, _host = _host, None
    if host is None:
        return
    functions = LifecycleFunctions(initialize, should_restart, should_reinitialize, end_session, dispose)
    exit_codes = _start_exit_thread()
    provider = Provider(name, version, description, functions, registry, lambda: exit_codes.put(0))
    _end_on_signals(provider, exit_codes)
    clean_up_after_fork()
    code = 0
    try:
        asyncio.run(provider.serve(host.address, host.token))
    except (ToolError, OSError) as error:
        write_stderr(f'the provider "{name}" cannot serve: {describe_exception(error)}')
        code = _exit_code_of(error)
    exit_codes.put(code)
    if provider.is_busy:
        _flush()
        os._exit(code)
    if code:
        raise SystemExit(code)


def _exit_code_of(error: Exception) -> int:
    """78 when the host refused for good, so that a restart would fail in the same way; otherwise 1."""
    details = error.details if isinstance(error, ToolError) else None
    return _REFUSED_EXIT_CODE if details and details.get("permanent") is True else 1


def _start_exit_thread() -> queue.SimpleQueue[int]:
    """Starts the thread that exits the process 3 s after the first exit code is put into the queue, whatever runs."""
    exit_codes: queue.SimpleQueue[int] = queue.SimpleQueue()  # safe to put into from a signal handler

    def wait() -> None:
        code = exit_codes.get()
        time.sleep(_EXIT_SECONDS)
        os._exit(code)

    threading.Thread(target=wait, name="toolwright-end", daemon=True).start()
    return exit_codes


def _end_on_signals(provider: Provider, exit_codes: queue.SimpleQueue[int]) -> None:
    def end(number: int, frame: Optional[FrameType]) -> None:
        exit_codes.put(0)
        provider.end_soon()

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, end)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass  # closed by this process or by its reader
