"""What a tool and the functions given to `run` receive: the call, the settings, the lifecycle."""

from __future__ import annotations

import dataclasses
import threading
from typing import Any, Callable, Dict, Optional

from .errors import Cancelled
from .json_values import Json
from .log import Log


class Context:
    """The call that a tool runs for. A parameter annotated with it is filled in and is not an argument of the tool.

    Every member may be used from any thread. A unit test creates one: `Context(state={"count": 0})`.
    """

    def __init__(
        self,
        *,
        state: Any = None,
        call_id: str = "",
        session_id: Optional[str] = None,
        meta: Optional[Json] = None,
        provider: str = "",
        log: Optional[Log] = None,
        on_progress: Optional[Callable[[Json], None]] = None,
        get_state: Optional[Callable[[], Any]] = None,
    ) -> None:
        self.signal = threading.Event()
        """Set when the call is cancelled. A `def` tool that waits does so with `ctx.signal.wait(seconds)`."""
        self.call_id = call_id
        self.session_id = session_id
        self.meta = meta
        """The caller's metadata of the call."""
        self.provider = provider
        self.log = log or Log()
        self._on_progress = on_progress
        self._get_state = get_state or (lambda: state)

    @property
    def state(self) -> Any:
        """The object that `initialize` last returned; without `initialize`, a dict. Tools may change it."""
        return self._get_state()

    @property
    def cancelled(self) -> bool:
        return self.signal.is_set()

    def check(self) -> None:
        """Raises `Cancelled` if the call was cancelled. For a `def` tool between two steps of its work."""
        if self.cancelled:
            raise Cancelled()

    def progress(self, progress: float, total: Optional[float] = None, message: Optional[str] = None) -> None:
        """Reports progress to the caller, which also extends the deadline. Does nothing after the call has ended."""
        if self._on_progress is None:
            return
        params: Json = {"progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = str(message)
        self._on_progress(params)


@dataclasses.dataclass(frozen=True)
class Settings:
    """The provider's settings from the host."""

    config: Json
    variables: Dict[str, str]
    """Strings such as credentials. They are in no environment, so child processes do not inherit them."""


@dataclasses.dataclass(frozen=True)
class LifecycleContext:
    """What `initialize`, `end_session` and `dispose` receive in addition to the settings."""

    log: Log
    signal: threading.Event
    """Set when the process is to end."""
    state: Any = None
    reason: str = "start"
    """`start`, `reload` (the file changed; `previous` is the state of the previous process), `config`, `end_session` or
    `dispose`."""
    is_reinitialization: bool = False
    session_id: Optional[str] = None
    """For `end_session`: the `ctx.session_id` of the calls that have ended."""
