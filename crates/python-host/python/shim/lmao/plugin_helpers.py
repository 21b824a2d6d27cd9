"""Helpers for paths, line ranges and repositories."""
import os
import re
from pathlib import Path

_RANGE = re.compile(r"lines?[:=]\s*(\d+)(?:[-:](\d+))?")
_NUMBER = re.compile(r"^\s*\d+\.\s+")

_yolo = False


def set_yolo_path_mode(enabled):
    """Allow paths outside of the project. The sandbox of the process stays."""
    global _yolo
    _yolo = bool(enabled)


def safe_target_path(target, base, extra_roots):
    """The path of a target; ValueError if it is outside of the allowed directories."""
    base = Path(base).resolve()
    text = str(target or "").strip()
    if _yolo:
        path = Path(os.path.expanduser(text)) if text else base
        return (path if path.is_absolute() else base / path).resolve()
    roots = [base] + [Path(root).resolve() for root in extra_roots or ()]
    path = _meant(text, base, roots)
    if not any(_is_within(path, root) for root in roots):
        raise ValueError("path escapes allowed roots")
    return path


def _meant(text, base, roots):
    if text in ("", "/", "\\"):
        return base
    if text[0] in "/\\":
        if text[0] == "/":
            absolute = Path(text).resolve()
            if any(_is_within(absolute, root) for root in roots):
                return absolute
        return (base / text.lstrip("/\\")).resolve()
    path = Path(os.path.expanduser(text))
    return (path if path.is_absolute() else base / path).resolve()


def _is_within(path, root):
    return path == root or root in path.parents


def normalize_path_for_output(path, base):
    """The path relative to `base`, if it is inside. Directories end with a slash."""
    path, base = Path(path), Path(base)
    is_directory = path.is_dir()
    try:
        text = str(path.resolve().relative_to(base.resolve()))
    except ValueError:
        text = str(path)
    return text.rstrip("/") + "/" if is_directory else text


def parse_line_range(text):
    """The lines of a text like `lines:3-8` as (first, last), or None."""
    found = _RANGE.search(str(text or ""))
    if found is None:
        return None
    first = max(1, int(found.group(1)))
    last = int(found.group(2)) if found.group(2) else first
    return first, max(first, last)


def validate_skill_write_target(path, skill_roots):
    """The reason why a file of a skill may not be written there, or None."""
    parent = Path(path).resolve().parent
    for root in skill_roots or ():
        if parent == Path(root).resolve():
            return "skills live in a directory of their own: write to %s/<skill-name>/SKILL.md" % root
    return None


def find_repo_root(start):
    """The nearest directory upward with `.git`, or `start`."""
    start = Path(start)
    for directory in [start, *start.parents]:
        if (directory / ".git").exists():
            return directory
    return start


def normalize_task_text(text):
    """The text of a task on one line, without its number."""
    return " ".join(_NUMBER.sub("", str(text).replace("\n", " ")).split())
