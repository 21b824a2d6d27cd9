"""Builds the system prompt."""
from __future__ import annotations

__all__ = ["ContextBuilder"]


class ContextBuilder:
    """Rules, the profile around the base prompt, and skills, with blank lines between them."""

    def __init__(
        self, project_root=None, *, include_rules: bool = True, include_skills: bool = True, profile=None
    ) -> None:
        self.project_root = project_root
        self.profile = profile
        self._include_rules = include_rules
        self._include_skills = include_skills

    def build(self, base_prompt: str = "") -> str:
        """The system prompt."""
        from brynhild.plugins.rules import RulesManager
        from brynhild.skills.registry import SkillRegistry

        rules = RulesManager(self.project_root).get_rules_for_prompt() if self._include_rules else ""
        prompt = self.profile.build_system_prompt(base_prompt) if self.profile else base_prompt
        skills = SkillRegistry(self.project_root).get_metadata_for_prompt() if self._include_skills else ""
        return "\n\n".join(part for part in (rules, prompt, skills) if part)
