"""Skills: instructions that the model loads when a task needs them."""
from brynhild._lazy import attach

_NAMES = {
    "SKILL_BODY_SOFT_LIMIT": "skill",
    "Skill": "skill",
    "SkillFrontmatter": "skill",
    "SkillLoader": "loader",
    "SkillDiscovery": "discovery",
    "SkillRegistry": "registry",
    "load_skill": "skill",
    "parse_skill_markdown": "skill",
}

__all__ = sorted(_NAMES)

__getattr__, __dir__ = attach(__name__, _NAMES, ("discovery", "loader", "registry", "skill"))
