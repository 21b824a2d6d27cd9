"""Imports a plugin's files and entry points, each once, and picks the classes in them."""
import os
import sys
from _frozen_importlib import module_from_spec

from brynhild_host.failures import Refused, hint_for, named, place
from brynhild_host.sources import NotRegular, keep_bytecode, regular, spec_in, spec_of_file
from brynhild_host.unloadable import Unloadable

_ENTRY = "entry:"
_PACKAGE = "brynhild_plugins"
_BASES = {
    ("brynhild.tools.base", "Tool"),
    ("brynhild.plugins.stubs", "ToolBase"),
    ("brynhild.api.base", "LLMProvider"),
}


class Loaded:
    """A tool's instance or a provider's class, with what there is to say about it."""

    def __init__(self, key, subject, name):
        self.key = key
        self.instance = self.subject = subject
        self.name = name
        self.file = None
        self.is_live = None
        self.problems = []

    @property
    def doc(self):
        """The first line of the class's own documentation."""
        text = self.subject.__dict__.get("__doc__")
        return text.strip().split("\n")[0].strip() if isinstance(text, str) and text.strip() else ""

    @property
    def default_model(self):
        """The default of the class for `model`, if it is a name."""
        import inspect

        try:
            default = inspect.signature(self.subject).parameters["model"].default
        except (KeyError, TypeError, ValueError):
            return None
        return default if isinstance(default, str) else None


