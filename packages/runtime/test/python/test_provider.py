"""A provider process: registration, its tools and its lifecycle."""

from __future__ import annotations

import json
import unittest

from host import TOOLS, Host


class ProviderTest(unittest.TestCase):
    def test_provider_registers_and_answers_requests(self) -> None:
        with Host(TOOLS + "\n    run('test', version='1.2.3', description='A test.')") as host:
            params = host.registration["params"]
            self.assertEqual(host.registration["method"], "provider/register")
            self.assertEqual((params["protocol"], params["token"], params["name"]), (1, "ab" * 32, "test"))
            self.assertEqual((params["version"], params["description"]), ("1.2.3", "A test."))
            self.assertEqual((params["pid"], params["capabilities"]), (host.process.pid, {"state": True}))
            hints = {"readOnlyHint": True, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
            self.assertEqual(params["tools"][0]["annotations"], hints)
            self.assertEqual(host.ask("ping"), {})
            early = host.answer_of(host.start("echo", {"text": "x"}))["error"]
            self.assertEqual(early["data"]["code"], "UNAVAILABLE")
            self.assertEqual(host.initialize(), {})
            text = "zero \0, \u2028, é, 👩‍💻, \ud800"
            self.assertEqual(host.call("echo", {"text": text})["structuredContent"], {"text": text})
            self.assertEqual(host.ask("tools/list")["tools"], params["tools"])
            self.assertEqual(host.ask("nothing")["error"]["code"], -32601)
            refused = host.answer_of(host.start("ecko"))["error"]
            self.assertEqual((refused["code"], refused["data"]["code"]), (-32602, "TOOL_NOT_FOUND"))
            self.assertIn('did you mean "test.echo"', refused["message"])
            wrong = host.call("echo", {"txt": "x"})
            self.assertEqual(wrong["_meta"]["toolwright/error"]["code"], "INVALID_ARGUMENT")
            self.assertEqual(json.loads(host.call("environment")["structuredContent"]["of_child"]), [])
            self.assertEqual(host.ask("provider/dispose"), {})
        self.assertEqual(host.process.returncode, 0)
        self.assertEqual(host.stderr, b"")

    def test_add_tool_and_remove_tool_change_the_list_while_the_provider_runs(self) -> None:
        with Host(TOOLS + "\n    run('test')", initialize=True) as host:
            self.assertEqual(host.call("grow", {"name": "new"})["isError"], False)
            self.assertEqual(len(host.notices("notifications/tools/list_changed")), 1)
            self.assertIn("new", [listing["name"] for listing in host.ask("tools/list")["tools"]])
            self.assertEqual(host.call("new")["content"][0]["text"], "I am new")
            self.assertEqual(host.call("grow", {"name": "echo"})["_meta"]["toolwright/error"]["code"], "NAME_CONFLICT")
            self.assertEqual(host.call("shrink", {"name": "new"})["structuredContent"], {"removed": True})
            self.assertEqual(host.answer_of(host.start("new"))["error"]["data"]["code"], "TOOL_NOT_FOUND")

    def test_lifecycle_functions_run_with_the_settings_and_the_state(self) -> None:
        source = TOOLS + """
    def initialize(current, previous, ctx):
        if current.config.get("broken"):
            raise ValueError("no good")
        return {**(previous or {}), "mode": current.config.get("mode"), "key": current.variables["KEY"],
                "reason": ctx.reason, "again": ctx.is_reinitialization, "lock": threading.Lock()}

    async def should_restart(old, new):
        return old.config != new.config

    def end_session(ctx):
        ctx.state["ended"] = ctx.session_id

    def dispose(ctx):
        print("disposed", ctx.state["count"], ctx.state["ended"])

    run("test", initialize=initialize, should_restart=should_restart, end_session=end_session, dispose=dispose)
"""
        with Host(source) as host:
            capabilities = {"initialize": True, "decide": True, "state": True, "endSession": True, "dispose": True}
            self.assertEqual(host.registration["params"]["capabilities"], capabilities)
            failed = host.initialize(config={"broken": True})
            self.assertEqual((failed["error"]["data"]["code"], failed["error"]["message"]), ("EXECUTION_FAILED", "no good"))
            self.assertEqual(host.initialize({"count": 4}, "reload", {"mode": "x"}), {})
            host.call("count")
            exported = host.ask("provider/export_state")
            state = {"count": 5, "mode": "x", "key": "secret", "reason": "reload", "again": False}
            self.assertEqual(exported, {"state": state, "dropped": ["lock"]})
            settings = {"config": {}, "variables": {}}
            decided = host.ask("provider/decide", {"old": settings, "new": {**settings, "config": {"a": 1}}})
            self.assertEqual(decided, {"restart": True, "reinitialize": False})
            self.assertIn("error", host.initialize(None, "config", {"broken": True}))
            self.assertEqual(host.ask("provider/export_state")["state"], state)
            host.initialize(None, "config", {"mode": "y"})
            after = host.ask("provider/export_state")["state"]
            self.assertEqual((after["count"], after["mode"], after["again"]), (5, "y", True))
            self.assertEqual(host.ask("provider/end_session", {"sessionId": "s"}), {})
            self.assertEqual([host.ask("provider/dispose") for _ in range(2)], [{}, {}])
        self.assertEqual((host.process.returncode, host.stdout), (0, b"disposed 5 s\n"))
