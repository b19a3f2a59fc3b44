"""Tests of toolwright_provider: types and results by themselves, and real provider processes at a real socket."""

from __future__ import annotations

import dataclasses
import enum
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
import typing
import unittest
from typing import Any, Dict, List, Optional, Union

import toolwright_provider as tp

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 20.0


def define(function: Any, **options: Any) -> tp._Tool:
    """The tool of a function, without registering it."""
    registry, tp._registry = tp._registry, tp._Registry()
    try:
        tp.tool(**options)(function)
        return next(iter(tp._registry.by_name.values()))
    finally:
        tp._registry = registry


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0
    label: typing.Annotated[str, "What to call it."] = ""


@dataclasses.dataclass
class Tree:
    name: str
    children: List[Tree] = dataclasses.field(default_factory=list)


class Options(typing.TypedDict, total=False):
    deep: bool
    limit: int


class Sum(typing.TypedDict):
    sum: float


@dataclasses.dataclass
class Even:
    n: int

    def __post_init__(self) -> None:
        if self.n % 2:
            raise ValueError("n must be even")


class Schemas(unittest.TestCase):
    def test_hints_become_a_schema(self) -> None:
        def everything(
            a: int,
            b: float,
            c: bool,
            d: str,
            e: List[int],
            f: Dict[str, float],
            g: Optional[str] = None,
            h: Union[int, str] = 1,
            i: typing.Literal["x", "y"] = "x",
            j: Color = Color.RED,
            k: typing.Annotated[int, "How many.", {"minimum": 1}] = 3,
            l=None,
        ) -> str:
            """Does all of it.

            At length.

            Args:
                a: The first.
                b (float): The second,
                    on two lines.

            Returns:
                A text.
            """
            return ""

        listing = define(everything).listing
        self.assertEqual(listing["description"], "Does all of it.\n\nAt length.\n\nReturns:\n    A text.")
        schema = listing["inputSchema"]
        self.assertEqual(schema["required"], ["a", "b", "c", "d", "e", "f"])
        self.assertIs(schema["additionalProperties"], False)
        self.assertEqual(
            schema["properties"],
            {
                "a": {"type": "integer", "description": "The first."},
                "b": {"type": "number", "description": "The second, on two lines."},
                "c": {"type": "boolean"},
                "d": {"type": "string"},
                "e": {"type": "array", "items": {"type": "integer"}},
                "f": {"type": "object", "additionalProperties": {"type": "number"}},
                "g": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
                "h": {"anyOf": [{"type": "integer"}, {"type": "string"}], "default": 1},
                "i": {"enum": ["x", "y"], "type": "string", "default": "x"},
                "j": {"enum": ["red", "blue"], "type": "string", "default": "red"},
                "k": {"type": "integer", "description": "How many.", "minimum": 1, "default": 3},
                "l": {"default": None},
            },
        )

    def test_unions_are_written_with_a_bar_where_python_has_it(self) -> None:
        def take(a: int | None = None) -> None:
            """Takes."""

        if sys.version_info >= (3, 10):
            expected = {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}
            self.assertEqual(define(take).listing["inputSchema"]["properties"]["a"], expected)
        else:
            with self.assertRaisesRegex(tp.ToolError, "before Python 3.10 write Optional"):
                define(take)

    def test_classes_become_objects_and_come_in_as_themselves(self) -> None:
        def plot(point: Point, options: Options) -> None:
            """Plots."""

        plotted = define(plot)
        properties = plotted.listing["inputSchema"]["properties"]
        self.assertEqual(properties["point"]["required"], ["x"])
        self.assertEqual(properties["point"]["properties"]["label"]["description"], "What to call it.")
        self.assertNotIn("required", properties["options"])
        parsed = plotted.parse({"point": {"x": 1}, "options": {"deep": True}})
        self.assertEqual(parsed, {"point": Point(1.0), "options": {"deep": True}})

    def test_a_class_may_contain_itself(self) -> None:
        def walk(tree: Tree) -> Tree:
            """Walks."""
            return tree

        walked = define(walk)
        schema = walked.listing["inputSchema"]
        self.assertEqual(schema["properties"]["tree"], {"$ref": "#/$defs/Tree"})
        self.assertEqual(schema["$defs"]["Tree"]["properties"]["children"]["items"], {"$ref": "#/$defs/Tree"})
        self.assertEqual(walked.listing["outputSchema"]["type"], "object")
        value = {"tree": {"name": "a", "children": [{"name": "b"}]}}
        self.assertEqual(walked.parse(value)["tree"], Tree("a", [Tree("b")]))
        with self.assertRaisesRegex(tp.ToolError, r"tree\.children\[0\]\.name: is missing"):
            walked.parse({"tree": {"name": "a", "children": [{}]}})

    def test_a_context_is_no_argument(self) -> None:
        def look(ctx: tp.Context, text: str = "") -> None:
            """Looks."""

        self.assertEqual(list(define(look).listing["inputSchema"]["properties"]), ["text"])

    def test_every_fault_of_a_definition_is_named_at_once(self) -> None:
        def broken(when: complex, *rest: int) -> int:
            return 1

        with self.assertRaises(tp.ToolError) as caught:
            define(broken, name="no good")
        for words in ("no good", "docstring", "complex has no form in JSON", "parameter rest"):
            self.assertIn(words, caught.exception.message)

    def test_a_return_annotation_is_the_output_schema(self) -> None:
        async def add(a: float, b: float) -> Sum:
            """Adds."""
            return {"sum": a + b}

        self.assertEqual(define(add).listing["outputSchema"]["required"], ["sum"])

    def test_two_tools_of_one_name_are_refused(self) -> None:
        registry = tp._Registry()

        def make() -> Any:
            def same() -> None:
                """Same."""

            return same

        registry.add(define(make()))
        with self.assertRaises(tp.ToolError) as caught:
            registry.add(define(make()))
        self.assertEqual(caught.exception.code, "NAME_CONFLICT")


