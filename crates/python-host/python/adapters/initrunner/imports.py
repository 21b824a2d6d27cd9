"""Where the modules of a role come from: its own directory, from their sources; the packages of the interpreter; and, for
`pydantic_ai` and `initrunner`, stand-ins that cost little.

A stand-in has what tools are written with. Where more is wanted and the real package is installed, that one takes its
place. For `pydantic`, the real one always comes first.
"""
import os
import sys
from _frozen_importlib_external import PathFinder

from brynhild_host.sources import spec_in

_PACKAGES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "packages")
_STAND_INS = ("pydantic_ai", "initrunner")

missing = set()


def wanted(module, name):
    """The error for a name that a stand-in does not have; notes that the real package is wanted."""
    if not name.startswith("__"):
        missing.add(module.partition(".")[0])
    return AttributeError("module %r has no attribute %r" % (module, name))


def specs(name):
    """The specs of a module and of the packages around it, itself first; these are looked into and not run."""
    import importlib.util

    found, path = [], None
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        whole = ".".join(parts[:count])
        try:
            spec = importlib.util.find_spec(whole) if path is None else PathFinder.find_spec(whole, path)
        except (ImportError, ValueError, AttributeError):
            return []
        if spec is None:
            return []
        found.insert(0, spec)
        path = list(spec.submodule_search_locations or ())
    return found


def files_of(name):
    """The files of a module and of the packages around it, its own first."""
    return [spec.origin for spec in specs(name) if spec.has_location]


class Imports:
    """The place of a role in the import system."""

    def __init__(self, root, sites):
        self.root = root
        self._real = set()
        self._own = _Own(root)
        for site in sites:
            if site not in sys.path:
                sys.path.append(site)
        sys.meta_path.insert(0, self)

    def find_spec(self, name, path=None, target=None):
        """A stand-in, or a part of one."""
        top = name.partition(".")[0]
        if top == "pydantic":
            return self._pydantic(name, path)
        if top not in _STAND_INS or top in self._real:
            return None
        found = PathFinder.find_spec(name, [_PACKAGES] if path is None else path)
        if found is None:
            missing.add(top)
        return found

    def begin(self):
        """Have the role's directory come before everything but what is built in."""
        self._own.leave()
        finders = sys.meta_path
        place = finders.index(PathFinder) if PathFinder in finders else len(finders)
        finders.insert(place, self._own)

    def end(self):
        """Have the role's directory come after everything else, for what functions import while they run."""
        self._own.leave()
        sys.meta_path.append(self._own)

    def can_help(self):
        """Whether something was wanted that a real package may have."""
        return bool(self._lacking())

    def turn_to_real(self):
        """Put the real packages in the place of the stand-ins that lack something; false where there are none."""
        lacking = self._lacking()
        missing.clear()
        if not lacking:
            return False
        self._real |= lacking
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None) or ""
            if name.partition(".")[0] in lacking or self.owns(file):
                del sys.modules[name]
        if "pydantic_ai" in lacking:
            self._accept_plain_functions()
        return True

    def _lacking(self):
        lacking = set(missing)
        if "initrunner" in lacking:
            # The real one works with nothing but the real other one.
            lacking.add("pydantic_ai")
        return {name for name in lacking if name not in self._real and self.is_installed(name)}

    def is_installed(self, name):
        """Whether the real package is there."""
        return PathFinder.find_spec(name, sys.path) is not None

    def owns(self, file):
        """Whether a file is the role's own."""
        return bool(file) and file.startswith(os.path.join(self.root, ""))

    def _pydantic(self, name, path):
        if name != "pydantic":
            return PathFinder.find_spec(name, path) if path and path[0].startswith(_PACKAGES) else None
        return None if self.is_installed(name) else PathFinder.find_spec(name, [_PACKAGES])

    def _accept_plain_functions(self):
        """Let `@toolset.tool` take functions without a context, as it did when most tools were written."""
        from brynhild_host.adapters.initrunner.signature import takes_context
        from pydantic_ai.toolsets.function import FunctionToolset

        strict = FunctionToolset.tool

        def tool(self, func=None, /, **options):
            def add(function):
                if takes_context(function):
                    return strict(self, function, **options)
                return self.tool_plain(function, **options)

            return add if func is None else add(func)

        FunctionToolset.tool = tool


class _Own:
    """Finds the role's modules, from their sources."""

    def __init__(self, root):
        self._root = root

    def find_spec(self, name, path=None, target=None):
        """A module beside the role, or inside a package there."""
        directories = [self._root] if path is None else [str(directory) for directory in path]
        if path is not None and not all(directory.startswith(os.path.join(self._root, "")) for directory in directories):
            return None
        found = spec_in(name, directories)
        if found is None:
            plain = PathFinder.find_spec(name, directories)
            # A directory without a file of its own, whose modules count all the same.
            found = plain if plain is not None and plain.loader is None else None
        return found

    def leave(self):
        """Find nothing any more."""
        while self in sys.meta_path:
            sys.meta_path.remove(self)
