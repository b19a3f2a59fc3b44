"""Definitions of tools: their listing, and the arguments that they accept."""

from __future__ import annotations

import typing
import unittest
from typing import Dict, List, Optional, Union

from samples import Color, Sum, define
from toolwright_provider import Context, ToolError


class DefinitionTest(unittest.TestCase):
    def test_listing_has_the_schema_of_the_type_hints(self) -> None:
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

    def test_listing_omits_the_context(self) -> None:
        def look(ctx: Context, text: str = "") -> None:
            """Looks."""

        self.assertEqual(list(define(look).listing["inputSchema"]["properties"]), ["text"])

    def test_listing_has_the_output_schema_of_the_return_annotation(self) -> None:
        async def add(a: float, b: float) -> Sum:
            """Adds."""
            return {"sum": a + b}

        self.assertEqual(define(add).listing["outputSchema"]["required"], ["sum"])

    def test_definition_lists_every_fault_in_one_error(self) -> None:
        def broken(when: complex, *rest: int) -> int:
            return 1

        with self.assertRaises(ToolError) as caught:
            define(broken, name="no good")
        for words in ("no good", "docstring", "complex has no form in JSON", "parameter rest"):
            self.assertIn(words, caught.exception.message)

    def test_parse_lists_unknown_and_missing_arguments(self) -> None:
        def echo(text: str) -> str:
            """Echoes."""
            return text

        with self.assertRaises(ToolError) as caught:
            define(echo).parse({"texts": 1})
        self.assertEqual(caught.exception.code, "INVALID_ARGUMENT")
        self.assertEqual(
            caught.exception.message,
            'Wrong arguments for "echo": texts: is unknown; did you mean "text"?; text: is missing.',
        )
        for wrong in (None, [], "x", 1):
            with self.assertRaises(ToolError):
                define(echo).parse(wrong)

    def test_parse_shortens_a_very_long_argument_name(self) -> None:
        def echo(text: str) -> str:
            """Echoes."""
            return text

        with self.assertRaises(ToolError) as caught:
            define(echo).parse({"x" * 5_000_000: 1})
        self.assertLess(len(caught.exception.message), 1_000)
