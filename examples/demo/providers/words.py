"""The demo's provider in Python."""

from toolwright_provider import run, tool


@tool(read_only=True, open_world=False)
def count(text: str) -> dict:
    """Count the words of a text."""
    return {"words": len(text.split())}


run("words")
