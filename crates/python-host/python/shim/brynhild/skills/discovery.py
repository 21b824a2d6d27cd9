"""Finds skills in directories."""
from __future__ import annotations

import os as _os
import pathlib as _pathlib

from brynhild.skills.skill import SKILL_FILE, Skill, load_skill

__all__ = ["SkillDiscovery"]


class SkillDiscovery:
    """Searches directories for skills. Of two skills with the same name, the later one is used."""

    def __init__(self, project_root=None, search_paths=None) -> None:
        self.project_root = project_root
        self._search_paths = search_paths

    def get_search_paths(self) -> list[tuple[_pathlib.Path, str]]:
        """(directory, source), lowest precedence first."""
        if self._search_paths is not None:
            return [(_pathlib.Path(path), "custom") for path in self._search_paths]
        listed = _os.environ.get("BRYNHILD_SKILL_PATH", "").split(_os.pathsep)
        paths = [(_pathlib.Path.home() / ".config" / "brynhild" / "skills", "global")]
        paths += [(_pathlib.Path(path).expanduser(), "custom") for path in listed if path]
        if self.project_root is not None:
            paths.append((_pathlib.Path(self.project_root) / ".brynhild" / "skills", "project"))
        return paths

    def discover(self) -> dict[str, Skill]:
        """The skills by name. One that cannot be read is skipped with a warning."""
        import warnings

        found: dict[str, Skill] = {}
        for path, source in self.get_search_paths():
            for directory in sorted(path.iterdir()) if path.is_dir() else ():
                if not (directory / SKILL_FILE).is_file():
                    continue
                try:
                    skill = load_skill(directory, source)
                except (ValueError, OSError) as error:
                    warnings.warn("skill %s is left out: %s" % (directory, error), stacklevel=2)
                    continue
                found[skill.name] = skill
        return found
