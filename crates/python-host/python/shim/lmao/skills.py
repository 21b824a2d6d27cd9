"""Skills: directories with a SKILL.md."""
from pathlib import Path

from lmao.plugin_helpers import validate_skill_write_target

__all__ = ["iter_skill_dirs", "list_skill_info", "list_skill_paths", "validate_skill_write_target"]


def iter_skill_dirs(skill_roots):
    """The directories of all skills, sorted within each root."""
    for root in skill_roots or ():
        try:
            directories = sorted(Path(root).iterdir())
        except OSError:
            continue
        for directory in directories:
            if (directory / "SKILL.md").is_file():
                yield directory


def list_skill_paths(skill_roots):
    """The SKILL.md of each skill."""
    return [directory / "SKILL.md" for directory in iter_skill_dirs(skill_roots)]


def list_skill_info(skill_roots):
    """Name, description and path of each skill."""
    return [_info(directory) for directory in iter_skill_dirs(skill_roots)]


def _info(directory):
    info = {"name": directory.name, "description": "", "path": str(directory / "SKILL.md")}
    try:
        lines = (directory / "SKILL.md").read_text(encoding="utf-8", errors="replace").splitlines()
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
