"""Whether a plugin's files look for programs. Reads source, imports nothing."""
import os

from brynhild_host.sources import regular

_SKIPPED = {"docs", "examples", "hooks", "node_modules", "scripts", "skills", "test", "tests", "venv"}
_APART = ("conftest.py", "setup.py")
_MOST = 200
_LONGEST = 1_000_000
_MARKS = ("which(", '"PATH"', "'PATH'")


def looks_for_programs(root):
    """Whether a file below `root` asks where programs are."""
    return any(mark in text for text in _texts(root) for mark in _MARKS)


def _texts(root):
    for file in _files(root):
        try:
            with open(file, encoding="utf-8", errors="replace", opener=regular) as handle:
                yield handle.read(_LONGEST)
        except OSError:
            continue


def _files(root):
    found = []
    for directory, names, files in os.walk(root):
        names[:] = [name for name in names if name not in _SKIPPED and name[0] not in "._"]
        for name in files:
            if name.endswith(".py") and not name.startswith("test_") and name not in _APART:
                found.append(os.path.join(directory, name))
        if len(found) >= _MOST:
            break
    return found[:_MOST]
