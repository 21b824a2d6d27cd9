"""Manifests of plugins, and the tools that they define."""
import os
import re
import sys
from binascii import crc32
from pathlib import Path

from lmao._binding import bind
from lmao.hooks import entries_of

PLUGIN_API_VERSION = "1"

_NAME = re.compile(r"^[A-Za-z0-9_\-]+$")
_LONGEST_NAME = 64
_SWITCHES = (
    ("is_destructive", False),
    ("allow_in_read_only", None),
    ("allow_in_normal", True),
    ("allow_in_yolo", True),
    ("always_confirm", False),
    ("visible_to_agent", True),
)


class PluginError(ValueError):
    """Raised if a plugin cannot be used. `hint` says what to change."""

    def __init__(self, message, hint):
        super().__init__(message)
        self.hint = hint


class PluginTool:
    """A tool as its manifest describes it, with the function behind it."""

    def __init__(
        self,
        name,
        description,
        input_schema=None,
        usage_examples=(),
        details=(),
        is_destructive=False,
        allow_in_read_only=None,
        allow_in_normal=True,
        allow_in_yolo=True,
        always_confirm=False,
        handler=None,
        path=None,
        visible_to_agent=True,
    ):
        self.name = name
        self.description = description
        self.input_schema = input_schema
        self.usage_examples = list(usage_examples)
        self.details = list(details)
        self.is_destructive = is_destructive
        self.allow_in_read_only = not is_destructive if allow_in_read_only is None else allow_in_read_only
        self.allow_in_normal = allow_in_normal
        self.allow_in_yolo = allow_in_yolo
        self.always_confirm = always_confirm
        self.handler = handler
        self.path = path
        self.visible_to_agent = visible_to_agent

    def __repr__(self):
        return "PluginTool(%r, path=%r)" % (self.name, str(self.path))


class Registry:
    """All discovered tools, for any mode. `fill` discovers them at the first request."""

    def __init__(self):
        self.tools = {}
        self.fill = None

    def get(self):
        """The tools by name."""
        fill, self.fill = self.fill, None
        if fill is not None:
            fill()
        return self.tools


registry = Registry()


def spec_of_file(name, path):
    """The import specification of a plugin's file. A host may replace this function."""
    from importlib.util import spec_from_file_location

    return spec_from_file_location(name, path)


def get_discovered_tool_registry():
    """All tools that were discovered, by name."""
    return dict(registry.get())


def read_module(path):
    """Run a plugin's file as a module of its own."""
    from importlib.util import module_from_spec

    name = "lmao_plugin_tool_%d" % crc32(os.fsencode(str(path)))
    spec = spec_of_file(name, str(path))
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def read(path):
    """The module of a file, with its tools and hooks."""
    module = read_module(path)
    return module, tools_of(module, path), hooks_of(module)


def tools_of(module, path):
    """The tools of a module; PluginError if it is not a valid plugin."""
    run = getattr(module, "run", None)
    if not callable(run):
        raise PluginError("there is no function `run`", "define `run(target, args, base, ...)` that returns a JSON text")
    several = getattr(module, "PLUGINS", None)
    if several is not None:
        if not isinstance(several, (list, tuple)) or not several:
            raise PluginError("`PLUGINS` is not a list of manifests", "write `PLUGINS = [{\"name\": ..}, ..]`")
        return [_tool(manifest, "PLUGINS[%d]" % index, run, True, path) for index, manifest in enumerate(several)]
    manifest = getattr(module, "PLUGIN", None)
    if manifest is None:
        raise PluginError("there is neither `PLUGIN` nor `PLUGINS`", "describe the tool in a dict `PLUGIN`")
    return [_tool(manifest, "PLUGIN", run, False, path)]


def hooks_of(module):
    """The hooks that a module declares: (type, function or its name, priority)."""
    several = getattr(module, "PLUGINS", None)
    manifests = list(several) if isinstance(several, (list, tuple)) else [getattr(module, "PLUGIN", None)]
    found = []
    for manifest in manifests:
        if isinstance(manifest, dict):
            found.extend(entries_of(manifest.get("hooks"), module))
    found.extend(entries_of(getattr(module, "HOOKS", None), module))
    return found


