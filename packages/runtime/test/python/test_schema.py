"""Type hints as JSON Schema, and values as the hints say."""

from __future__ import annotations

import sys
import unittest
from typing import Optional

from samples import Options, Point, Tree, define
from toolwright_provider import ToolError


class SchemaTest(unittest.TestCase):
    def test_union_with_a_bar_is_supported_where_python_supports_it(self) -> None:
        def take(a: int | None = None) -> None:
            """Takes."""

        if sys.version_info >= (3, 10):
            expected = {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}
            self.assertEqual(define(take).listing["inputSchema"]["properties"]["a"], expected)
        else:
            with self.assertRaisesRegex(ToolError, "before Python 3.10 write Optional"):
                define(take)

    def test_dataclass_and_typed_dict_become_objects_and_their_values_instances(self) -> None:
        def plot(point: Point, options: Options) -> None:
            """Plots."""

        plotted = define(plot)
        properties = plotted.listing["inputSchema"]["properties"]
        self.assertEqual(properties["point"]["required"], ["x"])
        self.assertEqual(properties["point"]["properties"]["label"]["description"], "What to call it.")
        self.assertNotIn("required", properties["options"])
        parsed = plotted.parse({"point": {"x": 1}, "options": {"deep": True}})
        self.assertEqual(parsed, {"point": Point(1.0), "options": {"deep": True}})

    def test_class_that_contains_itself_becomes_a_definition(self) -> None:
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
        with self.assertRaisesRegex(ToolError, r"tree\.children\[0\]\.name: is missing"):
            walked.parse({"tree": {"name": "a", "children": [{}]}})