class Validation(unittest.TestCase):
    def refused(self, hint: Any, value: Any) -> str:
        with self.assertRaises(tp._Wrong) as caught:
            tp._Shapes().of(hint).parse(value, True)
        return caught.exception.in_words()

    def taken(self, hint: Any, value: Any) -> Any:
        return tp._Shapes().of(hint).parse(value, True)

    def test_a_wrong_type_is_refused(self) -> None:
        self.assertEqual(self.refused(int, True), "must be integer, not boolean")
        self.assertEqual(self.refused(int, 1.5), "must be integer, not number")
        self.assertEqual(self.refused(str, 1), "must be string, not integer")
        self.assertEqual(self.refused(bool, 1), "must be boolean, not integer")
        several = "[1]: must be integer, not string; [2]: must be integer, not null"
        self.assertEqual(self.refused(List[int], [1, "x", None]), several)
        self.assertEqual(self.refused(Optional[int], "1"), "must be integer, not string, or must be null, not string")
        self.assertEqual(self.refused(typing.Literal[1, "a"], True), 'must be one of 1, "a"')
        self.assertEqual(self.refused(float, 10**400), "must be a finite number")
        self.assertEqual(self.refused(float, "1e999"), "must be a finite number")
        self.assertEqual(self.refused(typing.Tuple[int, str], [1]), "must be array of 2 items")
        self.assertEqual(self.refused(Even, {"n": 3}), "n must be even")
        self.assertIn("no arrays", self.refused(typing.Set[Any], [[]]))

    def test_a_number_that_was_sent_as_a_string_is_mended(self) -> None:
        self.assertEqual(self.taken(int, "12"), 12)
        self.assertEqual(self.taken(int, "-1e3"), -1000)
        self.assertEqual(self.taken(float, "1.5"), 1.5)
        self.assertIs(self.taken(bool, "true"), True)
        for text in ("", "1.", "0x1", "٣", "1_000", " 1", "1\n", "NaN", "1" * 30):
            self.refused(int, text)

    def test_values_come_in_as_the_hint_says(self) -> None:
        self.assertEqual(self.taken(typing.Tuple[int, ...], [1, 2]), (1, 2))
        self.assertEqual(self.taken(typing.Set[str], ["a", "a"]), {"a"})
        self.assertIs(self.taken(Color, "blue"), Color.BLUE)
        self.assertEqual(self.taken(Union[int, Point], {"x": 1}), Point(1.0))
        self.assertIs(type(self.taken(float, 1)), float)
        self.assertEqual(self.taken(int, 2.0), 2)

    def test_keywords_of_annotated_are_enforced(self) -> None:
        self.assertEqual(self.refused(typing.Annotated[int, {"minimum": 1}], 0), "must be at least 1")
        self.assertEqual(self.refused(typing.Annotated[str, {"pattern": "^a"}], "b"), "must match ^a")
        self.assertEqual(self.refused(typing.Annotated[List[int], {"maxItems": 1}], [1, 2]), "must have at most 1 items")

    def test_unknown_and_missing_arguments_are_named(self) -> None:
        def echo(text: str) -> str:
            """Echoes."""
            return text

        with self.assertRaises(tp.ToolError) as caught:
            define(echo).parse({"texts": 1})
        self.assertEqual(caught.exception.code, "INVALID_ARGUMENT")
        self.assertEqual(
            caught.exception.message,
            'Wrong arguments for "echo": texts: is unknown; did you mean "text"?; text: is missing.',
        )
        for wrong in (None, [], "x", 1):
            with self.assertRaises(tp.ToolError):
                define(echo).parse(wrong)

    def test_a_hostile_name_costs_little(self) -> None:
        def echo(text: str) -> str:
            """Echoes."""
            return text

        with self.assertRaises(tp.ToolError) as caught:
            define(echo).parse({"x" * 5_000_000: 1})
        self.assertLess(len(caught.exception.message), 1_000)