def _tool(manifest, where, run, is_one_of_several, path):
    if not isinstance(manifest, dict):
        raise PluginError("`%s` is a %s, not a dict" % (where, type(manifest).__name__), "write it as a dict")

    def refuse(key, what, hint):
        raise PluginError("`%s` of `%s` %s" % (key, where, what), hint)

    name = manifest.get("name")
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME or not _NAME.match(name.rstrip("\n")):
        refuse("name", "is %r" % (name,), "use 1 to 64 letters, digits, `_` or `-`")
    name = name.strip()
    description = manifest.get("description")
    if not isinstance(description, str) or not description.strip():
        refuse("description", "is missing or empty", "say in a sentence what the tool does")
    version = manifest.get("api_version")
    if version not in (None, "") and str(version) != PLUGIN_API_VERSION:
        refuse("api_version", "is %r" % (version,), "write `\"api_version\": PLUGIN_API_VERSION`, which is \"1\"")
    switches = {}
    for key, default in _SWITCHES:
        value = manifest.get(key, default)
        if value is not default and not isinstance(value, bool):
            refuse(key, "is %r" % (value,), "write True or False")
        switches[key] = value
    schema = manifest.get("input_schema")
    if schema is not None and not isinstance(schema, str):
        refuse("input_schema", "is a %s" % type(schema).__name__, "describe the arguments in a text")
    tool = PluginTool(
        name,
        description.strip(),
        schema,
        _texts(manifest, "usage", refuse),
        _texts(manifest, "details", refuse),
        path=Path(path),
        **switches
    )
    tool.handler = bind(run, name, is_one_of_several)
    return tool


def _texts(manifest, key, refuse):
    value = manifest.get(key)
    if value is None:
        return []
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, (list, tuple)):
        refuse(key, "is a %s" % type(value).__name__, "write a text or a list of texts")
    texts = [str(item).strip() for item in value]
    return [text for text in texts if text]


def load_plugins(path, base=None, debug_logger=None, allow_outside_base=False):
    """The tools of one file. An invalid plugin has none, and is logged."""
    path = Path(path).resolve()
    if base is not None and not allow_outside_base and not _is_within(path, Path(base).resolve()):
        return []
    try:
        return tools_of(read_module(path), path)
    except BaseException as error:
        if debug_logger is not None:
            debug_logger.log("plugin.invalid", "%s: %s" % (path, error))
        return []


def load_plugin(path, base=None, debug_logger=None, allow_outside_base=False):
    """The first tool of one file, or None."""
    tools = load_plugins(path, base, debug_logger, allow_outside_base)
    return tools[0] if tools else None


def files_in(directory):
    """Every `tool.py` below a directory, sorted."""
    return sorted(path for path in Path(directory).rglob("tool.py") if path.is_file())


def discover_plugins(dirs, base, debug_logger=None, allow_outside_base=False):
    """The tools of all plugins in some directories, by name. The first tool of a name is used."""
    found = {}
    for directory in dirs:
        for path in files_in(directory):
            for tool in load_plugins(path, base, debug_logger, allow_outside_base):
                found.setdefault(tool.name, tool)
    return found


def discover_plugin_hooks(dirs, base, debug_logger=None, allow_outside_base=False):
    """The hooks of all plugins in some directories, in a new registry."""
    from lmao.hooks import HookRegistry

    found = HookRegistry()
    for directory in dirs:
        for path in files_in(directory):
            if not allow_outside_base and not _is_within(path.resolve(), Path(base).resolve()):
                continue
            try:
                module = read_module(path.resolve())
            except BaseException as error:
                if debug_logger is not None:
                    debug_logger.log("plugin.invalid", "%s: %s" % (path, error))
                continue
            for type, function, priority in hooks_of(module):
                found.register(type, function, priority)
    return found


def _is_within(path, directory):
    return path == directory or str(path).startswith(str(directory).rstrip(os.sep) + os.sep)
