"""The registry of tool types that packages bring."""
import dataclasses
from typing import Any, Callable


@dataclasses.dataclass
class ToolPlugin:
    """A tool type: its name, its configuration, and what builds its tools."""

    type: str
    config_class: Any
    builder: Callable
    description: str = ""


class PluginRegistry:
    """The tool types that were registered; the first of a name stays."""

    def __init__(self):
        self._plugins = {}

    def register(self, plugin):
        """Add a tool type."""
        self._plugins.setdefault(plugin.type, plugin)

    def discover(self):
        """Find what is installed; that was done before any plugin is asked."""

    def get(self, name):
        """The tool type of a name, where there is one."""
        return self._plugins.get(name)

    def list_types(self):
        """Their names, sorted."""
        return sorted(self._plugins)

    def list_plugins(self):
        """All of them by name."""
        return dict(self._plugins)

    def __contains__(self, name):
        return name in self._plugins


_registry = PluginRegistry()


def get_registry():
    """The one registry."""
    return _registry


def __getattr__(name):
    from brynhild_host.adapters.initrunner.imports import wanted

    raise wanted(__name__, name)
