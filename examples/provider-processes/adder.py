"""The smallest provider in Python: one function, which becomes the tool adder.add."""

from typing import TypedDict
from toolwright_provider import run, tool

class Sum(TypedDict):
    sum: float

@tool(read_only=True, open_world=False)
def add(a: float, b: float) -> Sum:
    """Add two numbers.

    Args:
        a: The first number.
        b: The second number.
    """
    return {"sum": a + b}

run("adder", version="1.0.0")
