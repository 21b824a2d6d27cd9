"""Base classes for tools that are tested without Brynhild."""
from __future__ import annotations

from brynhild.tools._records import ToolMetrics, ToolResult

__all__ = ["Tool", "ToolBase", "ToolMetrics", "ToolResult"]


class ToolBase:
    """A tool with default implementations; nothing is abstract, so a half-written one can be made."""

    @property
    def name(self) -> str:
        """The name the model calls it by."""
        raise NotImplementedError("a tool needs a `name`")

    @property
    def description(self) -> str:
        """What the model reads about it."""
        raise NotImplementedError("a tool needs a `description`")

    @property
    def input_schema(self) -> dict:
        """The JSON Schema of its input."""
        raise NotImplementedError("a tool needs an `input_schema`")

    @property
    def requires_permission(self) -> bool:
        """Whether a person has to approve each call."""
        return True

    @property
    def version(self) -> str:
        """Its version."""
        return "0.0.0"

    @property
    def categories(self) -> list[str]:
        """Tags."""
        return []

    @property
    def examples(self) -> list[dict]:
        """Inputs that show its use."""
        return []

    async def execute(self, input: dict) -> ToolResult:
        """Run one call."""
        raise NotImplementedError("a tool needs `execute`")

    def to_api_format(self) -> dict:
        """The tool as Anthropic's interface has it."""
        return {"name": self.name, "description": self.description, "input_schema": self.input_schema}

    def to_openai_format(self) -> dict:
        """The tool as OpenAI's interface has it."""
        function = {"name": self.name, "description": self.description, "parameters": self.input_schema}
        return {"type": "function", "function": function}

    def __repr__(self) -> str:
        return "<Tool %s>" % self.name


Tool = ToolBase
