"""A provider in Python. Its functions become the tools calculator.add, calculator.divide and calculator.history."""

from typing import List, TypedDict

from toolwright_provider import Context, ToolError, run, tool


class Sum(TypedDict):
    sum: float


class Quotient(TypedDict):
    quotient: float


@tool(read_only=True, open_world=False)
def add(a: float, b: float, ctx: Context) -> Sum:
    """Add two numbers."""
    ctx.state["history"].append(f"{a:g} + {b:g} = {a + b:g}")
    return {"sum": a + b}


@tool(read_only=True, open_world=False)
async def divide(a: float, b: float, ctx: Context) -> Quotient:
    """Divide a by b.

    Args:
        a: The dividend.
        b: The divisor; not 0.
    """
    if b == 0:
        raise ToolError("INVALID_ARGUMENT", "b must not be 0.")
    quotient = round(a / b, ctx.state["precision"])
    ctx.state["history"].append(f"{a:g} / {b:g} = {quotient:g}")
    ctx.log.info("divided", a=a, b=b)
    return {"quotient": quotient}


@tool(read_only=True, open_world=False)
def history(ctx: Context) -> str:
    """List all calculations, including those before the last hot reload."""
    lines: List[str] = ctx.state["history"]
    return "\n".join(lines) or "Nothing yet."


def initialize(current, previous, ctx):
    """Create the state that tools see. After a hot reload, `previous` is the old process's state."""
    return {"precision": current.config.get("precision", 12), "history": (previous or {}).get("history", [])}


run("calculator", version="1.0.0", description="Calculates.", initialize=initialize)
