"""The registry of tool types: files with `@register_tool`, and the entry points of installed packages."""
import os
import sys
from _frozen_importlib import module_from_spec
from pathlib import Path

from brynhild_host.adapters.initrunner.imports import files_of
from brynhild_host.adapters.initrunner.loaded import UnknownType, Wrong, of_toolset
from brynhild_host.failures import named
from brynhild_host.sources import spec_of_file
from brynhild_host.unloadable import Unloadable


class Types:
    """The tool types that can be had, loaded when one is asked for."""

    def __init__(self, means, settings, warn):
        self._imports, self._loader = means
        self._points = list(settings.get("entry_points") or ())
        self._files = list(settings.get("files") or ())
        self._role = settings.get("role") or {}
        self._warn = warn
        self._plugins = {}
        self._seen = set()
        self.said = {}
        self._read = False

    async def load(self, entry, tell):
        """The tools of an entry by name; `tell` hears what its configuration says of itself."""
        name = entry["type"]
        registered = self._registered(name)
        if registered is not None:
            config = _validated(registered.config_class, name, entry)
            tell(_summary(config))
            return await of_toolset(_scoped(registered, config, self._context()))
        plugin = self._plugin(name)
        if plugin is None:
            raise UnknownType(name, sorted(self._plugins))
        config = _validated(plugin.config_class, name, entry)
        tell(_summary(config))
        toolset = _built(plugin.builder, config, self._role_directory(), self._sandbox())
        return await of_toolset(toolset)

    def _registered(self, name):
        if not self._files:
            return None
        from initrunner.agent.tools import _registry

        if not self._read:
            self._read = True
            for file in self._files:
                self._read_file(file)
        # The real package hands out builders alone, and keeps the rest beside them.
        kept = getattr(_registry, "_tool_registry", None)
        if kept is not None:
            return kept.get(name)
        find = getattr(_registry, "get_builder", None)
        return find(name) if find else None

    def _read_file(self, file):
        name = "initrunner.agent.tools." + os.path.basename(file)[:-3]
        if name in sys.modules:
            name += "_"
        spec = spec_of_file(name, file)
        module = module_from_spec(spec)
        sys.modules[name] = module
        try:
            self._loader.load([file], lambda: spec.loader.exec_module(module))
        except (Exception, SystemExit) as error:
            del sys.modules[name]
            if self._imports.can_help():
                raise
            self._warn("%s is left out: %s" % (file, _why(error)))

    def _plugin(self, name):
        """The plugin of a name: the entry point that is called so, else any that gives a type of that name."""
        for point in sorted(self._points, key=lambda point: point["name"] != name):
            if name in self._plugins:
                break
            if point["object"] not in self._seen:
                self._seen.add(point["object"])
                self._read_point(point)
        return self._plugins.get(name)

    def _read_point(self, point):
        module, _, attributes = point["object"].partition(":")
        module = module.strip()
        try:
            plugin = self._loader.load(files_of(module), lambda: _made(module, attributes))
            if not all(hasattr(plugin, name) for name in ("type", "config_class", "builder")):
                raise TypeError("it gives a %s and no ToolPlugin" % type(plugin).__name__)
        except (Exception, SystemExit) as error:
            if self._imports.can_help():
                raise
            self._warn("the tool type '%s' of %s is left out: %s" % (point["name"], point["package"], _why(error)))
        else:
            self._plugins.setdefault(plugin.type, plugin)
            self.said[point["object"]] = str(getattr(plugin, "description", "") or "")

    def _role_directory(self):
        return Path(self._imports.root)

    def _context(self):
        from initrunner.agent.tools._registry import ToolBuildContext

        try:
            from initrunner.agent.schema.base import RoleDefinition

            role = RoleDefinition(self._role)
        except ImportError:
            role = None
        return ToolBuildContext(role=role, role_dir=self._role_directory(), sandbox_backend=None)

    def _sandbox(self):
        try:
            from initrunner.agent.schema.tools import ToolSandboxConfig
        except ImportError:
            from initrunner.agent.schema.security import ToolSandboxConfig
        return ToolSandboxConfig()


def _made(module, attributes):
    """What an entry point gives."""
    value = __import__(module, fromlist=["_"])
    for attribute in filter(None, attributes.strip().split(".")):
        value = getattr(value, attribute)
    return value()


def _why(error):
    return "%s; %s" % (error, error.hint) if isinstance(error, Unloadable) else named(error)


def _validated(config_class, name, entry):
    values = dict(entry.get("config") or {}, type=name)
    validate = getattr(config_class, "model_validate", None)
    try:
        return validate(values) if validate else config_class(**values)
    except Exception as error:
        raise Wrong("the configuration of tool type '%s' makes no sense: %s" % (name, error)) from error


def _summary(config):
    """One line on a configuration in its own words, or nothing."""
    try:
        summary = config.summary()
    except Exception:
        return None
    return " ".join(summary.split())[:200] if isinstance(summary, str) else None


def _scoped(registered, config, context):
    """What a registered builder makes; one for each run may want what the run knows of itself."""
    import inspect

    try:
        count = len(inspect.signature(registered.builder).parameters)
    except (TypeError, ValueError):
        count = 2
    if not getattr(registered, "run_scoped", False) or count < 3:
        return registered.builder(config, context)
    try:
        from initrunner.agent.reflection import ReflectionState as State
    except ImportError:
        from types import SimpleNamespace as State
    return registered.builder(config, context, State())


def _built(builder, config, role_dir, sandbox):
    """What a builder makes; one that takes less is given less."""
    import inspect

    extras = {"role_dir": role_dir, "sandbox": sandbox}
    parameters = inspect.signature(builder).parameters
    if not any(it.kind is inspect.Parameter.VAR_KEYWORD for it in parameters.values()):
        extras = {name: value for name, value in extras.items() if name in parameters}
    return builder(config, **extras)