class Results(unittest.TestCase):
    def result(self, output: Any, hint: Any = None) -> Any:
        return tp._result_of(self.tool(hint), output)

    def tool(self, hint: Any) -> Any:
        def give() -> None:
            """Gives."""

        if hint is not None:
            give.__annotations__["return"] = hint
        return define(give)

    def test_what_a_tool_may_return(self) -> None:
        text = [{"type": "text", "text": "hi"}]
        self.assertEqual(self.result("hi"), {"content": text, "isError": False})
        self.assertEqual(self.result(None)["content"], [])
        self.assertEqual(self.result(text)["content"], text)
        self.assertEqual(self.result({"content": text}), {"content": text, "isError": False})
        self.assertEqual(self.result({"content": "hi"})["structuredContent"], {"content": "hi"})
        self.assertEqual(self.result(Point(1.0))["structuredContent"], {"x": 1.0, "y": 0.0, "label": ""})
        structured = self.result({"é": (1, Color.RED)})
        self.assertEqual(structured["content"], [{"type": "text", "text": '{"é":[1,"red"]}'}])

    def test_a_value_that_is_no_object_is_wrapped_as_result(self) -> None:
        for output, text in ((3, "3"), (2.5, "2.5"), (True, "true"), ([], "[]"), ([1, "é"], '[1,"é"]'), ((1, 2), "[1,2]")):
            told = self.result(output)
            self.assertEqual(told["structuredContent"], {"result": json.loads(text)})
            self.assertEqual(told["content"], [{"type": "text", "text": text}])
        rows = [{"type": "file", "name": "a"}]
        self.assertEqual(self.result(rows)["structuredContent"], {"result": rows})
        self.assertEqual(self.result([Point(1.0)])["structuredContent"]["result"], [{"x": 1.0, "y": 0.0, "label": ""}])

    def test_an_output_schema_of_no_object_is_listed_and_checked_as_result(self) -> None:
        for hint, schema, good, bad in (
            (int, {"type": "integer"}, 3, "3"),
            (bool, {"type": "boolean"}, False, None),
            (List[int], {"type": "array", "items": {"type": "integer"}}, [1], [1, "b"]),
            (List[Sum], None, [{"sum": 1}], [{"sum": "x"}]),
        ):
            listed = self.tool(hint).listing["outputSchema"]
            self.assertEqual((listed["type"], listed["required"]), ("object", ["result"]))
            if schema is not None:
                self.assertEqual(listed["properties"]["result"], schema)
            self.assertEqual(self.result(good, hint)["structuredContent"], {"result": good})
            with self.assertRaises(tp.ToolError) as caught:
                self.result(bad, hint)
            self.assertEqual(caught.exception.code, "OUTPUT_INVALID")

        def count() -> Any:
            """Counts."""

        schema = {"$defs": {"n": {"type": "number"}}, "$ref": "#/$defs/n"}
        counted = define(count, output_schema=schema)
        self.assertEqual(counted.listing["outputSchema"]["properties"], {"result": {"$ref": "#/$defs/n"}})
        self.assertEqual(counted.listing["outputSchema"]["$defs"], schema["$defs"])
        self.assertEqual(tp._result_of(counted, "text")["structuredContent"], {"result": "text"})

    def test_directives_and_failures_ride_in_meta(self) -> None:
        told = self.result(tp.Directive("stop_processing"))
        self.assertEqual(told["_meta"], {"toolwright/directives": [{"type": "stop_processing", "params": {}}]})
        error = tp.ToolError("NOT_FOUND", "gone", details={"path": "x", "odd": object()})
        failed = self.result(tp.Result(content=[{"type": "text", "text": "so far"}], error=error))
        self.assertEqual(failed["content"], [{"type": "text", "text": "so far"}])
        info = {"code": "NOT_FOUND", "message": "gone", "retryable": False, "details": {"path": "x"}}
        self.assertEqual((failed["isError"], failed["_meta"]), (True, {"toolwright/error": info}))

    def test_an_output_that_is_none_is_refused(self) -> None:
        circle: Dict[str, Any] = {}
        circle["self"] = circle
        deep: Any = {}
        for _ in range(100_000):
            deep = {"a": deep}
        for output in (b"x", [b"x"], object(), float("inf"), {"f": print}, {"n": float("nan")}, circle, deep, {(1, 2): 3}):
            with self.assertRaises(tp.ToolError) as caught:
                self.result(output)
            self.assertEqual(caught.exception.code, "OUTPUT_INVALID")
        for output in ({"sum": "x"}, {}, "text", None):
            with self.assertRaises(tp.ToolError) as caught:
                self.result(output, Sum)
            self.assertEqual(caught.exception.code, "OUTPUT_INVALID")

    def test_state_is_what_json_carries_and_the_rest_is_named(self) -> None:
        state: Dict[str, Any] = {"n": 1, "sub": {"f": print, "ok": (1, b"x")}, "point": Point(1.0), 3: 4}
        state["circle"] = state
        carried, dropped = tp._carried_by_json(state)
        self.assertEqual(carried, {"n": 1, "sub": {"ok": [1, None]}, "point": {"x": 1.0, "y": 0.0, "label": ""}})
        self.assertEqual(sorted(dropped), ["3", "circle", "sub.f", "sub.ok.1"])
        self.assertEqual(tp._carried_by_json(object()), (None, ["state"]))


