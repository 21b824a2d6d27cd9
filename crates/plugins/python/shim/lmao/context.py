"""Where a project begins, and the notes for agents in it."""
from pathlib import Path

from lmao.plugin_helpers import find_repo_root

__all__ = ["find_nearest_agents", "find_repo_root"]


def find_nearest_agents(path, stop_at):
    """The nearest AGENTS.md from a path upward, not above `stop_at`; nothing where there is none."""
    folder, stop_at = Path(path).resolve(), Path(stop_at).resolve()
    if folder.is_file():
        folder = folder.parent
    while True:
        notes = folder / "AGENTS.md"
        if notes.is_file():
            return notes
        if folder == stop_at or folder == folder.parent:
            return None
        folder = folder.parent
