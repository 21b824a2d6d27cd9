"""Finds plugins in directories."""
from __future__ import annotations

import os as _os
import pathlib as _pathlib

from brynhild.plugins.manifest import MANIFEST_NAME, Plugin, load_manifest

__all__ = ["PluginDiscovery", "get_global_plugins_path", "get_project_plugins_path"]


def get_global_plugins_path() -> _pathlib.Path:
    """The directory of the user's plugins."""
    return _pathlib.Path.home() / ".config" / "brynhild" / "plugins"


def get_project_plugins_path(project_root) -> _pathlib.Path:
    """The directory of a project's plugins."""
    return _pathlib.Path(project_root) / ".brynhild" / "plugins"


class PluginDiscovery:
    """Searches directories for plugins. Of two plugins with the same name, the later one is used."""

    def __init__(self, project_root=None, search_paths=None) -> None:
        self.project_root = project_root
        self._search_paths = search_paths

    def get_search_paths(self) -> list[_pathlib.Path]:
        """The directories, lowest precedence first."""
        if self._search_paths is not None:
            return [_pathlib.Path(path) for path in self._search_paths]
        listed = _os.environ.get("BRYNHILD_PLUGIN_PATH", "").split(_os.pathsep)
        paths = [get_global_plugins_path()] + [_pathlib.Path(path).expanduser() for path in listed if path]
        if self.project_root is not None:
            paths.append(get_project_plugins_path(self.project_root))
        return paths

    def discover(self) -> dict[str, Plugin]:
        """The plugins by name. One with an invalid manifest is skipped with a warning."""
        import warnings

        found: dict[str, Plugin] = {}
        for path in self.get_search_paths():
            directories = [path] if (path / MANIFEST_NAME).is_file() else sorted(path.iterdir()) if path.is_dir() else []
            for directory in directories:
                if not (directory / MANIFEST_NAME).is_file():
                    continue
                try:
                    plugin = Plugin(load_manifest(directory), directory.resolve())
                except (ValueError, OSError) as error:
                    warnings.warn("plugin %s is left out: %s" % (directory, error), stacklevel=2)
                    continue
                found[plugin.name] = plugin
        return found
