"""The base of the system prompt."""
from __future__ import annotations

__all__ = ["get_system_prompt"]


def get_system_prompt(model: str = "", tools=None) -> str:
    """The system prompt with the names of the tools."""
    lines = ["You are Brynhild, a coding assistant in a terminal%s." % (", powered by %s" % model if model else "")]
    listed = list(tools.list_tools() if hasattr(tools, "list_tools") else tools or ())
    if listed:
        lines += ["", "Tools:"] + ["- %s: %s" % (tool.name, tool.description) for tool in listed]
    return "\n".join(lines)
