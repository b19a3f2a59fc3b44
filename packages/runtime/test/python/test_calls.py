"""Calls of a provider process."""

from __future__ import annotations

import random
import unittest
from typing import Dict

from host import TOOLS, Host


class CallsTest(unittest.TestCase):
    def test_exception_becomes_a_failed_result_and_its_traceback_goes_to_stderr(self) -> None:
        with Host(TOOLS + "\n    run('test')", initialize=True) as host:
            for name in ("fail", "fail_async"):
                results = {kind: host.call(name, {"kind": kind}) for kind in ("x", "exit", "key", "tool")}
                codes = {kind: result["_meta"]["toolwright/error"] for kind, result in results.items()}
                self.assertEqual([codes[k]["code"] for k in codes], ["EXECUTION_FAILED"] * 3 + ["LOCKED"])
                self.assertEqual(codes["x"]["message"], "it went wrong")
                self.assertEqual(codes["key"]["message"], "KeyError: 'missing'")
                self.assertIn("tried to end the process", codes["exit"]["message"])
                self.assertEqual((codes["tool"]["retryable"], codes["tool"]["details"]), (True, {"by": "x"}))
            self.assertEqual(host.call("echo", {"text": "on"})["isError"], False)
        self.assertIn(b"RuntimeError: it went wrong", host.stderr)
        self.assertNotIn(b"taken", host.stderr)

    def test_calls_run_concurrently_and_answer_in_the_order_they_finish(self) -> None:
        with Host(TOOLS + "\n    run('test')", initialize=True) as host:
            waiting = [host.start("sleep"), host.start("wait"), host.start("stuck", {"seconds": 0.2})]
            for call in waiting:
                host.progress_of(call)
            self.assertEqual(host.call("echo", {"text": "fast"})["isError"], False)
            self.assertEqual(host.ask("provider/drain", {"deadlineMs": 10}), {"drained": False})
            self.assertEqual(host.answer_of(waiting[2])["result"]["content"][0]["text"], "slept")
            for call in waiting[:2]:
                host.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call}})
                error = host.answer_of(call)["result"]["_meta"]["toolwright/error"]
                self.assertEqual(error["code"], "CANCELLED")
            self.assertEqual(host.ask("provider/drain", {"deadlineMs": 5_000}), {"drained": True})
            self.assertEqual(host.call("count")["structuredContent"], {"cancelled": 1, "count": 1})
            calls = [host.start("echo", {"text": str(n)}) for n in range(300)] + [host.start("count") for _ in range(50)]
            for n, call in enumerate(calls[:300]):
                self.assertEqual(host.answer_of(call)["result"]["structuredContent"], {"text": str(n)})
            counts = [host.answer_of(call)["result"]["structuredContent"]["count"] for call in calls[300:]]
            self.assertEqual(sorted(counts), list(range(2, 52)))

    def test_call_is_answered_once_when_it_is_cancelled_at_a_random_point(self) -> None:
        seed = random.randrange(2**32)
        rng = random.Random(seed)
        with Host(TOOLS + "\n    run('test')", initialize=True) as host:
            calls = []
            for _ in range(300):
                calls.append(host.start(rng.choice(["sleep", "wait", "echo", "count"]), None))
                for call in rng.sample(calls, min(2, len(calls))):
                    host.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call}})
            for call in calls:
                host.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call}})
            answers: Dict[int, int] = {}
            for call in calls:
                self.assertIn("result", host.answer_of(call), f"seed {seed}")
            host.ask("ping")
            for message in host.received:
                if "method" not in message:
                    answers[message["id"]] = answers.get(message["id"], 0) + 1
            self.assertEqual(answers, {}, f"seed {seed}")
            self.assertEqual(host.ask("provider/drain", {"deadlineMs": 0}), {"drained": True})

    def test_progress_and_logs_arrive_before_the_answer_and_print_goes_to_stdout(self) -> None:
        with Host(TOOLS + "\n    run('test')", initialize=True) as host:
            result = host.call("chatter")
            self.assertEqual(result["content"][0]["text"], "c2")
            progress = host.notices("notifications/progress")
            self.assertEqual([params["progress"] for params in progress], list(range(100)))
            self.assertEqual(progress[0], {"progressToken": 2, "progress": 0, "total": 100, "message": "step"})
            (log,) = host.notices("notifications/message")
            self.assertEqual(log["level"], "warning")
            self.assertEqual(log["data"], {"message": "careful", "count": 3, "odd": "<class 'object'>"})
            self.assertEqual(log["_meta"], {"toolwright/call": {"callId": "c2"}})
        self.assertEqual(host.stdout, b"on stdout\n")

    def test_call_succeeds_when_its_log_and_progress_are_not_json(self) -> None:
        with Host(TOOLS + "\n    run('test')", initialize=True) as host:
            self.assertEqual(host.call("odd")["content"][0]["text"], "done")
            (log,) = host.notices("notifications/message")
            fields = {"circle": "[[...]]", "keys": "{(1, 2): 3}", "silent": "<Silent>", "none": "nan", "good": 1}
            self.assertEqual(log["data"], {"message": "m", **fields})