class Plugin:
    """The plugin's place in the import system, and what was loaded of it."""

    def __init__(self, description, loader):
        self.name = description.get("name") or "plugin"
        self.root = description.get("root")
        self.entry_points = description.get("entry_points") or []
        self.package = description.get("package")
        self._declares = {"tools": description.get("tools"), "providers": description.get("providers")}
        self._tools = {}
        self._providers = {}
        self._loading = []
        self._loader = loader
        self._empty = []
        self._pretender = None
        if description.get("data"):
            keep_bytecode(os.path.join(description["data"], "pycache"))

    def tool_keys(self, problems):
        """The keys of all tools, in loading order."""
        return self._file_keys("tools", problems) + self._entry_keys("brynhild.tools")

    def provider_keys(self, problems):
        """The keys of all providers, in loading order."""
        return self._file_keys("providers", problems) + self._entry_keys("brynhild.providers")

    def attempt(self, problems, key, load):
        """What `load` returns for the key, or nothing and one more problem."""
        while True:
            try:
                return self._loader.load([self.file_of(key)], lambda: load(key))
            except NothingFound as error:
                self._empty.append((key, error))
            except ModuleNotFoundError as error:
                if self._pretender and self._pretender.takes(error):
                    continue
                problems.append(self.problem(key, error))
            except BaseException as error:
                problems.append(self.problem(key, error))
            return None

    def pretend(self):
        """Load files as if the packages were there that are not, for a description alone."""
        from brynhild_host.pretend import Pretender

        self._pretender = Pretender()

    def pretended(self):
        """The modules that something stood in for; from here on nothing does."""
        pretender, self._pretender = self._pretender, None
        if pretender is None:
            return []
        pretender.end()
        return sorted(pretender.names)

    def report_empty(self, problems):
        """The files without a class to use, except those that others import; asked when all are loaded."""
        for key, error in self._empty:
            if not self._is_helper(key):
                problems.append(self.problem(key, error))
        self._empty = []

    def problem(self, key, error):
        """The failure as one problem: file, line, cause, remedy."""
        file, line = place(error, self.root)
        is_told = isinstance(error, (NothingFound, NotRegular, Unloadable))
        hint = error.hint if is_told else hint_for(error, self.package)
        message = str(error) if is_told else named(error)
        return problem(file or self.file_of(key), line, message, hint, "error")

    def file_of(self, key):
        """The file a key stands for; an entry point's key stands for itself."""
        return key if key.startswith(_ENTRY) or not self.root else os.path.join(self.root, key)

    def tool(self, key):
        """The one instance of a tool."""
        found = self._tools.get(key)
        if found is None:
            subject, problems = self._class(key, pick_tool)
            found = Loaded(key, subject(), None)
            found.file = self.file_of(key)
            found.problems = problems
            self._tools[key] = found
        return found

    def provider(self, key):
        """The class of a provider, with the name it is selected by."""
        found = self._providers.get(key)
        if found is None:
            subject, problems = self._class(key, pick_provider)
            name = getattr(subject, "PROVIDER_NAME", None)
            found = Loaded(key, subject, name if isinstance(name, str) and name else _stem(key))
            found.problems = problems
            self._providers[key] = found
        return found

    def loaded_tools(self):
        """The instances made so far."""
        return [tool.instance for tool in self._tools.values()]

    def entry(self, key):
        """The object an entry point names."""
        for point in self.entry_points:
            if _entry_key(point) == key:
                module, _, attributes = point["object"].partition(":")
                value = __import__(module.strip(), fromlist=["_"])
                for attribute in filter(None, attributes.split("[")[0].strip().split(".")):
                    value = getattr(value, attribute)
                return value
        raise Refused(-32602, "the plugin has no `%s`" % key)

    def enter_imports(self):
        """Serve the plugin's own files before others do, and its siblings where nothing else has the name."""
        sys.meta_path.insert(0, self)
        sys.meta_path.append(_Siblings(self))

    def find_spec(self, name, path=None, target=None):
        """A file below the plugin's packages, from its source."""
        if path is not None and (name.startswith(_PACKAGE + ".") or self._owns(path)):
            return spec_in(name, path)
        return None

    def find_sibling(self, name):
        """A file of the plugin as a top-level module, but not the one that is just loading."""
        if not self.root or name in self._loading or name.startswith("brynhild"):
            return None
        return spec_in(name, [os.path.join(self.root, part) for part in ("tools", "providers", "")])

    def _owns(self, directories):
        root = self.root and os.path.join(self.root, "")
        return root and all(str(f).startswith(root) and "site-packages" not in str(f) for f in directories)

    def _class(self, key, pick):
        if key.startswith(_ENTRY):
            subject = self.entry(key)
            if not isinstance(subject, type):
                raise NothingFound("`%s` is not a class" % key, "let the entry point name the class itself")
            return subject, pick.judge(subject, key)
        module = self._module(key)
        return pick(module, _stem(key), self.file_of(key))

    def _module(self, key):
        kind, _, file = key.partition("/")
        stem = _stem(key)
        known = kind in self._declares and self.root and "/" not in file and file.endswith(".py")
        if not known or not os.path.exists(self.file_of(key)):
            raise Refused(-32602, "the plugin has no `%s`" % key)
        name = "%s.%s.%s.%s" % (_PACKAGE, self.name, kind, stem)
        if name in sys.modules:
            return sys.modules[name]
        self._packages(kind)
        spec = spec_of_file(name, os.path.join(self.root, kind, file))
        module = module_from_spec(spec)
        sys.modules[name] = module
        self._loading.append(stem)
        try:
            spec.loader.exec_module(module)
        except BaseException:
            sys.modules.pop(name, None)
            raise
        finally:
            self._loading.remove(stem)
        return module

    def _packages(self, kind):
        """The packages around a file, so that relative imports find its neighbours."""
        directories = ((), None), ((self.name,), self.root), ((self.name, kind), os.path.join(self.root, kind))
        for parts, directory in directories:
            name = ".".join((_PACKAGE,) + parts)
            if name not in sys.modules:
                package = type(sys)(name)
                package.__path__ = [directory] if directory else []
                package.__package__ = name
                sys.modules[name] = package

    def _file_keys(self, kind, problems):
        if not self._declares[kind] or not self.root:
            return []
        directory = os.path.join(self.root, kind)
        try:
            names = sorted(os.listdir(directory))
        except OSError as error:
            missing = "the manifest declares %s, and this directory is not there" % kind
            what = missing if isinstance(error, FileNotFoundError) else named(error)
            hint = "put the files of %s into it, or take `%s` out of plugin.yaml" % (kind, kind)
            problems.append(problem(directory, None, what, hint, "error"))
            return []
        return [kind + "/" + name for name in names if name.endswith(".py") and not name.startswith("_")]

    def _entry_keys(self, group):
        return [_entry_key(point) for point in self.entry_points if point["group"] == group]

    def _is_helper(self, key):
        """Whether another file of the plugin imports this one."""
        import re

        if key.startswith(_ENTRY):
            return False
        imports = re.compile(r"^\s*(?:from|import)\b.*\b%s\b" % re.escape(_stem(key)), re.MULTILINE)
        for directory, _, names in os.walk(self.root):
            for name in names:
                file = os.path.join(directory, name)
                if name.endswith(".py") and file != self.file_of(key) and imports.search(_text(file)):
                    return True
        return False


def _text(file):
    try:
        with open(file, encoding="utf-8", errors="replace", opener=regular) as handle:
            return handle.read()
    except OSError:
        return ""  # What cannot be read imports nothing.


class _Siblings:
    """The last finder in the list: top-level modules beside the tools."""

    def __init__(self, plugin):
        self._plugin = plugin

    def find_spec(self, name, path=None, target=None):
        return self._plugin.find_sibling(name) if path is None else None


