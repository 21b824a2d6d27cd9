"""Rule files, which the model reads."""
from __future__ import annotations

import pathlib as _pathlib

__all__ = ["RULE_FILES", "RulesManager"]

RULE_FILES = ["AGENTS.md", ".cursorrules", "rules.md", ".brynhild/rules.md", "CLAUDE.md"]


class RulesManager:
    """Finds the rule files of the user, then those from the root of the file system down to a directory."""

    def __init__(self, project_root=None, include_global: bool = True) -> None:
        self.project_root = _pathlib.Path(project_root or _pathlib.Path.cwd())
        self._include_global = include_global

    def discover(self) -> list[_pathlib.Path]:
        """The files, in the order they are read."""
        found = []
        if self._include_global:
            found += sorted((_pathlib.Path.home() / ".config" / "brynhild" / "rules").glob("*.md"))
        root = self.project_root.resolve()
        for directory in [*reversed(root.parents), root]:
            found += [directory / name for name in RULE_FILES if (directory / name).is_file()]
        return found

    def load_rules(self) -> str:
        """All rules as one text."""
        return "\n\n---\n\n".join(file.read_text(encoding="utf-8").strip() for file in self.discover())

    def get_rules_for_prompt(self) -> str:
        """All rules in the form of the system prompt; empty if there are none."""
        rules = self.load_rules()
        return "<project_rules>\n%s\n</project_rules>" % rules if rules else ""
