"""The plugins that were found, enabled or disabled."""
from __future__ import annotations

from brynhild.plugins.discovery import PluginDiscovery
from brynhild.plugins.manifest import Plugin

__all__ = ["PluginRegistry"]


class PluginRegistry:
    """Plugins by name. All are enabled until they are disabled here."""

    def __init__(self, project_root=None, discovery: PluginDiscovery | None = None) -> None:
        self._discovery = discovery or PluginDiscovery(project_root)
        self._plugins: dict[str, Plugin] | None = None

    def _found(self) -> dict[str, Plugin]:
        if self._plugins is None:
            self._plugins = self._discovery.discover()
        return self._plugins

    def list_plugins(self) -> list[Plugin]:
        """All plugins, by name."""
        return [plugin for _, plugin in sorted(self._found().items())]

    def get_plugin(self, name: str) -> Plugin | None:
        """The plugin of a name."""
        return self._found().get(name)

    def get_enabled_plugins(self) -> list[Plugin]:
        """The enabled plugins."""
        return [plugin for plugin in self.list_plugins() if plugin.enabled]

    def is_enabled(self, name: str) -> bool:
        """True if a plugin exists and is enabled."""
        plugin = self.get_plugin(name)
        return plugin is not None and plugin.enabled

    def enable(self, name: str) -> bool:
        """Enable a plugin; false if there is none of this name."""
        return self._switch(name, True)

    def disable(self, name: str) -> bool:
        """Disable a plugin; false if there is none of this name."""
        return self._switch(name, False)

    def _switch(self, name: str, enabled: bool) -> bool:
        plugin = self.get_plugin(name)
        if plugin is not None:
            plugin.enabled = enabled
        return plugin is not None
