"""Docstrings in Google's style: the description of a tool, and those of its arguments from the `Args:` section."""

from __future__ import annotations

import re
from typing import Dict, List, Tuple


def read_docstring(text: str) -> Tuple[str, Dict[str, str]]:
    """The docstring without its `Args:` section, and the description of each argument in that section."""
    remaining: List[str] = []
    described: Dict[str, str] = {}
    name, inside, indent = "", False, 0
    for line in text.splitlines():
        if line.strip() in ("Args:", "Arguments:", "Parameters:") and not line[:1].isspace():
            inside, indent = True, 0
            continue
        if inside and line.strip() and not line[0].isspace():
            inside = False
        if not inside:
            remaining.append(line)
            continue
        depth = len(line) - len(line.lstrip())
        entry = re.match(r"\s+\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)", line)
        if entry and depth <= (indent or depth):
            indent, name = depth, entry[1]
            described[name] = entry[2].strip()
        elif name and line.strip():
            described[name] = f"{described[name]} {line.strip()}".strip()
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(remaining)).strip()
    return text, {name: description for name, description in described.items() if description}