class Frames(unittest.TestCase):
    def test_frames_are_the_same_however_the_bytes_arrive(self) -> None:
        data = '{"a":"é👩‍💻"}\r\n\n  \n[]\n{"b":"\\u2028"}\nrest'.encode()
        whole = list(tp._Frames().feed(data))
        self.assertEqual(len(whole), 3)
        seed = random.randrange(2**32)
        rng = random.Random(seed)
        for size in [1, 2, 3] + [rng.randint(4, 40) for _ in range(20)]:
            frames, got = tp._Frames(), []
            for at in range(0, len(data), size):
                got += frames.feed(data[at : at + size])
            self.assertEqual(got, whole, f"chunks of {size}, seed {seed}")
        self.assertEqual(tp._parse_frame(typing.cast(bytes, whole[0])), {"a": "é👩‍💻"})

    def test_single_bytes_cost_linear_time(self) -> None:
        frames = tp._Frames()
        started = time.monotonic()
        for _ in range(300_000):
            list(frames.feed(b"x"))
        self.assertLess(time.monotonic() - started, PATIENCE)
        self.assertEqual(len(typing.cast(bytes, list(frames.feed(b"\n"))[0])), 300_000)

    def test_a_large_frame_is_skipped_and_a_huge_one_ends_it(self) -> None:
        frames = tp._Frames()
        chunk = b"x" * 1_000_000
        list(frames.feed(b'{"jsonrpc":"2.0","id":7,"method":"tools/call",'))
        for _ in range(17):
            list(frames.feed(chunk))
        large, after = list(frames.feed(b'\n{"a":1}\n'))
        self.assertIsInstance(large, tp._Oversized)
        found = tp._REQUEST_HEAD.match(typing.cast(tp._Oversized, large).head)
        self.assertEqual(found and found["before"], b"7")
        self.assertEqual(after, b'{"a":1}')
        with self.assertRaises(tp.ToolError):
            for _ in range(70):
                list(frames.feed(chunk))
        self.assertLess(len(frames._held), 2_000)

    def test_what_is_no_json_is_refused(self) -> None:
        for frame in (b"\xff", b"{", b"NaN", b"1" * 5_000, b"[" * 200_000, b'\xef\xbb\xbf{}', '{"a":1}'.encode("utf-16")):
            with self.assertRaises((ValueError, RecursionError)):
                tp._parse_frame(frame)

    def test_half_a_surrogate_pair_is_sent_as_an_escape(self) -> None:
        self.assertEqual(tp._encode({"a": "\ud800é"}), b'{"a":"\\ud800\\u00e9"}\n')

    def test_depth_is_counted(self) -> None:
        value: Any = 1
        for _ in range(64):
            value = [value]
        self.assertFalse(tp._is_deeper(value, 64))
        self.assertTrue(tp._is_deeper([value], 64))
        with self.assertRaises(tp.ToolError):
            tp._encode({"a": value})


