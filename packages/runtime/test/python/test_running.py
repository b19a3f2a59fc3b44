"""`run`: how a provider process starts and ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

from host import PACKAGE_PARENT, TIMEOUT_SECONDS, TOOLS, Host


class RunTest(unittest.TestCase):
    def test_run_exits_when_the_socket_closes_whatever_is_running(self) -> None:
        tail = """
    threading.Thread(target=time.sleep, args=(600,)).start()
    def dispose(ctx):
        time.sleep(600)
    run("test", dispose=dispose)
"""
        with Host(TOOLS + tail) as host:
            host.initialize()
            for call in [host.start("stuck"), host.start("wait"), host.start("sleep")]:
                host.progress_of(call)
            started = time.monotonic()
            host.file.close()
            host.socket.close()
            self.assertEqual(host.wait(), 0)
            self.assertLess(time.monotonic() - started, TIMEOUT_SECONDS)
        self.assertNotIn(b"Traceback", host.stderr)
        self.assertNotIn(b"Fatal", host.stderr)

    def test_run_disposes_and_returns_on_sigterm(self) -> None:
        with Host(TOOLS + "\n    run('test', dispose=lambda ctx: print('disposed'))\n    print('after')") as host:
            host.initialize()
            call = host.start("sleep")
            host.progress_of(call)
            host.process.send_signal(signal.SIGTERM)
            self.assertEqual(host.answer_of(call)["result"]["_meta"]["toolwright/error"]["code"], "CANCELLED")
            self.assertEqual(host.wait(), 0)
            self.assertEqual(host.stdout, b"disposed\nafter\n")

    def test_run_exits_with_a_message_and_a_code_when_it_is_refused(self) -> None:
        data = {"code": "PROTOCOL_VIOLATION", "details": {"permanent": True}}
        error = {"code": -32000, "message": "Wrong token.", "data": data}
        passing = {**error, "data": {"code": "UNAVAILABLE"}}
        for answer, code in (({"error": error}, 78), ({"error": passing}, 1), ({"result": {"protocol": 9}}, 1)):
            with Host(TOOLS + "\n    run('test', dispose=lambda ctx: print('disposed'))", answer=answer) as host:
                self.assertEqual(host.wait(), code)
                self.assertIn(b"cannot serve", host.stderr)
                self.assertNotIn(b"Traceback", host.stderr)
                self.assertEqual(host.stdout, b"")

    def test_run_retries_while_the_host_is_busy(self) -> None:
        busy = {"code": -32000, "message": "Full.", "data": {"code": "BUSY"}}
        with tempfile.TemporaryDirectory() as directory:
            with socket.socket(socket.AF_UNIX) as listener:
                path = os.path.join(directory, "s")
                listener.bind(path)
                listener.listen()
                listener.settimeout(TIMEOUT_SECONDS)
                source = textwrap.dedent(TOOLS) + "\nrun('test')"
                environment = {"PATH": os.environ["PATH"], "PYTHONPATH": PACKAGE_PARENT, "PYTHONDONTWRITEBYTECODE": "1"}
                process = subprocess.Popen(
                    [sys.executable, "-c", source],
                    env={**environment, "TOOLWRIGHT_SOCKET": path, "TOOLWRIGHT_TOKEN": "t"},
                    stderr=subprocess.DEVNULL,
                )
                for _ in range(2):
                    refused, _ = listener.accept()
                    refused.sendall(json.dumps({"jsonrpc": "2.0", "id": None, "error": busy}).encode() + b"\n")
                    refused.close()
                taken, _ = listener.accept()
                with taken, taken.makefile("rb") as file:
                    self.assertEqual(json.loads(file.readline())["method"], "provider/register")
                process.terminate()
                self.assertEqual(process.wait(TIMEOUT_SECONDS), 0)

    def test_run_does_nothing_without_a_host(self) -> None:
        source = textwrap.dedent(TOOLS) + "\nrun('test')\nprint(echo('plain'))"
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": PACKAGE_PARENT, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, "-W", "error", "-c", source], env=env, capture_output=True, timeout=TIMEOUT_SECONDS)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"{'text': 'plain'}\n", b""))
