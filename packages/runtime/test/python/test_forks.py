"""Forks of a provider process."""

from __future__ import annotations

import signal
import unittest

from host import TOOLS, Host


class ForksTest(unittest.TestCase):
    def test_fork_inherits_neither_the_connection_nor_the_signal_handlers(self) -> None:
        tail = """
    @tool
    def fork() -> dict:
        '''Forks, and ends the fork by a signal.'''
        import multiprocessing
        context = multiprocessing.get_context("fork")
        here, there = context.Pipe()
        child = context.Process(target=look_and_wait, args=(there, socket_number()))
        child.start()
        holds = here.recv()
        child.terminate()
        child.join(10)
        exit_code = child.exitcode
        child.kill()
        return {"exit_code": exit_code, "holds": holds, "parent_holds": is_open(socket_number())}

    def look_and_wait(there, number):
        there.send(is_open(number))
        time.sleep(600)

    def is_open(number):
        import stat
        try:
            return stat.S_ISSOCK(os.fstat(number).st_mode)
        except OSError:
            return False

    def socket_number():
        import gc
        from toolwright_provider.connection import Connection
        return next(o for o in gc.get_objects() if isinstance(o, Connection)).socket_number

    import warnings
    warnings.simplefilter("ignore", DeprecationWarning)  # that a process with threads forks, which is what is tested
    run("test")
"""
        with Host(TOOLS + tail, initialize=True) as host:
            outcome = host.call("fork")["structuredContent"]
            self.assertEqual(outcome, {"exit_code": -signal.SIGTERM, "holds": False, "parent_holds": True})
            self.assertEqual(host.call("echo", {"text": "on"})["isError"], False)
