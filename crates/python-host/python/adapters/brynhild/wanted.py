"""What a plugin's files ask for: which of some well-known modules they import and cannot find, and whether they look
for programs. Reads source, imports nothing."""
import os

from brynhild_host.sources import regular

_SKIPPED = {"docs", "examples", "hooks", "node_modules", "scripts", "skills", "test", "tests", "venv"}
_APART = ("conftest.py", "setup.py")
_MOST = 200
_LONGEST = 1_000_000


def missing(root, known):
    """Those of the names in `known` that are imported below `root` and that no finder knows."""
    wanted = set()
    for text in _texts(root):
        if any(name in text for name in known):
            wanted.update(_imported(text))
    wanted.intersection_update(known)
    return sorted(name for name in wanted if not _is_found(name))


def looks_for_programs(root):
    """Whether a file below `root` asks where programs are."""
    marks = ("which(", '"PATH"', "'PATH'")
    return any(mark in text for text in _texts(root) for mark in marks)


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


def _imported(text):
    """The first parts of the names that a file cannot do without: what it tries, or names for type checkers, it can."""
    import ast

    try:
        left = [ast.parse(text)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    names = set()
    while left:
        node = left.pop()
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.module and not node.level:
                names.add(node.module.split(".")[0])
        elif isinstance(node, ast.Try) and any(_catches(handler.type) for handler in node.handlers):
            left.extend(node.handlers + node.orelse + node.finalbody)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            left.extend(node.orelse)
        else:
            left.extend(ast.iter_child_nodes(node))
    return names


def _catches(kind):
    """Whether a handler for this class takes a failed import."""
    import ast

    if kind is None:
        return True
    classes = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    names = {getattr(one, "id", getattr(one, "attr", None)) for one in classes}
    return bool(names & {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


def _is_found(name):
    import importlib.util

    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):
        return False
