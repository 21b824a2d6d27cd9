"""Plugins: their manifests and the files in their directories."""
from brynhild._lazy import attach

_NAMES = {
    "Command": "commands",
    "CommandFrontmatter": "commands",
    "CommandLoader": "commands",
    "Plugin": "manifest",
    "PluginDiscovery": "discovery",
    "PluginLoader": "loader",
    "PluginManifest": "manifest",
    "PluginRegistry": "registry",
    "ProviderLoader": "providers",
    "RulesManager": "rules",
    "ToolLoader": "tools",
    "load_command": "commands",
    "load_manifest": "manifest",
}

__all__ = sorted(_NAMES)

__getattr__, __dir__ = attach(
    __name__,
    _NAMES,
    (
        "commands",
        "discovery",
        "hooks",
        "lifecycle",
        "loader",
        "manifest",
        "providers",
        "registry",
        "rules",
        "stubs",
        "tools",
    ),
)
