"""Finds the profile of a model."""
from __future__ import annotations

import pathlib as _pathlib

from brynhild.profiles.types import ModelProfile

__all__ = ["ProfileCollisionError", "ProfileManager"]


class ProfileCollisionError(Exception):
    """Raised if two sources define a profile of the same name."""


class ProfileManager:
    """Profiles by name: the default, those of a directory, and registered ones."""

    def __init__(self, profiles_dir=None) -> None:
        self._profiles = {"default": ModelProfile("default", description="Suits any model")}
        directory = _pathlib.Path(profiles_dir) if profiles_dir is not None else None
        for file in sorted(directory.glob("*.yaml")) if directory is not None and directory.is_dir() else ():
            self._read(file)

    def register(self, profile: ModelProfile) -> None:
        """Add a profile. It replaces one with the same name."""
        self._profiles[profile.name] = profile

    def get_profile(self, name: str) -> ModelProfile | None:
        """The profile of a name."""
        return self._profiles.get(name)

    def list_profiles(self) -> list[ModelProfile]:
        """All profiles, by name."""
        return [profile for _, profile in sorted(self._profiles.items())]

    def resolve(self, model: str, provider: str | None = None) -> ModelProfile:
        """The profile of a model: by name, by `provider/name`, by the family in its name, or the default."""
        name = model.lower().rpartition("/")[2].replace(":", "-")
        for candidate in (name, "%s/%s" % (provider, name)):
            if candidate in self._profiles:
                return self._profiles[candidate]
        for profile in self._profiles.values():
            if profile.family and name.startswith(profile.family.lower()):
                return profile
        return self._profiles["default"]

    def _read(self, file):
        import warnings

        from brynhild._frontmatter import load_yaml

        try:
            self.register(ModelProfile.from_dict(load_yaml(file.read_text(encoding="utf-8"))))
        except (TypeError, ValueError, OSError) as error:
            warnings.warn("profile %s is left out: %s" % (file, error), stacklevel=3)
