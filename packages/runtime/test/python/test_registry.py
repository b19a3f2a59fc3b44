"""The tools of a process."""

from __future__ import annotations

import unittest
from typing import Any

from samples import define
from toolwright_provider import ToolError
from toolwright_provider.registry import Registry


class RegistryTest(unittest.TestCase):
    def test_add_refuses_another_function_with_the_same_name(self) -> None:
        registry = Registry()

        def make() -> Any:
            def same() -> None:
                """Same."""

            return same

        registry.add(define(make()))
        with self.assertRaises(ToolError) as caught:
            registry.add(define(make()))
        self.assertEqual(caught.exception.code, "NAME_CONFLICT")
