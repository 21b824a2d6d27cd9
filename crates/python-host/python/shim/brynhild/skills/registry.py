"""A registry of skills."""
from __future__ import annotations

from brynhild.skills.discovery import SkillDiscovery
from brynhild.skills.skill import Skill

__all__ = ["SkillRegistry"]


class SkillRegistry:
    """Skills by name."""

    def __init__(self, project_root=None, discovery: SkillDiscovery | None = None) -> None:
        self._discovery = discovery or SkillDiscovery(project_root)
        self._skills: dict[str, Skill] | None = None

    def _found(self) -> dict[str, Skill]:
        if self._skills is None:
            self._skills = self._discovery.discover()
        return self._skills

    def list_skills(self) -> list[Skill]:
        """All skills, by name."""
        return [skill for _, skill in sorted(self._found().items())]

    def get_skill(self, name: str) -> Skill | None:
        """The skill of a name; upper and lower case are the same."""
        return self._found().get(name.lower())

    def get_metadata_for_prompt(self) -> str:
        """The text about skills in the system prompt; empty if there are none."""
        lines = [skill.get_metadata_for_prompt() for skill in self.list_skills()]
        return "\n".join(["## Available Skills", ""] + lines) if lines else ""
