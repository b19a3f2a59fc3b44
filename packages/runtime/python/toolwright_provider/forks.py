"""What a forked child of the provider must not inherit: the connection, and the signal handlers."""

from __future__ import annotations

import os
import signal
from typing import Set

descriptors_to_close: Set[int] = set()
"""File descriptors to close after a fork. A child that executes another program inherits none of them anyway."""


def clean_up_after_fork() -> None:
    """Registers the clean-up: a fork without exec would keep the connection open after this process has ended."""

    def clean_up() -> None:
        for descriptor in descriptors_to_close:
            try:
                os.close(descriptor)
            except OSError:
                pass  # already closed
        descriptors_to_close.clear()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=clean_up)
