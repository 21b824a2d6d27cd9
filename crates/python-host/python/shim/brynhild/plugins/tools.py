"""Loads the tools in a plugin's directory."""
from __future__ import annotations

from brynhild.plugins._modules import load_classes
from brynhild.tools.base import Tool

__all__ = ["ToolLoader"]


class ToolLoader:
    """Reads `tools/*.py`."""

    def load_from_directory(self, path, plugin_name: str = "plugin") -> dict[str, type]:
        """Tool classes by file stem."""
        return dict(load_classes(path, plugin_name, "tools", Tool, "Tool"))

    def load_from_plugin(self, plugin) -> dict[str, type]:
        """The tool classes of a plugin."""
        return self.load_from_directory(plugin.tools_path, plugin.name) if plugin.has_tools() else {}
