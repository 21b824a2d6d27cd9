"""Tools by name."""
from __future__ import annotations

from brynhild.tools.base import Tool

__all__ = ["ToolRegistry", "build_registry_from_settings", "get_default_registry"]


class ToolRegistry:
    """Tools by name. Each name is used once."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}

    def register(self, tool: Tool) -> None:
        """Add a tool; ValueError if its name is taken."""
        if tool.name in self._tools:
            raise ValueError("Tool '%s' already registered" % tool.name)
        self._tools[tool.name] = tool

    def unregister(self, name: str) -> None:
        """Remove a tool; KeyError if there is none of this name."""
        self.get_or_raise(name)
        del self._tools[name]

    def get(self, name: str) -> Tool | None:
        """The tool with this name, or None."""
        return self._tools.get(name)

    def get_or_raise(self, name: str) -> Tool:
        """The tool with this name; KeyError if there is none."""
        if name not in self._tools:
            raise KeyError("Tool '%s' not found. Available: %s" % (name, ", ".join(sorted(self._tools))))
        return self._tools[name]

    def list_tools(self) -> list[Tool]:
        """All tools, by name."""
        return [tool for _, tool in sorted(self._tools.items())]

    def list_names(self) -> list[str]:
        """All names, sorted."""
        return sorted(self._tools)

    def to_api_format(self) -> list[dict]:
        """All tools in the format of Anthropic's API."""
        return [tool.to_api_format() for tool in self.list_tools()]

    def to_openai_format(self) -> list[dict]:
        """All tools in the format of OpenAI's API."""
        return [tool.to_openai_format() for tool in self.list_tools()]

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __len__(self) -> int:
        return len(self._tools)

    def __iter__(self):
        return iter(self.list_tools())


_default: ToolRegistry | None = None


def get_default_registry() -> ToolRegistry:
    """The registry of this process. It has the tools that were registered in it."""
    global _default
    if _default is None:
        _default = ToolRegistry()
    return _default


def build_registry_from_settings(settings=None, plugins=()) -> ToolRegistry:
    """A registry with the tools of some plugins. The built-in tools of Brynhild are not in it."""
    from brynhild.plugins.tools import ToolLoader

    registry = ToolRegistry()
    for plugin in plugins:
        for tool in ToolLoader().load_from_plugin(plugin).values():
            registry.register(tool())
    return registry
