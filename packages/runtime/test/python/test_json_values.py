"""The part of a value that JSON can represent."""

from __future__ import annotations

import unittest
from typing import Any, Dict

from samples import Point
from toolwright_provider.json_values import json_part


class JsonValuesTest(unittest.TestCase):
    def test_json_part_returns_the_json_and_lists_what_it_omitted(self) -> None:
        state: Dict[str, Any] = {"n": 1, "sub": {"f": print, "ok": (1, b"x")}, "point": Point(1.0), 3: 4}
        state["circle"] = state
        carried, dropped = json_part(state)
        self.assertEqual(carried, {"n": 1, "sub": {"ok": [1, None]}, "point": {"x": 1.0, "y": 0.0, "label": ""}})
        self.assertEqual(sorted(dropped), ["3", "circle", "sub.f", "sub.ok.1"])
        self.assertEqual(json_part(object()), (None, ["state"]))
