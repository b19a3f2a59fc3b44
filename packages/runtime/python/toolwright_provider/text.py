"""Short texts for messages: shortened input, names that are close to a wrong one, the message of any exception."""

from __future__ import annotations

from typing import Any, Iterable


def shorten(text: str, limit: int = 80) -> str:
    return text if len(text) <= limit else text[:limit] + "…"


def suggest(wanted: str, names: Iterable[str], prefix: str = "") -> str:
    """`; did you mean "x"?` when a name is close to the wanted one; otherwise the first 20 names."""
    import difflib  # here because only a mistake needs it

    known = list(names)
    lower = {name.lower(): name for name in known}
    near = difflib.get_close_matches(str(wanted)[:128].lower(), lower, n=1, cutoff=0.4)
    if near:
        return f'; did you mean "{prefix}{lower[near[0]]}"?'
    return f"; valid names: {', '.join(prefix + name for name in known[:20])}" if known else "; no name is valid here"


def describe_exception(error: BaseException) -> str:
    """The message of an exception; never raises. The text of a KeyError is only its key, so its type name is added."""
    try:
        text = str(error)
    except Exception:
        text = ""
    if not text:
        return type(error).__name__
    return f"{type(error).__name__}: {text}" if isinstance(error, KeyError) else text


def safe_repr(value: Any) -> str:
    """`repr(value)`, or the name of the type when `repr` fails."""
    try:
        return repr(value)
    except Exception:  # raised by the value's own __repr__
        return f"<{type(value).__name__}>"
