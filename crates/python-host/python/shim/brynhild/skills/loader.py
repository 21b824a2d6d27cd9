"""Loads skills step by step: the description, the instructions, a reference."""
from __future__ import annotations

import pathlib as _pathlib

from brynhild.skills.skill import Skill, load_skill

__all__ = ["SkillLoader"]


class SkillLoader:
    """Reads skills and their references."""

    def load(self, path, source: str = "project") -> Skill:
        """The skill in a directory."""
        return load_skill(path, source)

    def load_reference(self, skill: Skill, name: str) -> str:
        """The text of a reference; ValueError if it is outside of the skill's directory."""
        root = _pathlib.Path(skill.path).resolve()
        candidates = [(root / "references" / name).resolve(), (root / name).resolve()]
        for file in candidates:
            if root in file.parents and file.is_file():
                return file.read_text(encoding="utf-8")
        raise ValueError("Reference not found in skill '%s': %s" % (skill.name, name))
