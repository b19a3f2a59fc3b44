"""Threads for `def` tools, and the way back from a thread to the event loop."""

from __future__ import annotations

import asyncio
import queue
import threading
from typing import Any, Callable


class ThreadPool:
    """Runs `def` tools in daemon threads, as a tool that never returns must not keep the process from ending."""

    def __init__(self, limit: int = 64) -> None:
        self._limit = limit
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._free = threading.Semaphore(0)
        self._count = 0

    def run(self, job: Callable[[], None]) -> None:
        """Runs `job`, which must not raise, when a thread is free. Only for the event loop's thread.

        Raises RuntimeError when the system refuses even the first thread.
        """
        if not self._free.acquire(blocking=False) and self._count < self._limit:
            thread = threading.Thread(target=self._work, name=f"toolwright-{self._count + 1}", daemon=True)
            try:
                thread.start()
                self._count += 1
            except RuntimeError:  # the system refuses more threads
                if self._count == 0:
                    raise
        self._jobs.put(job)

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            job()
            del job  # otherwise its arguments live until the next call
            self._free.release()


def call_in_loop(loop: asyncio.AbstractEventLoop, callback: Callable[..., None], *arguments: Any) -> None:
    """Calls a function in the event loop, from any thread. Does nothing once the loop is closed, as the process ends."""
    try:
        loop.call_soon_threadsafe(callback, *arguments)
    except RuntimeError:
        pass