class NothingFound(Exception):
    """A module loaded, and there is no class in it that could be used."""

    def __init__(self, message, hint):
        super().__init__(message)
        self.hint = hint


def problem(file, line, message, hint, severity):
    """One thing to report; the plugin goes on without it, or in spite of it."""
    return {"file": file, "line": line, "message": message, "hint": hint, "severity": severity}


def pick_tool(module, stem, file):
    """`Tool`, else the class whose `name` is the file's, else the first tool class that is the module's own."""
    named_tool = module.__dict__.get("Tool")
    if isinstance(named_tool, type) and not _is_base(named_tool):
        return named_tool, _judge_tool(named_tool, file)
    classes = _public_classes(module)
    for subject in classes:
        if subject.__dict__.get("name", getattr(subject, "name", None)) == stem:
            return subject, _judge_tool(subject, file)
    own = [c for c in classes if c.__module__ == module.__name__ and _derives(c, "execute")]
    usable = [c for c in own if not getattr(c, "__abstractmethods__", None)] or own
    if not usable:
        raise NothingFound("no tool in it", "name the class `Tool` and derive it from brynhild.tools.base.Tool")
    chosen, others = usable[0], [c.__name__ for c in usable[1:]]
    problems = []
    if others:
        text = "one tool a file: `%s` is used, %s left out" % (chosen.__name__, ", ".join(others))
        problems.append(problem(file, None, text, "put each tool into a file of its own", "warning"))
    return chosen, problems


def pick_provider(module, stem, file):
    """`Provider`, else the first public provider class, those of the module itself first."""
    subject = module.__dict__.get("Provider")
    if isinstance(subject, type) and not _is_base(subject):
        return subject, _judge_provider(subject, file)
    classes = [c for c in _public_classes(module) if _derives(c, "stream", "complete")]
    classes.sort(key=lambda c: (c.__module__ != module.__name__, bool(getattr(c, "__abstractmethods__", None))))
    if not classes:
        hint = "name the class `Provider` and derive it from brynhild.api.base.LLMProvider"
        raise NothingFound("no provider in it", hint)
    return classes[0], _judge_provider(classes[0], file)


def _judge_tool(subject, file):
    if getattr(subject, "_is_brynhild_duck_typed", None) in (True, False) or _on_base(subject):
        return []
    if not hasattr(subject, "name") or not (hasattr(subject, "execute") or hasattr(subject, "run")):
        hint = "derive it from brynhild.tools.base.Tool"
        raise NothingFound("`%s` has no `name` or no `execute`" % subject.__name__, hint)
    return [_unmarked(subject, file, "brynhild.tools.base.Tool")]


def _judge_provider(subject, file):
    missing = sorted(getattr(subject, "__abstractmethods__", ()))
    if missing:
        text = "`%s` is abstract: it lacks %s" % (subject.__name__, ", ".join(missing))
        raise NothingFound(text, "implement every one of them, or the provider cannot be made")
    if getattr(subject, "_is_brynhild_duck_typed", None) in (True, False) or _on_base(subject):
        return []
    if not hasattr(subject, "complete") and not hasattr(subject, "stream"):
        hint = "derive it from brynhild.api.base.LLMProvider"
        raise NothingFound("`%s` has neither `complete` nor `stream`" % subject.__name__, hint)
    return [_unmarked(subject, file, "brynhild.api.base.LLMProvider")]


pick_tool.judge = _judge_tool
pick_provider.judge = _judge_provider


def _unmarked(subject, file, base):
    text = "`%s` does not derive from %s; it is used as if it did" % (subject.__name__, base)
    hint = "derive it, or say `_is_brynhild_duck_typed = True` in the class"
    return problem(file, None, text, hint, "note")


def _public_classes(module):
    members = module.__dict__.items()
    return [c for name, c in members if isinstance(c, type) and not name.startswith("_") and not _is_base(c)]


def _is_base(subject):
    return (subject.__module__, subject.__name__) in _BASES


def _on_base(subject):
    return any(_is_base(base) for base in subject.__mro__)


def _derives(subject, *methods):
    if _on_base(subject) or getattr(subject, "_is_brynhild_duck_typed", None) is True:
        return True
    return hasattr(subject, "name") and any(hasattr(subject, method) for method in methods)


def _entry_key(point):
    return "%s%s:%s" % (_ENTRY, point["group"], point["name"])


def _stem(key):
    return key.rpartition(":" if key.startswith(_ENTRY) else "/")[2].partition(".py")[0]
