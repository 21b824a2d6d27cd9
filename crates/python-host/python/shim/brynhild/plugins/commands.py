"""Slash commands: Markdown templates with a YAML head."""
from __future__ import annotations

import os as _os
import pathlib as _pathlib
import re as _re

from brynhild._frontmatter import read as _read
from brynhild._models import Field, Model, ValidationError, list_of, model_fields, text
from brynhild._records import record

__all__ = [
    "Command",
    "CommandFrontmatter",
    "CommandLoader",
    "ValidationError",
    "load_command",
    "parse_command_markdown",
]

_ENVIRONMENT = _re.compile(r"\{\{env\.(\w+)\}\}")


@model_fields
class CommandFrontmatter(Model):
    """The head of a command's file."""

    _fields = {
        "name": Field(text(1, 64)),
        "description": Field(text(0, 512), ""),
        "aliases": Field(list_of(text()), factory=list),
        "args": Field(text(), ""),
    }


@record()
class Command:
    """One slash command."""

    frontmatter: CommandFrontmatter
    body: str
    path: _pathlib.Path
    plugin_name: str = ""

    def __init__(self, frontmatter: CommandFrontmatter, body: str, path: _pathlib.Path, plugin_name: str = "") -> None:
        self.frontmatter = frontmatter
        self.body = body
        self.path = path
        self.plugin_name = plugin_name

    @property
    def name(self) -> str:
        """The name that is typed after `/`."""
        return self.frontmatter.name

    @property
    def description(self) -> str:
        """The help text."""
        return self.frontmatter.description

    @property
    def aliases(self) -> list[str]:
        """Other names."""
        return self.frontmatter.aliases

    @property
    def args(self) -> str:
        """A description of the arguments."""
        return self.frontmatter.args

    def render(self, args: str = "", **context) -> str:
        """The template with its placeholders replaced: environment, arguments, directory and context, in this order."""
        text = _ENVIRONMENT.sub(lambda found: _os.environ.get(found.group(1), ""), self.body)
        text = text.replace("{{args}}", args)
        text = text.replace("{{cwd}}", str(context.pop("cwd", None) or _os.getcwd()))
        for key, value in context.items():
            text = text.replace("{{%s}}" % key, str(value))
        return text

    def to_dict(self) -> dict:
        """The object as a dict of plain data."""
        return {
            "name": self.name,
            "description": self.description,
            "aliases": list(self.aliases),
            "args": self.frontmatter.args,
            "path": str(self.path),
            "plugin_name": self.plugin_name,
        }


def parse_command_markdown(content: str) -> tuple[CommandFrontmatter, str]:
    """(head, body) of a command's text."""
    fields, body = _read(content)
    return CommandFrontmatter.model_validate(fields), body


def load_command(path, plugin_name: str = "") -> Command:
    """The command in a file."""
    path = _pathlib.Path(path)
    frontmatter, body = parse_command_markdown(path.read_text(encoding="utf-8"))
    return Command(frontmatter, body, path, plugin_name)


class CommandLoader:
    """Reads the commands of directories."""

    def load_from_directory(self, path, plugin_name: str = "") -> dict[str, Command]:
        """The commands of a directory by name. A file that cannot be read is skipped with a warning."""
        import warnings

        commands: dict[str, Command] = {}
        directory = _pathlib.Path(path)
        for file in sorted(directory.glob("*.md")) if directory.is_dir() else ():
            try:
                command = load_command(file, plugin_name)
            except (ValueError, OSError) as error:
                warnings.warn("command %s is left out: %s" % (file, error), stacklevel=2)
                continue
            commands[command.name] = command
        return commands

    def load_from_plugin(self, plugin) -> dict[str, Command]:
        """All commands of a plugin."""
        return self.load_from_directory(plugin.commands_path, plugin.name)
