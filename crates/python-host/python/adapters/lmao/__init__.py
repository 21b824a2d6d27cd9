"""The LMAO dialect: every `tool.py` of a plugin directory in one process, so that the modules, the jobs and the registry
of tools are shared as their authors expect.

What may run is decided before a call comes here. The order of hooks around a call is in `moments.py`.
"""
import json
import os
import sys
from pathlib import Path

from brynhild_host.adapters.lmao import moments, rendering, schema
from brynhild_host.examples import with_examples
from brynhild_host.failures import Refused, hint_for, named, place, traceback_of
from brynhild_host.sources import keep_bytecode, spec_of_file
from brynhild_host.unloadable import Files

_BAD_PARAMS = -32602
_LIMIT = 10_000_000


class Adapter:
    """The plugins of one directory."""

    def __init__(self, params, worker):
        self._worker = worker
        plugin = params.get("plugin") or {}
        settings = params.get("settings") or {}
        self._root = plugin.get("root") or "."
        self._files = list(plugin.get("files") or ())
        if plugin.get("data"):
            keep_bytecode(os.path.join(plugin["data"], "pycache"))
        self._loader = Files(worker, params)
        self._modules = None
        self._guards = {}
        self._unloaded = {}
        self._problems = []
        self._tools = {}
        self.base = Path(params.get("project_root") or params.get("cwd") or ".").resolve()
        self.extra_roots = [Path(root) for root in settings.get("roots") or ()]
        self.skill_roots = [Path(root) for root in settings.get("skill_roots") or ()]
        self.logger = _Logger(worker) if settings.get("debug") else None
        self.methods = {"describe": self.describe, "call": self.call, "hook": self.hook}
        try:
            os.chdir(str(self.base))
        except OSError as error:
            worker.log("warning", "cannot enter %s: %s" % (self.base, named(error)))

    def describe(self, request):
        """Everything the plugins offer."""
        self._load()
        from lmao.hooks import get_global_hook_registry

        tools = [_described(key, tool) for key, tool in self._tools.items()]
        facts = {key: _facts(tool, self._root) for key, tool in self._tools.items()}
        types = get_global_hook_registry().types()
        return {
            "tools": tools,
            "providers": [],
            "problems": list(self._problems),
            "lmao": {
                "tools": facts,
                "moments": moments.of_types(types),
                "hooks": types,
                "unheard": moments.unheard(types),
                "guards": self._guards,
                "unloaded": list(self._unloaded),
            },
        }

    def call(self, request):
        """Run a tool."""
        self._load()
        key = request.params.get("tool")
        tool = self._tools.get(key)
        if tool is None:
            raise Refused(_BAD_PARAMS, "there is no tool `%s`" % key)
        given = request.params.get("input") or {}
        self.enter_mode(given.get("mode"), tool.is_destructive)
        target = given.get("target")
        target = "" if target is None else target if isinstance(target, str) else json.dumps(target)
        meta = given.get("meta")
        try:
            returned = tool.handler(
                target,
                given.get("args"),
                self.base,
                self.extra_roots,
                self.skill_roots,
                self.logger,
                meta if isinstance(meta, dict) else None,
            )
        except BaseException as error:
            return self._failed(tool, error)
        if hasattr(returned, "__await__"):
            return self._await(tool, returned)
        return _outcome(tool.name, returned)

    def hook(self, request):
        """Ask the hooks of a moment."""
        self._load()
        params = request.params
        moment = params.get("moment")
        # What was described with hooks and cannot be loaded now has not agreed to anything.
        for file in params.get("guards") or ():
            if moment not in self._guards.get(file, ()):
                raise Refused(_BAD_PARAMS, "%s, which has hooks, %s" % (file, self._fault(file)))
        self.enter_mode(params.get("mode"))
        return moments.ask(self, moment, params, self._find(params.get("tool")))

    async def close(self):
        """End the jobs that still run."""
        jobs = sys.modules.get("lmao.async_jobs")
        if jobs is not None:
            manager = jobs.get_async_job_manager()
            for job in manager.list_jobs():
                manager.stop(job["id"])

    def enter_mode(self, mode, may_change=False):
        """Have the packages that plugins import know the mode, and whether what runs was approved as a change."""
        import lmao.plugin_helpers
        import lmao.tools

        lmao.tools.host_mode = mode or "normal"
        lmao.tools.host_may_change = may_change
        lmao.plugin_helpers.set_yolo_path_mode(mode == "yolo")

    def warn(self, text):
        """A line for the person."""
        self._worker.log("warning", text)

    def _find(self, name):
        for tool in self._tools.values():
            if tool.name == name:
                return tool
        return None

    async def _await(self, tool, returned):
        try:
            returned = await returned
        except BaseException as error:
            return self._failed(tool, error)
        return _outcome(tool.name, returned)

    def _failed(self, tool, error):
        text = str(error) if not isinstance(error, SystemExit) else named(error)
        result = _outcome(tool.name, _error(tool.name, "plugin '%s' failed: %s" % (tool.name, text)))
        result["traceback"] = traceback_of(error)
        return result

    def _load(self):
        """Import every file once; a bad one costs one problem."""
        if self._modules is not None:
            return
        self._modules = {}
        from lmao import plugins
        from lmao.hooks import get_global_hook_registry

        plugins.spec_of_file = spec_of_file
        for file in self._files:
            path = Path(self._root, file)
            try:
                module, tools, hooks = self._loader.load([str(path)], lambda: plugins.read(path))
                self._modules[file] = module
            except BaseException as error:
                self._problems.append(self._problem(str(path), error))
                self._unloaded[file] = self._problems[-1]["message"]
                continue
            for tool in tools:
                if tool.name in plugins.registry.tools:
                    first = plugins.registry.tools[tool.name].path
                    self._problems.append(_clash(str(path), tool.name, str(first)))
                    continue
                plugins.registry.tools[tool.name] = tool
                self._tools["%s:%s" % (file, tool.name)] = tool
            if hooks:
                self._guards[file] = moments.of_types([type for type, _, _ in hooks])
            for type, function, priority in hooks:
                get_global_hook_registry().register(type, function, priority)

    def _fault(self, file):
        told = self._unloaded.get(file)
        return "was not loaded: %s" % told if told else "has none any more"

    def _problem(self, file, error):
        found, line = place(error, file)
        hint = getattr(error, "hint", None)
        if hint is None and isinstance(error, ModuleNotFoundError) and (error.name or "").split(".")[0] == "lmao":
            hint = "Brynhild offers no module `%s` to plugins" % error.name
        elif hint is None and isinstance(error, ModuleNotFoundError):
            hint = "install `%s` into a virtual environment `.venv` in %s" % (error.name, self._root)
        message = str(error) if type(error) is ValueError or hasattr(error, "hint") else named(error)
        hint = hint or hint_for(error) or "correct the file, or remove it"
        return {"file": found or file, "line": line, "message": message, "hint": hint, "severity": "error"}


