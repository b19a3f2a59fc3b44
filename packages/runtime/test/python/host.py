"""A host for tests: starts a provider as a real process, and talks to it over a real socket."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import textwrap
from typing import Any, Dict, List, Optional

import toolwright_provider

PACKAGE_PARENT = os.path.dirname(os.path.dirname(os.path.abspath(toolwright_provider.__file__)))
TIMEOUT_SECONDS = 20.0


class Host:
    """A host of one provider process: sends and receives, blocking, with a deadline."""

    def __init__(self, source: str, *, env: Optional[Dict[str, str]] = None, answer: Any = None, initialize: bool = False) -> None:
        self.directory = tempfile.TemporaryDirectory()
        path = os.path.join(self.directory.name, "s")
        file = os.path.join(self.directory.name, "provider.py")
        with open(file, "w", encoding="utf-8") as script:
            script.write(textwrap.dedent(source))
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen()
        listener.settimeout(TIMEOUT_SECONDS)
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-W", "error", file],
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": PACKAGE_PARENT,
                "PYTHONDONTWRITEBYTECODE": "1",
                "TOOLWRIGHT_SOCKET": path,
                "TOOLWRIGHT_PROVIDER": "test",
                "TOOLWRIGHT_TOKEN": "ab" * 32,
                **(env or {}),
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.stdout = b""
        self.stderr = b""
        self.next_id = 0
        self.received: List[Any] = []
        try:
            self.socket, _ = listener.accept()
        except socket.timeout:
            self.process.kill()
            raise AssertionError(f"it did not connect: {self.process.communicate()}")
        finally:
            listener.close()
        self.socket.settimeout(TIMEOUT_SECONDS)
        self.file = self.socket.makefile("rb")
        self.registration = self.receive()
        limits = {"maxFrameBytes": 16 * 1024 * 1024, "maxDepth": 64}
        result = {"protocol": 1, "config": {}, "variables": {}, "previousState": None, "limits": limits}
        self.send({"jsonrpc": "2.0", "id": self.registration["id"], **(answer or {"result": result})})
        if initialize:
            self.initialize()

    def __enter__(self) -> Host:
        return self

    def __exit__(self, *_: Any) -> None:
        self.file.close()
        self.socket.close()
        try:
            self.wait()
        finally:
            self.directory.cleanup()

    def wait(self) -> int:
        """The exit code, within the time that the process has to end by itself."""
        try:
            self.stdout, self.stderr = self.process.communicate(timeout=TIMEOUT_SECONDS)
        except ValueError:
            pass  # read before
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise AssertionError("the provider did not end by itself")
        return self.process.returncode

    def send(self, message: Any) -> None:
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def receive(self) -> Any:
        line = self.file.readline()
        if not line:
            raise EOFError(self.process.communicate()[1].decode())
        return json.loads(line)

    def post(self, method: str, params: Any) -> int:
        self.next_id += 1
        self.send({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params})
        return self.next_id

    def answer_of(self, request_id: Any) -> Any:
        """The answer to a request; messages before it are added to `received`."""
        for index, message in enumerate(self.received):
            if "method" not in message and message.get("id") == request_id:
                return self.received.pop(index)
        while True:
            message = self.receive()
            if "method" not in message and message.get("id") == request_id:
                return message
            self.received.append(message)

    def ask(self, method: str, params: Any = None) -> Any:
        answer = self.answer_of(self.post(method, params or {}))
        return answer["result"] if "result" in answer else answer

    def initialize(self, previous: Any = None, reason: str = "start", config: Any = None) -> Any:
        params = {"config": config or {}, "variables": {"KEY": "secret"}, "previousState": previous, "reason": reason}
        return self.ask("provider/initialize", {**params, "isReinitialization": reason == "config"})

    def start(self, name: str, arguments: Any = None) -> int:
        """A call whose progress has its own id as the token."""
        meta = {"progressToken": self.next_id + 1, "toolwright/call": {"callId": f"c{self.next_id + 1}"}}
        return self.post("tools/call", {"name": name, "arguments": arguments or {}, "_meta": meta})

    def call(self, name: str, arguments: Any = None) -> Any:
        return self.answer_of(self.start(name, arguments))["result"]

    def notices(self, method: str) -> List[Any]:
        return [message["params"] for message in self.received if message.get("method") == method]

    def progress_of(self, call: int) -> Any:
        """Waits for progress of that call."""
        while True:
            for params in self.notices("notifications/progress"):
                if params["progressToken"] == call:
                    return params
            self.received.append(self.receive())


TOOLS = """
    import asyncio, os, subprocess, sys, threading, time
    from toolwright_provider import Context, Directive, Result, ToolError, add_tool, remove_tool, run, tool

    @tool(read_only=True)
    def echo(text: str) -> dict:
        '''Echoes.'''
        return {"text": text}

    @tool
    def wait(ctx: Context) -> str:
        '''Waits in a thread until it is cancelled.'''
        ctx.progress(1)
        ctx.signal.wait(60)
        ctx.check()
        return "woken"

    @tool
    def stuck(ctx: Context, seconds: float = 600) -> str:
        '''Waits without looking at the context.'''
        ctx.progress(1)
        time.sleep(seconds)
        return "slept"

    @tool
    async def sleep(ctx: Context, seconds: float = 60) -> str:
        '''Waits in the event loop.'''
        ctx.progress(1)
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            ctx.state["cancelled"] = ctx.state.get("cancelled", 0) + 1
            raise
        return "slept"

    @tool
    async def count(ctx: Context) -> dict:
        '''Counts.'''
        ctx.state["count"] = ctx.state.get("count", 0) + 1
        return ctx.state

    @tool
    def fail(kind: str) -> str:
        '''Fails.'''
        if kind == "exit":
            sys.exit(3)
        if kind == "key":
            {}["missing"]
        if kind == "tool":
            raise ToolError("LOCKED", "taken", details={"by": "x"})
        raise RuntimeError("it went wrong")

    @tool
    async def fail_async(kind: str) -> str:
        '''Fails in the event loop.'''
        return fail(kind)

    @tool
    def environment() -> dict:
        '''The variables of a child process.'''
        code = "import json, os; print(json.dumps(sorted(k for k in os.environ if k.startswith('TOOLWRIGHT'))))"
        return {"of_child": subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip()}

    @tool
    def big(length: int) -> str:
        '''Much text.'''
        return "x" * length

    @tool
    def grow(name: str) -> str:
        '''Adds a tool.'''
        def added() -> str:
            '''Was added.'''
            return "I am " + name
        add_tool(added, name=name)
        return name

    @tool
    def shrink(name: str) -> dict:
        '''Removes a tool.'''
        return {"removed": remove_tool(name)}

    @tool
    def chatter(ctx: Context) -> str:
        '''Logs and prints.'''
        print("on stdout")
        for step in range(100):
            ctx.progress(step, 100, "step")
        ctx.log.warning("careful", count=3, odd=object)
        return ctx.call_id

    class Silent:
        def __repr__(self):
            raise RuntimeError("no repr")

    @tool
    def odd(ctx: Context) -> str:
        '''Logs values that JSON cannot represent.'''
        circle = []
        circle.append(circle)
        ctx.log.info("m", circle=circle, keys={(1, 2): 3}, silent=Silent(), none=float("nan"), good=1)
        ctx.progress(float("nan"))
        ctx.progress(1, float("inf"))
        return "done"
"""