class Host:
    """A host of one provider process: what it sends and hears, blocking, with a deadline."""

    def __init__(self, source: str, *, env: Optional[Dict[str, str]] = None, answer: Any = None, initialize: bool = False) -> None:
        self.directory = tempfile.TemporaryDirectory()
        path = os.path.join(self.directory.name, "s")
        file = os.path.join(self.directory.name, "provider.py")
        with open(file, "w", encoding="utf-8") as script:
            script.write(textwrap.dedent(source))
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen()
        listener.settimeout(PATIENCE)
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-W", "error", file],
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": HERE,
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
        self.heard: List[Any] = []
        try:
            self.socket, _ = listener.accept()
        except socket.timeout:
            self.process.kill()
            raise AssertionError(f"it did not connect: {self.process.communicate()}")
        finally:
            listener.close()
        self.socket.settimeout(PATIENCE)
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
            self.stdout, self.stderr = self.process.communicate(timeout=PATIENCE)
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
        """The answer to a request; what comes before is kept in `heard`."""
        for index, message in enumerate(self.heard):
            if "method" not in message and message.get("id") == request_id:
                return self.heard.pop(index)
        while True:
            message = self.receive()
            if "method" not in message and message.get("id") == request_id:
                return message
            self.heard.append(message)

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
        return [message["params"] for message in self.heard if message.get("method") == method]

    def progress_of(self, call: int) -> Any:
        """Waits for progress of that call."""
        while True:
            for params in self.notices("notifications/progress"):
                if params["progressToken"] == call:
                    return params
            self.heard.append(self.receive())


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
        '''Waits and looks at nothing.'''
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
        '''What a child sees.'''
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
        '''Says what JSON does not carry.'''
        circle = []
        circle.append(circle)
        ctx.log.info("m", circle=circle, keys={(1, 2): 3}, silent=Silent(), none=float("nan"), good=1)
        ctx.progress(float("nan"))
        ctx.progress(1, float("inf"))
        return "done"
