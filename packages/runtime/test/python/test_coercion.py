"""Validation and coercion of JSON values."""

from __future__ import annotations

import typing
import unittest
from typing import Any, List, Optional, Union

from samples import Color, Even, Point
from toolwright_provider.coercion import InvalidValue
from toolwright_provider.schema import SchemaBuilder


class CoercionTest(unittest.TestCase):
    def refused(self, hint: Any, value: Any) -> str:
        with self.assertRaises(InvalidValue) as caught:
            SchemaBuilder().adapter_for(hint).parse(value, True)
        return caught.exception.summary()

    def accepted(self, hint: Any, value: Any) -> Any:
        return SchemaBuilder().adapter_for(hint).parse(value, True)

    def test_parse_refuses_a_value_of_the_wrong_type(self) -> None:
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

    def test_parse_coerces_a_number_or_boolean_that_was_sent_as_a_string(self) -> None:
        self.assertEqual(self.accepted(int, "12"), 12)
        self.assertEqual(self.accepted(int, "-1e3"), -1000)
        self.assertEqual(self.accepted(float, "1.5"), 1.5)
        self.assertIs(self.accepted(bool, "true"), True)
        for text in ("", "1.", "0x1", "٣", "1_000", " 1", "1\n", "NaN", "1" * 30):
            self.refused(int, text)

    def test_parse_returns_the_type_of_the_hint(self) -> None:
        self.assertEqual(self.accepted(typing.Tuple[int, ...], [1, 2]), (1, 2))
        self.assertEqual(self.accepted(typing.Set[str], ["a", "a"]), {"a"})
        self.assertIs(self.accepted(Color, "blue"), Color.BLUE)
        self.assertEqual(self.accepted(Union[int, Point], {"x": 1}), Point(1.0))
        self.assertIs(type(self.accepted(float, 1)), float)
        self.assertEqual(self.accepted(int, 2.0), 2)

    def test_parse_enforces_the_keywords_of_annotated(self) -> None:
        self.assertEqual(self.refused(typing.Annotated[int, {"minimum": 1}], 0), "must be at least 1")
        self.assertEqual(self.refused(typing.Annotated[str, {"pattern": "^a"}], "b"), "must match ^a")
        self.assertEqual(self.refused(typing.Annotated[List[int], {"maxItems": 1}], [1, 2]), "must have at most 1 items")
