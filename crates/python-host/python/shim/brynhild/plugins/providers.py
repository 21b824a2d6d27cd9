"""Loads the providers of plugins, and registers them by name."""
from __future__ import annotations

from brynhild.api.base import LLMProvider
from brynhild.plugins._modules import load_classes

__all__ = [
    "ProviderLoader",
    "clear_plugin_providers",
    "get_all_plugin_providers",
    "get_plugin_provider",
    "get_plugin_provider_names",
    "load_all_plugin_providers",
    "register_plugin_provider",
]

_registered: dict[str, type] = {}


class ProviderLoader:
    """Reads `providers/*.py`."""

    def load_from_directory(self, path, plugin_name: str = "plugin") -> dict[str, type]:
        """Provider classes by the name they are selected with."""
        classes = load_classes(path, plugin_name, "providers", LLMProvider, "Provider")
        return {getattr(found, "PROVIDER_NAME", None) or stem: found for stem, found in classes}

    def load_from_plugin(self, plugin) -> dict[str, type]:
        """The provider classes of a plugin."""
        return self.load_from_directory(plugin.providers_path, plugin.name) if plugin.has_providers() else {}


def register_plugin_provider(name: str, provider: type) -> None:
    """Register a provider class under a name."""
    _registered[name] = provider


def get_plugin_provider(name: str) -> type | None:
    """The provider class of a name."""
    return _registered.get(name)


def get_all_plugin_providers() -> dict[str, type]:
    """All known provider classes."""
    return dict(_registered)


def get_plugin_provider_names() -> list[str]:
    """The names of all known provider classes."""
    return sorted(_registered)


def clear_plugin_providers() -> None:
    """Remove all registered provider classes."""
    _registered.clear()


def load_all_plugin_providers(project_root=None) -> dict[str, type]:
    """Find, load and register the providers of all plugins."""
    from brynhild.plugins.discovery import PluginDiscovery

    for plugin in PluginDiscovery(project_root).discover().values():
        _registered.update(ProviderLoader().load_from_plugin(plugin))
    return get_all_plugin_providers()
