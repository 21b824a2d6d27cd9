"""Loads and merges the hooks of plugins."""
from __future__ import annotations

from brynhild.hooks.config import HooksConfig, load_hooks_yaml

__all__ = ["load_plugin_hooks", "merge_hooks"]


def load_plugin_hooks(plugin) -> HooksConfig | None:
    """The hooks of a plugin, or None if its manifest declares none."""
    if not plugin.has_hooks() or not plugin.hooks_path.is_file():
        return None
    return load_hooks_yaml(plugin.hooks_path)


def merge_hooks(base: HooksConfig, other: HooksConfig) -> HooksConfig:
    """Both sets of hooks. A hook of the second set replaces one with the same event and name."""
    hooks = {event: list(definitions) for event, definitions in base.hooks.items()}
    for event, definitions in other.hooks.items():
        merged = hooks.setdefault(event, [])
        for definition in definitions:
            places = [index for index, known in enumerate(merged) if known.name == definition.name]
            if places:
                merged[places[0]] = definition
            else:
                merged.append(definition)
    return HooksConfig(version=base.version, hooks=hooks)
