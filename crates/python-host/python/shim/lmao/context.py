"""The notes for agents in a project."""
from pathlib import Path

from lmao.plugin_helpers import find_repo_root

__all__ = ["find_nearest_agents", "find_repo_root"]


def find_nearest_agents(path, stop_at):
    """The nearest AGENTS.md from a path upward, not above `stop_at`; None if there is none."""
    directory, stop_at = Path(path).resolve(), Path(stop_at).resolve()
    if directory.is_file():
        directory = directory.parent
    while True:
        notes = directory / "AGENTS.md"
        if notes.is_file():
            return notes
        if directory == stop_at or directory == directory.parent:
            return None
        directory = directory.parent