"""


class Processes(unittest.TestCase):
    def test_registration_and_a_call(self) -> None:
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

    def test_failures_are_answers_and_their_tracebacks_stay_on_stderr(self) -> None:
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

    def test_calls_run_at_once_and_answer_in_the_order_they_finish(self) -> None:
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

    def test_cancelling_at_random_points_answers_each_call_once(self) -> None:
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
            for message in host.heard:
                if "method" not in message:
                    answers[message["id"]] = answers.get(message["id"], 0) + 1
            self.assertEqual(answers, {}, f"seed {seed}")
            self.assertEqual(host.ask("provider/drain", {"deadlineMs": 0}), {"drained": True})

    def test_progress_and_logs_arrive_before_the_answer_and_print_disturbs_nothing(self) -> None:
        with Host(TOOLS + "\n    run('test')", initialize=True) as host:
            result = host.call("chatter")
            self.assertEqual(result["content"][0]["text"], "c2")
            progress = host.notices("notifications/progress")
            self.assertEqual([told["progress"] for told in progress], list(range(100)))
            self.assertEqual(progress[0], {"progressToken": 2, "progress": 0, "total": 100, "message": "step"})
            (log,) = host.notices("notifications/message")
            self.assertEqual(log["level"], "warning")
            self.assertEqual(log["data"], {"message": "careful", "count": 3, "odd": "<class 'object'>"})
            self.assertEqual(log["_meta"], {"toolwright/call": {"callId": "c2"}})
        self.assertEqual(host.stdout, b"on stdout\n")

    def test_odd_log_fields_and_progress_fail_no_tool(self) -> None:
        with Host(TOOLS + "\n    run('test')", initialize=True) as host:
            self.assertEqual(host.call("odd")["content"][0]["text"], "done")
            (log,) = host.notices("notifications/message")
            fields = {"circle": "[[...]]", "keys": "{(1, 2): 3}", "silent": "<Silent>", "none": "nan", "good": 1}
            self.assertEqual(log["data"], {"message": "m", **fields})

    def test_the_list_changes_while_it_runs(self) -> None:
        with Host(TOOLS + "\n    run('test')", initialize=True) as host:
            self.assertEqual(host.call("grow", {"name": "new"})["isError"], False)
            self.assertEqual(len(host.notices("notifications/tools/list_changed")), 1)
            self.assertIn("new", [each["name"] for each in host.ask("tools/list")["tools"]])
            self.assertEqual(host.call("new")["content"][0]["text"], "I am new")
            self.assertEqual(host.call("grow", {"name": "echo"})["_meta"]["toolwright/error"]["code"], "NAME_CONFLICT")
            self.assertEqual(host.call("shrink", {"name": "new"})["structuredContent"], {"removed": True})
            self.assertEqual(host.answer_of(host.start("new"))["error"]["data"]["code"], "TOOL_NOT_FOUND")

    def test_the_lifecycle_and_its_state(self) -> None:
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

    def test_bad_frames_are_answered_and_ten_close_the_connection(self) -> None:
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

    def test_too_large_an_answer_is_a_failure_of_its_call_alone(self) -> None:
        with Host(TOOLS + "\n    run('test')", initialize=True) as host:
            error = host.call("big", {"length": 17 * 1024 * 1024})["_meta"]["toolwright/error"]
            self.assertEqual(error["code"], "FRAME_TOO_LARGE")
            self.assertEqual(len(host.call("big", {"length": 4_000_000})["content"][0]["text"]), 4_000_000)

    def test_a_host_that_does_not_read_loses_no_answer(self) -> None:
        with Host(TOOLS + "\n    run('test')", initialize=True) as host:
            calls = [host.start("big", {"length": 3_000_000}) for _ in range(8)]  # more than the queue holds
            for call in calls:
                self.assertEqual(len(host.answer_of(call)["result"]["content"][0]["text"]), 3_000_000)

    def test_it_ends_by_itself_when_the_socket_closes_whatever_runs(self) -> None:
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
            self.assertLess(time.monotonic() - started, PATIENCE)
        self.assertNotIn(b"Traceback", host.stderr)
        self.assertNotIn(b"Fatal", host.stderr)

    def test_sigterm_disposes_and_ends(self) -> None:
        with Host(TOOLS + "\n    run('test', dispose=lambda ctx: print('disposed'))\n    print('after')") as host:
            host.initialize()
            call = host.start("sleep")
            host.progress_of(call)
            host.process.send_signal(signal.SIGTERM)
            self.assertEqual(host.answer_of(call)["result"]["_meta"]["toolwright/error"]["code"], "CANCELLED")
            self.assertEqual(host.wait(), 0)
            self.assertEqual(host.stdout, b"disposed\nafter\n")

    def test_a_fork_neither_holds_the_connection_nor_takes_its_signals_along(self) -> None:
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
        import gc, toolwright_provider
        return next(o for o in gc.get_objects() if isinstance(o, toolwright_provider._Connection)).socket_number

    import warnings
    warnings.simplefilter("ignore", DeprecationWarning)  # that a process with threads forks, which is what is tested
    run("test")
"""
        with Host(TOOLS + tail, initialize=True) as host:
            outcome = host.call("fork")["structuredContent"]
            self.assertEqual(outcome, {"exit_code": -signal.SIGTERM, "holds": False, "parent_holds": True})
            self.assertEqual(host.call("echo", {"text": "on"})["isError"], False)

    def test_a_refusal_ends_it_with_words_and_a_code(self) -> None:
        data = {"code": "PROTOCOL_VIOLATION", "details": {"permanent": True}}
        error = {"code": -32000, "message": "Wrong token.", "data": data}
        passing = {**error, "data": {"code": "UNAVAILABLE"}}
        for answer, code in (({"error": error}, 78), ({"error": passing}, 1), ({"result": {"protocol": 9}}, 1)):
            with Host(TOOLS + "\n    run('test', dispose=lambda ctx: print('disposed'))", answer=answer) as host:
                self.assertEqual(host.wait(), code)
                self.assertIn(b"cannot serve", host.stderr)
                self.assertNotIn(b"Traceback", host.stderr)
                self.assertEqual(host.stdout, b"")

    def test_a_busy_host_is_asked_again(self) -> None:
        busy = {"code": -32000, "message": "Full.", "data": {"code": "BUSY"}}
        with tempfile.TemporaryDirectory() as directory:
            with socket.socket(socket.AF_UNIX) as listener:
                path = os.path.join(directory, "s")
                listener.bind(path)
                listener.listen()
                listener.settimeout(PATIENCE)
                source = textwrap.dedent(TOOLS) + "\nrun('test')"
                environment = {"PATH": os.environ["PATH"], "PYTHONPATH": HERE, "PYTHONDONTWRITEBYTECODE": "1"}
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
                self.assertEqual(process.wait(PATIENCE), 0)

    def test_without_a_host_run_does_nothing(self) -> None:
        source = textwrap.dedent(TOOLS) + "\nrun('test')\nprint(echo('plain'))"
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": HERE, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, "-W", "error", "-c", source], env=env, capture_output=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"{'text': 'plain'}\n", b""))


if __name__ == "__main__":
    unittest.main()
