"""MCP results from what tools return."""

from __future__ import annotations

import json
import unittest
from typing import Any, Dict, List

from samples import Color, Point, Sum, define
from toolwright_provider import Directive, Result, ToolError
from toolwright_provider.output import to_result


class OutputTest(unittest.TestCase):
    def result(self, output: Any, hint: Any = None) -> Any:
        return to_result(self.tool(hint), output)

    def tool(self, hint: Any) -> Any:
        def give() -> None:
            """Gives."""

        if hint is not None:
            give.__annotations__["return"] = hint
        return define(give)

    def test_to_result_accepts_text_blocks_objects_and_none(self) -> None:
        text = [{"type": "text", "text": "hi"}]
        self.assertEqual(self.result("hi"), {"content": text, "isError": False})
        self.assertEqual(self.result(None)["content"], [])
        self.assertEqual(self.result(text)["content"], text)
        self.assertEqual(self.result({"content": text}), {"content": text, "isError": False})
        self.assertEqual(self.result({"content": "hi"})["structuredContent"], {"content": "hi"})
        self.assertEqual(self.result(Point(1.0))["structuredContent"], {"x": 1.0, "y": 0.0, "label": ""})
        structured = self.result({"é": (1, Color.RED)})
        self.assertEqual(structured["content"], [{"type": "text", "text": '{"é":[1,"red"]}'}])

    def test_to_result_wraps_a_value_that_is_not_an_object(self) -> None:
        for output, text in ((3, "3"), (2.5, "2.5"), (True, "true"), ([], "[]"), ([1, "é"], '[1,"é"]'), ((1, 2), "[1,2]")):
            result = self.result(output)
            self.assertEqual(result["structuredContent"], {"result": json.loads(text)})
            self.assertEqual(result["content"], [{"type": "text", "text": text}])
        rows = [{"type": "file", "name": "a"}]
        self.assertEqual(self.result(rows)["structuredContent"], {"result": rows})
        self.assertEqual(self.result([Point(1.0)])["structuredContent"]["result"], [{"x": 1.0, "y": 0.0, "label": ""}])

    def test_output_schema_of_another_type_than_object_is_listed_and_enforced_wrapped(self) -> None:
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
            with self.assertRaises(ToolError) as caught:
                self.result(bad, hint)
            self.assertEqual(caught.exception.code, "OUTPUT_INVALID")

        def count() -> Any:
            """Counts."""

        schema = {"$defs": {"n": {"type": "number"}}, "$ref": "#/$defs/n"}
        counted = define(count, output_schema=schema)
        self.assertEqual(counted.listing["outputSchema"]["properties"], {"result": {"$ref": "#/$defs/n"}})
        self.assertEqual(counted.listing["outputSchema"]["$defs"], schema["$defs"])
        self.assertEqual(to_result(counted, "text")["structuredContent"], {"result": "text"})

    def test_to_result_puts_directives_and_the_error_into_meta(self) -> None:
        result = self.result(Directive("stop_processing"))
        self.assertEqual(result["_meta"], {"toolwright/directives": [{"type": "stop_processing", "params": {}}]})
        error = ToolError("NOT_FOUND", "missing", details={"path": "x", "odd": object()})
        failed = self.result(Result(content=[{"type": "text", "text": "partial"}], error=error))
        self.assertEqual(failed["content"], [{"type": "text", "text": "partial"}])
        info = {"code": "NOT_FOUND", "message": "missing", "retryable": False, "details": {"path": "x"}}
        self.assertEqual((failed["isError"], failed["_meta"]), (True, {"toolwright/error": info}))

    def test_to_result_refuses_what_json_or_the_schema_does_not_allow(self) -> None:
        circle: Dict[str, Any] = {}
        circle["self"] = circle
        deep: Any = {}
        for _ in range(100_000):
            deep = {"a": deep}
        for output in (b"x", [b"x"], object(), float("inf"), {"f": print}, {"n": float("nan")}, circle, deep, {(1, 2): 3}):
            with self.assertRaises(ToolError) as caught:
                self.result(output)
            self.assertEqual(caught.exception.code, "OUTPUT_INVALID")
        for output in ({"sum": "x"}, {}, "text", None):
            with self.assertRaises(ToolError) as caught:
                self.result(output, Sum)
            self.assertEqual(caught.exception.code, "OUTPUT_INVALID")
