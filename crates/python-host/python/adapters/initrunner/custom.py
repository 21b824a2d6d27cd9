"""Custom tools: the functions of a module, or one of them."""
import importlib.util
import inspect
import os
import sys

from brynhild_host.adapters.initrunner import rules
from brynhild_host.adapters.initrunner.annotations import Unsupported
from brynhild_host.adapters.initrunner.imports import files_of
from brynhild_host.adapters.initrunner.loaded import FunctionTool, Wrong
from brynhild_host.failures import named, place
from brynhild_host.sources import NotRegular, regular
from brynhild_host.unloadable import Unloadable

NO_FUNCTION = "Function '%s' not found in module '%s'"
NO_FUNCTIONS = (
    "No public callable functions found in module '%s'. Add public functions or specify 'function' explicitly."
)


def load(entry, means, settings, warn):
    """The tools of an entry by name."""
    name, function = entry.get("module"), entry.get("function")
    if not isinstance(name, str) or not name.strip():
        raise Wrong("module: Field required")
    module = _module(name, means, settings)
    config = entry.get("config") or {}
    if function:
        subject = getattr(module, function, None)
        if subject is None:
            raise Wrong(NO_FUNCTION % (function, name))
        if not callable(subject):
            raise Wrong("'%s' in module '%s' is not a function" % (function, name))
        return {function: FunctionTool(subject, config)}
    tools = {}
    for public, subject in _functions(module):
        try:
            tools[public] = FunctionTool(subject, config)
        except (Unsupported, ValueError) as error:
            warn("function '%s' of module '%s' is left out: %s" % (public, name, error))
    if not tools:
        raise Wrong(NO_FUNCTIONS % name)
    return tools


def _functions(module):
    """The public functions, in the order of their names; what was imported counts as well."""
    for name in dir(module):
        subject = getattr(module, name, None)
        if not name.startswith("_") and inspect.isfunction(subject):
            yield name, subject


def _module(name, means, settings):
    imports, loader = means
    files = files_of(name)
    try:
        return loader.load(files, lambda: _imported(name, imports, settings))
    except Unloadable as error:
        words = "Could not load module '%s' (%s): %s; %s"
        raise Wrong(words % (name, files[0] if files else "no file", error, error.hint)) from None


def _imported(name, imports, settings):
    if name in sys.modules and not imports.owns(getattr(sys.modules[name], "__file__", None) or ""):
        # What is loaded comes before what lies beside the role, as everywhere in Python.
        return sys.modules[name]
    try:
        found = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        raise missing(name, error) from None
    except (ImportError, ValueError, AttributeError) as error:
        raise Wrong("Could not load module '%s': %s" % (name, error)) from None
    if found is None:
        refuse_odd(name, imports.root)
        raise missing(name, None)
    check(found, settings)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise missing(name, error) from None
    except BaseException as error:
        file, line = place(error, found.origin)
        raise Wrong("Could not load module '%s': %s" % (name, named(error)), file, line) from error


def refuse_odd(name, root):
    """Say of a module that a pipe, a socket or a device lies in its place."""
    file = os.path.join(root, *name.split(".")) + ".py"
    try:
        os.close(regular(file, os.O_RDONLY))
    except NotRegular as error:
        raise Wrong("Could not load module '%s': %s: %s" % (name, file, error)) from None
    except OSError:
        return  # There is none.


def missing(name, error):
    """What is said of a module that is not there, or of one that it needs."""
    absent = getattr(error, "name", None) or name
    words = "Could not load module '%s': missing dependency '%s'. Install it with: pip install %s"
    return Wrong(words % (name, absent, absent.partition(".")[0] if absent != name else absent))


def check(found, settings):
    """Hold the file of a module against the role's rules on imports."""
    if not found.has_location or not (found.origin or "").endswith(".py"):
        return
    given = settings.get("imports") or {}
    blocked = given.get("blocked")
    with open(found.origin, "rb", opener=regular) as file:
        source = file.read()
    try:
        said = rules.violations(source, given.get("allowed"), rules.USUALLY_BLOCKED if blocked is None else blocked)
    except (SyntaxError, ValueError):
        # The import itself says what is wrong with it, and where.
        return
    if said:
        key, remedy = ("allowed", "") if given.get("allowed") else ("blocked", ": `[]` lets it run in the sandbox")
        words = "%s (`security.tools.%s_custom_modules` of the role says which are%s)"
        raise Wrong(words % (said[0], key, remedy), found.origin)
