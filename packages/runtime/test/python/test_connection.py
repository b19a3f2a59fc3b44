"""The connection of a provider process."""

from __future__ import annotations

import json
import unittest
from typing import Any

from host import TOOLS, Host


class ConnectionTest(unittest.TestCase):
    def test_invalid_frames_are_answered_and_the_tenth_closes_the_connection(self) -> None:
        with Host(TOOLS + "\n    run('test')", initialize=True) as host:
            deep = {"jsonrpc": "2.0", "id": "deep", "method": "tools/call", "params": {}}
            inner: Any = 1
            for _ in range(70):
                inner = [inner]
            deep["params"] = {"name": "echo", "arguments": {"text": inner}}
            host.send(deep)
            self.assertEqual(host.answer_of("deep")["error"]["data"]["code"], "INVALID_ARGUMENT")
            for odd in ("[]", "1", '{"id":true,"method":"ping"}', '{"id":1,"method":1}', '{"method":"x","params":[]}'):
                host.socket.sendall(odd.encode() + b"\n")
                self.assertEqual(host.receive()["error"]["code"], -32600)
            for late in ('{"id":5,"result":{}}', '{"id":null,"error":{"code":1}}', '{"id":[],"result":1}', "{}"):
                host.socket.sendall(late.encode() + b"\n")
            host.socket.sendall(b'{"jsonrpc":"2.0","id":"large","method":"tools/call","params":{"x":"')
            for _ in range(17):
                host.socket.sendall(b"x" * 1_000_000)
            host.socket.sendall(b'"}}\n')
            self.assertEqual(host.answer_of("large")["error"]["data"]["code"], "FRAME_TOO_LARGE")
            for byte in json.dumps({"jsonrpc": "2.0", "id": "slow", "method": "ping"}, ensure_ascii=False).encode() + b"\r\n":
                host.socket.sendall(bytes([byte]))
            self.assertEqual(host.answer_of("slow")["result"], {})
            for frame in (b"{", b"\xff\xfe", b"{'a':1}", b"[" * 300_000, b"NaN", b"9" * 100_000, b"}", b'"', b"{]", b"nil"):
                host.socket.sendall(frame + b"\n")
                answer = host.receive()
                self.assertEqual((answer["id"], answer["error"]["code"]), (None, -32700))
            with self.assertRaises(EOFError):
                host.receive()

    def test_answer_that_is_too_large_fails_only_its_call(self) -> None:
        with Host(TOOLS + "\n    run('test')", initialize=True) as host:
            error = host.call("big", {"length": 17 * 1024 * 1024})["_meta"]["toolwright/error"]
            self.assertEqual(error["code"], "FRAME_TOO_LARGE")
            self.assertEqual(len(host.call("big", {"length": 4_000_000})["content"][0]["text"]), 4_000_000)

    def test_answers_are_queued_while_the_host_does_not_read(self) -> None:
        with Host(TOOLS + "\n    run('test')", initialize=True) as host:
            calls = [host.start("big", {"length": 3_000_000}) for _ in range(8)]  # more than the queue holds
            for call in calls:
                self.assertEqual(len(host.answer_of(call)["result"]["content"][0]["text"]), 3_000_000)
