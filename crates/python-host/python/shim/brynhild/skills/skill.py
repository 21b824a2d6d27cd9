"""A skill: a directory with SKILL.md, references and scripts."""
from __future__ import annotations

import pathlib as _pathlib

from brynhild._frontmatter import read as _read
from brynhild._models import Field, Model, ValidationError, list_of, mapping, model_fields, optional, text
from brynhild._records import record

__all__ = [
    "SKILL_BODY_SOFT_LIMIT",
    "Skill",
    "SkillFrontmatter",
    "ValidationError",
    "load_skill",
    "parse_skill_markdown",
]

SKILL_BODY_SOFT_LIMIT = 500
SKILL_FILE = "SKILL.md"
_NAME = r"^[a-z0-9][a-z0-9-]*[a-z0-9]$|^[a-z0-9]$"


@model_fields
class SkillFrontmatter(Model):
    """The front matter of SKILL.md. Unknown keys stay."""

    _extra = "allow"
    _fields = {
        "name": Field(text(1, 64, _NAME)),
        "description": Field(text(1, 1024)),
        "license": Field(optional(text()), None),
        "allowed_tools": Field(list_of(text()), factory=list, alias="allowed-tools"),
        "metadata": Field(mapping, factory=dict),
    }


@record()
class Skill:
    """A skill."""

    frontmatter: SkillFrontmatter
    body: str
    path: _pathlib.Path
    source: str = "project"

    def __init__(self, frontmatter: SkillFrontmatter, body: str, path: _pathlib.Path, source: str = "project") -> None:
        self.frontmatter = frontmatter
        self.body = body
        self.path = path
        self.source = source

    @property
    def name(self) -> str:
        """The name of the skill."""
        return self.frontmatter.name

    @property
    def description(self) -> str:
        """The description: what the skill does, and when to use it."""
        return self.frontmatter.description

    @property
    def license(self) -> str | None:
        """Its license."""
        return self.frontmatter.license

    @property
    def allowed_tools(self) -> list[str]:
        """The tools that may run without asking while it is active."""
        return self.frontmatter.allowed_tools

    @property
    def body_line_count(self) -> int:
        """The number of lines of the instructions."""
        return len(self.body.splitlines())

    @property
    def exceeds_soft_limit(self) -> bool:
        """True if the instructions are longer than recommended."""
        return self.body_line_count > SKILL_BODY_SOFT_LIMIT

    @property
    def skill_file(self) -> _pathlib.Path:
        """Its SKILL.md."""
        return _pathlib.Path(self.path) / SKILL_FILE

    def list_reference_files(self) -> list[_pathlib.Path]:
        """The files in `references/` and the other Markdown files beside SKILL.md."""
        root = _pathlib.Path(self.path)
        beside = [file for file in _files(root, "*.md") if file.name != SKILL_FILE]
        return _files(root / "references", "*") + beside

    def list_scripts(self) -> list[_pathlib.Path]:
        """The files in `scripts/`."""
        return _files(_pathlib.Path(self.path) / "scripts", "*")

    def get_metadata_for_prompt(self) -> str:
        """The line about the skill in the system prompt."""
        return "**%s**: %s" % (self.name, self.description)

    def get_full_content(self) -> str:
        """The instructions."""
        return self.body

    def to_dict(self) -> dict:
        """The object as a dict of plain data."""
        return {
            "name": self.name,
            "description": self.description,
            "path": str(self.path),
            "source": self.source,
            "license": self.license,
            "allowed_tools": list(self.allowed_tools),
            "body_lines": self.body_line_count,
            "exceeds_limit": self.exceeds_soft_limit,
            "reference_files": [str(file) for file in self.list_reference_files()],
            "scripts": [str(file) for file in self.list_scripts()],
        }


def parse_skill_markdown(content: str) -> tuple[SkillFrontmatter, str]:
    """(head, body) of a SKILL.md; `allowed-tools` may be one text with commas."""
    fields, body = _read(content)
    tools = fields.get("allowed-tools")
    if isinstance(tools, str):
        fields["allowed-tools"] = [name.strip() for name in tools.split(",") if name.strip()]
    return SkillFrontmatter.model_validate(fields), body


def load_skill(skill_dir, source: str = "project") -> Skill:
    """The skill in a directory."""
    directory = _pathlib.Path(skill_dir)
    file = directory / SKILL_FILE
    if not file.is_file():
        raise FileNotFoundError("SKILL.md not found in %s" % directory)
    frontmatter, body = parse_skill_markdown(file.read_text(encoding="utf-8"))
    return Skill(frontmatter, body, directory, source)


def _files(directory, pattern):
    if not directory.is_dir():
        return []
    return sorted(file for file in directory.glob(pattern) if file.is_file() and not file.name.startswith("."))
