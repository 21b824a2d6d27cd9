"""Skills: folders with a SKILL.md."""
from pathlib import Path

from lmao.plugin_helpers import validate_skill_write_target

__all__ = ["iter_skill_dirs", "list_skill_info", "list_skill_paths", "validate_skill_write_target"]


def iter_skill_dirs(skill_roots):
    """The folders of all skills, sorted within each root."""
    for root in skill_roots or ():
        try:
            folders = sorted(Path(root).iterdir())
        except OSError:
            continue
        for folder in folders:
            if (folder / "SKILL.md").is_file():
                yield folder


def list_skill_paths(skill_roots):
    """The SKILL.md of each skill."""
    return [folder / "SKILL.md" for folder in iter_skill_dirs(skill_roots)]


def list_skill_info(skill_roots):
    """Name, description and path of each skill."""
    return [_info(folder) for folder in iter_skill_dirs(skill_roots)]


def _info(folder):
    info = {"name": folder.name, "description": "", "path": str(folder / "SKILL.md")}
    try:
        lines = (folder / "SKILL.md").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return info
    if not lines or lines[0].strip() != "---":
        return info
    for line in lines[1:]:
        if line.strip() == "---":
            break
        key, colon, value = line.partition(":")
        if colon and key.strip() in ("name", "description"):
            info[key.strip()] = value.strip().strip("\"'")
    return info