class _Logger:
    """What plugins take for the log of the program."""

    def __init__(self, worker):
        self._worker = worker

    def log(self, event, detail="", **_):
        """Show a line to the person."""
        from lmao.debug_log import DebugLogger

        logger = DebugLogger(None)
        logger.write = lambda event, detail: self._worker.log("debug", "%s: %s" % (event, detail))
        logger.log(event, detail)


def _described(key, tool):
    risk = "high_impact" if tool.always_confirm else "mutating" if tool.is_destructive else "read_only"
    return {
        "key": key,
        "name": tool.name,
        "description": with_examples(rendering.description(tool), rendering.examples(tool)),
        "input_schema": schema.of_call(tool),
        "version": "0.0.0",
        "categories": ["lmao"],
        "requires_permission": tool.is_destructive or tool.always_confirm,
        "risk_level": risk,
        "recovery_policy": "confirm" if tool.is_destructive or tool.always_confirm else "allow",
    }


def _facts(tool, root):
    names = ("is_destructive", "allow_in_read_only", "allow_in_normal", "always_confirm", "visible_to_agent")
    return dict({name: getattr(tool, name) for name in names}, file=str(tool.path))


def _clash(file, name, first):
    return {
        "file": file,
        "line": None,
        "message": "the tool `%s` is left out: %s has one of that name" % (name, first),
        "hint": "give one of them another name",
        "severity": "error",
    }


def _error(name, text):
    return json.dumps({"tool": name, "success": False, "error": text}, ensure_ascii=False)


def _outcome(name, returned):
    """The answer of the wire for what `run` returned: its text as it is."""
    if not isinstance(returned, str):
        returned = _error(name, "plugin handlers must return a JSON string")
    try:
        said = json.loads(returned)
    except (ValueError, RecursionError):
        said = None
    success = not (isinstance(said, dict) and said.get("success") is False)
    if len(returned) > _LIMIT:
        returned = returned[:_LIMIT] + "\n[cut: the output had %d characters]" % len(returned)
    return {"success": success, "output": returned, "error": None}
