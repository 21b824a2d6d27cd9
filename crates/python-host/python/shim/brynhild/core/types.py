"""Tool calls and results as front ends show them."""
from __future__ import annotations

from brynhild._records import record

__all__ = ["ToolCallDisplay", "ToolResultDisplay"]


@record()
class ToolCallDisplay:
    """A call that is about to run."""

    tool_name: str
    tool_input: dict
    tool_id: str | None = None
    is_recovered: bool = False

    def __init__(
        self, tool_name: str, tool_input: dict, tool_id: str | None = None, is_recovered: bool = False
    ) -> None:
        self.tool_name = tool_name
        self.tool_input = tool_input
        self.tool_id = tool_id
        self.is_recovered = is_recovered


@record()
class ToolResultDisplay:
    """The result of a call."""

    tool_name: str
    result: object
    tool_id: str | None = None

    def __init__(self, tool_name: str, result: object, tool_id: str | None = None) -> None:
        self.tool_name = tool_name
        self.result = result
        self.tool_id = tool_id
