"""Looks at what an entry of a role names without running any of it: whether it is there, what it imports, which
functions it has."""
import ast

from brynhild_host.adapters.initrunner import custom
from brynhild_host.adapters.initrunner.imports import specs
from brynhild_host.adapters.initrunner.loaded import UnknownType, Wrong
from brynhild_host.sources import regular


def look(entry, settings):
    """Say what is wrong with an entry, as far as its text tells. The tools are what the text shows of them."""
    if entry.get("type") == "custom":
        return _look_at_module(entry, settings) or {}
    _look_for_type(entry["type"], settings)
    return {}


class Seen:
    """A function that was seen and not loaded: it has its words, and nobody can call it."""

    schema = {"type": "object"}
    hidden = ()

    def __init__(self, node):
        self.description = (ast.get_docstring(node) or "").partition("\n\n")[0]


def _look_for_type(name, settings):
    points = [point["name"] for point in settings.get("entry_points") or ()]
    if name not in points and name not in (settings.get("kinds") or ()):
        raise UnknownType(name, sorted(points))


def _look_at_module(entry, settings):
    name, function = entry.get("module"), entry.get("function")
    found = _found(name)
    if found is None:
        custom.refuse_odd(name, settings.get("root") or ".")
        raise custom.missing(name, None)
    custom.check(found, settings)
    if not found.has_location or not (found.origin or "").endswith(".py"):
        return
    with open(found.origin, "rb", opener=regular) as file:
        source = file.read()
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        words = "Could not load module '%s': %s: %s" % (name, type(error).__name__, error)
        raise Wrong(words, found.origin, getattr(error, "lineno", None)) from None
    for imported in _imported(tree):
        if _found(imported) is None:
            raise custom.missing(name, ModuleNotFoundError(name=imported))
    known, functions, is_open = _names(tree.body)
    if function and function not in known and not is_open:
        raise Wrong(custom.NO_FUNCTION % (function, name))
    if not function and not functions and not is_open:
        raise Wrong(custom.NO_FUNCTIONS % name)
    written = {node.name: node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
    wanted = [function] if function else sorted(name for name in written if not name.startswith("_"))
    return {name: Seen(written[name]) for name in wanted if name in written}


def _found(name):
    return next(iter(specs(name)), None)


def _imported(tree):
    """The modules that are imported in any case."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _names(body):
    """All names of a module, those that may be public functions, and whether there may be others."""
    known, functions, is_open = set(), set(), False
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            bound, is_function = [node.name], True
        elif isinstance(node, ast.ClassDef):
            bound, is_function = [node.name], False
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            bound = [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
            is_function = isinstance(node, ast.ImportFrom)
            is_open = is_open or "*" in bound
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            bound = [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
            is_function = isinstance(node.value, (ast.Lambda, ast.Call, ast.Name, ast.Attribute))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        else:
            # What is bound under a condition, or by a call, is not told by the text.
            is_open = True
            continue
        known.update(bound)
        functions.update(name for name in bound if is_function and not name.startswith("_"))
    return known, functions, is_open
