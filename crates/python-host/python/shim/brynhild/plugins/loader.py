"""Loads a plugin and checks that its directory contains the files of its manifest."""
from __future__ import annotations

import pathlib as _pathlib

from brynhild.plugins.manifest import Plugin, load_manifest

__all__ = ["PluginLoadError", "PluginLoader"]


class PluginLoadError(Exception):
    """Raised if a plugin cannot be loaded."""


class PluginLoader:
    """Loads plugins from their directories."""

    def load(self, path) -> Plugin:
        """The plugin in a directory."""
        directory = _pathlib.Path(path)
        if not directory.is_dir():
            raise PluginLoadError("Plugin directory not found: %s" % directory)
        try:
            return Plugin(load_manifest(directory), directory)
        except FileNotFoundError as error:
            raise PluginLoadError(str(error)) from error
        except ValueError as error:
            raise PluginLoadError("Invalid plugin manifest in %s: %s" % (directory, error)) from error

    def validate(self, path) -> list[str]:
        """The files that the manifest declares and that are missing."""
        plugin = self.load(path)
        manifest = plugin.manifest
        warnings = []
        for name in manifest.commands:
            if not (plugin.commands_path / (name + ".md")).is_file():
                warnings.append("Declared command not found: %s.md" % name)
        for name in manifest.tools:
            if not (plugin.tools_path / (name + ".py")).is_file():
                warnings.append("Declared tool not found: %s.py" % name)
        if manifest.hooks and not plugin.hooks_path.is_file():
            warnings.append("Plugin declares hooks but hooks.yaml missing")
        for name in manifest.skills:
            if not (plugin.skills_path / name / "SKILL.md").is_file():
                warnings.append("Declared skill not found: %s/SKILL.md" % name)
        return warnings
