"""Base classes for tools that are tested without Brynhild."""
from __future__ import annotations

from brynhild.tools._records import ToolMetrics, ToolResult

__all__ = ["Tool", "ToolBase", "ToolMetrics", "ToolResult"]


class ToolBase:
    """A tool with a default for each member, so an incomplete tool can be tested."""

    @property
    def name(self) -> str:
        """The name the model calls it by."""
        raise NotImplementedError("a tool needs a `name`")

    @property
    def description(self) -> str:
        """The description that the model reads."""
        raise NotImplementedError("a tool needs a `description`")

    @property
    def input_schema(self) -> dict:
        """The JSON Schema of its input."""
        raise NotImplementedError("a tool needs an `input_schema`")

    @property
    def requires_permission(self) -> bool:
        """True if the user must approve each call."""
        return True

    @property
    def version(self) -> str:
        """The version of the tool."""
        return "0.0.0"

    @property
    def categories(self) -> list[str]:
        """Categories that the tool is listed under."""
        return []

    @property
    def examples(self) -> list[dict]:
        """Example inputs. The model reads them, and `brynhild plugin test` runs them."""
        return []

    async def execute(self, input: dict) -> ToolResult:
        """Run one call with a checked input, and return a ToolResult."""
        raise NotImplementedError("a tool needs `execute`")

    def to_api_format(self) -> dict:
        """The tool in the format of Anthropic's API."""
        return {"name": self.name, "description": self.description, "input_schema": self.input_schema}

    def to_openai_format(self) -> dict:
        """The tool in the format of OpenAI's API."""
        function = {"name": self.name, "description": self.description, "parameters": self.input_schema}
        return {"type": "function", "function": function}

    def __repr__(self) -> str:
        return "<Tool %s>" % self.name


Tool = ToolBase
