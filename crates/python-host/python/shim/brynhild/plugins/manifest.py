"""The manifest of a plugin, and the plugin itself."""
from __future__ import annotations

import pathlib as _pathlib

from brynhild._models import Field, Model, ValidationError, boolean, list_of, model_fields, text
from brynhild._records import record

__all__ = ["Plugin", "PluginManifest", "ValidationError", "load_manifest"]

_NAME = r"^[a-z0-9][a-z0-9-]*[a-z0-9]$|^[a-z0-9]$"
MANIFEST_NAME = "plugin.yaml"


@model_fields
class PluginManifest(Model):
    """The content of plugin.yaml."""

    _fields = {
        "name": Field(text(1, 64, _NAME)),
        "version": Field(text(1)),
        "description": Field(text(0, 1024), ""),
        "author": Field(text(), ""),
        "license": Field(text(), ""),
        "commands": Field(list_of(text()), factory=list),
        "tools": Field(list_of(text()), factory=list),
        "hooks": Field(boolean, False),
        "skills": Field(list_of(text()), factory=list),
        "providers": Field(list_of(text()), factory=list),
        "rules": Field(list_of(text()), factory=list),
        "brynhild_version": Field(text(), ">=0.1.0"),
    }


@record()
class Plugin:
    """A plugin: its manifest and its directory."""

    manifest: PluginManifest
    path: _pathlib.Path
    enabled: bool = True
    source: str = "directory"
    package_name: str | None = None
    package_version: str | None = None

    def __init__(
        self,
        manifest: PluginManifest,
        path: _pathlib.Path,
        enabled: bool = True,
        source: str = "directory",
        package_name: str | None = None,
        package_version: str | None = None,
    ) -> None:
        self.manifest = manifest
        self.path = path
        self.enabled = enabled
        self.source = source
        self.package_name = package_name
        self.package_version = package_version

    @property
    def name(self) -> str:
        """The manifest's name."""
        return self.manifest.name

    @property
    def version(self) -> str:
        """The manifest's version."""
        return self.manifest.version

    @property
    def description(self) -> str:
        """The manifest's description."""
        return self.manifest.description

    @property
    def is_packaged(self) -> bool:
        """True if it is part of an installed package."""
        return self.source != "directory"

    @property
    def commands_path(self) -> _pathlib.Path:
        """The directory of its commands."""
        return _pathlib.Path(self.path) / "commands"

    @property
    def tools_path(self) -> _pathlib.Path:
        """The directory of its tools."""
        return _pathlib.Path(self.path) / "tools"

    @property
    def hooks_path(self) -> _pathlib.Path:
        """The file of its hooks."""
        return _pathlib.Path(self.path) / "hooks.yaml"

    @property
    def skills_path(self) -> _pathlib.Path:
        """The directory of its skills."""
        return _pathlib.Path(self.path) / "skills"

    @property
    def providers_path(self) -> _pathlib.Path:
        """The directory of its providers."""
        return _pathlib.Path(self.path) / "providers"

    @property
    def rules_path(self) -> _pathlib.Path:
        """The directory of its rules."""
        return _pathlib.Path(self.path) / "rules"

    def has_commands(self) -> bool:
        """True if the manifest declares commands."""
        return bool(self.manifest.commands)

    def has_tools(self) -> bool:
        """True if the manifest declares tools."""
        return bool(self.manifest.tools)

    def has_hooks(self) -> bool:
        """True if the manifest declares hooks."""
        return self.manifest.hooks

    def has_skills(self) -> bool:
        """True if the manifest declares skills."""
        return bool(self.manifest.skills)

    def has_providers(self) -> bool:
        """True if the manifest declares providers."""
        return bool(self.manifest.providers)

    def has_rules(self) -> bool:
        """True if the manifest declares rules."""
        return bool(self.manifest.rules)

    def to_dict(self) -> dict:
        """The object as a dict of plain data."""
        data = {
            "name": self.name,
            "version": self.version,
            "description": self.description,
            "path": str(self.path),
            "enabled": self.enabled,
            "source": self.source,
            "package_name": self.package_name,
            "package_version": self.package_version,
        }
        for kind in ("commands", "tools", "hooks", "skills", "providers", "rules"):
            data[kind] = getattr(self.manifest, kind)
        return data


def load_manifest(path) -> PluginManifest:
    """The manifest in a plugin's directory, or in the file itself."""
    from brynhild._frontmatter import load_yaml

    path = _pathlib.Path(path)
    file = path / MANIFEST_NAME if path.is_dir() else path
    if not file.is_file():
        raise FileNotFoundError("Plugin manifest not found: %s" % file)
    fields = load_yaml(file.read_text(encoding="utf-8"))
    if not isinstance(fields, dict):
        raise ValueError("Plugin manifest must be a YAML mapping: %s" % file)
    return PluginManifest.model_validate(fields)
