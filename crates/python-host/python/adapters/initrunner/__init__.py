"""The InitRunner dialect: the Python behind the tools of one role, all of it in one process.

An entry of the role is a module (`custom`) or a tool type that a package or a file brings. What may run is decided
before a call comes here.
"""
import os
import re

from brynhild_host.adapters.initrunner import imports
from brynhild_host.adapters.initrunner.imports import Imports
from brynhild_host.failures import Refused, named, traceback_of
from brynhild_host.sources import keep_bytecode
from brynhild_host.unloadable import Files

_BAD_PARAMS = -32602
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_AGAIN = "\n\nFix the errors and try again."


class Adapter:
    """The tools of one role."""

    def __init__(self, params, worker):
        self._worker = worker
        plugin = params.get("plugin") or {}
        self._settings = params.get("settings") or {}
        self._root = plugin.get("root") or "."
        if plugin.get("data"):
            keep_bytecode(os.path.join(plugin["data"], "pycache"))
        self._entries = [self._filled(entry) for entry in self._settings.get("entries") or ()]
        self._imports = Imports(self._root, self._settings.get("sites") or ())
        self._loader = Files(worker, params, again="the next run tries it again")
        self._types = None
        self._loaded = {}
        self._warnings = {}
        self._summaries = {}
        self.methods = {"describe": self.describe, "call": self.call}
        cwd = params.get("cwd")
        if cwd:
            try:
                os.chdir(cwd)
            except OSError as error:
                worker.log("warning", "cannot enter %s: %s" % (cwd, named(error)))

    def describe(self, request):
        """Everything that the entries bring."""
        is_done, described = _at_once(self._describe())
        return described if is_done else self._describe()

    async def _describe(self):
        tools, entries = [], []
        for index in range(len(self._entries)):
            error = None
            try:
                loaded = await self._load(index)
            except (Exception, SystemExit) as failed:
                loaded, error = {}, _problem(failed, self._root)
            hidden = {}
            for name, tool in loaded.items():
                tools.append(_described(_key(index, name), name, tool))
                if tool.hidden:
                    hidden[_key(index, name)] = list(tool.hidden)
            warnings = list(dict.fromkeys(self._warnings.get(index) or ()))
            summary = self._summaries.get(index)
            entries.append({"error": error, "warnings": warnings, "hidden": hidden, "summary": summary})
        said = self._types.said if self._types else {}
        own = {"entries": entries, "said": said}
        return {"tools": tools, "providers": [], "problems": [], "initrunner": own}

    def call(self, request):
        """Run a tool."""
        index, _, name = str(request.params.get("tool")).partition(":")
        known = index.isdigit() and int(index) < len(self._entries)
        tool = self._loaded.get(int(index), {}).get(name) if known else None
        given = request.params.get("input")
        given = {} if given is None else given
        if tool is None and known:
            try:
                is_done, loaded = _at_once(self._load(int(index)))
            except (Exception, SystemExit) as error:
                return _failed(error, str(error))
            if not is_done:
                return self._first_call(request, int(index), name, given)
            tool = loaded.get(name)
        if tool is None:
            raise Refused(_BAD_PARAMS, "there is no tool `%s`" % name)
        return self._called(request, tool, given)

    async def close(self):
        """Nothing is left open that the end of the process does not close."""

    async def _first_call(self, request, index, name, given):
        try:
            tool = (await self._load(index)).get(name)
        except (Exception, SystemExit) as error:
            return _failed(error, str(error))
        if tool is None:
            raise Refused(_BAD_PARAMS, "there is no tool `%s`" % name)
        result = self._called(request, tool, given)
        return await result if hasattr(result, "__await__") else result

    def _called(self, request, tool, given):
        try:
            run = tool.call(given)
        except Exception as error:
            return _refused(error)
        if self._worker.loop is not None:
            # A loop runs in this thread, and functions may start one of their own.
            return self._aside(request, run)
        try:
            returned = run()
        except BaseException as error:
            return _raised(error)
        return self._waited(request, returned) if hasattr(returned, "__await__") else _outcome(returned)

    async def _aside(self, request, run):
        import asyncio

        try:
            returned = await asyncio.get_running_loop().run_in_executor(None, run)
        except BaseException as error:
            if request.cancelled:
                raise
            return _raised(error)
        return await self._waited(request, returned) if hasattr(returned, "__await__") else _outcome(returned)

    async def _waited(self, request, returned):
        try:
            return _outcome(await returned)
        except BaseException as error:
            if request.cancelled:
                raise
            return _raised(error)

    async def _load(self, index):
        """The tools of an entry; with the real packages where the stand-ins lack something."""
        if index in self._loaded:
            return self._loaded[index]
        try:
            loaded = await self._attempt(index)
        except Exception:
            if not self._imports.turn_to_real():
                raise
            self._types = None
            self._warnings.clear()
            self._loaded.clear()
            loaded = await self._attempt(index)
        self._loaded[index] = loaded
        return loaded

    async def _attempt(self, index):
        entry = self._entries[index]
        warn = self._warnings.setdefault(index, []).append
        self._imports.begin()
        imports.missing.clear()
        try:
            if self._settings.get("only_look"):
                from brynhild_host.adapters.initrunner import outline

                return outline.look(entry, dict(self._settings, root=self._root))
            if entry.get("type") == "custom":
                from brynhild_host.adapters.initrunner import custom

                return custom.load(entry, (self._imports, self._loader), self._settings, warn)
            if self._types is None:
                from brynhild_host.adapters.initrunner.registry import Types

                self._types = Types((self._imports, self._loader), self._settings, warn)
            return await self._types.load(entry, lambda summary: self._summaries.__setitem__(index, summary))
        finally:
            self._imports.end()

    def _filled(self, value):
        """A value with `${NAME}` replaced where the variable is there for this role."""
        if isinstance(value, str):
            return _VARIABLE.sub(self._variable, value)
        if isinstance(value, dict):
            return {key: self._filled(item) for key, item in value.items()}
        return [self._filled(item) for item in value] if isinstance(value, list) else value

    def _variable(self, found):
        is_given = found.group(1) in (self._settings.get("variables") or ())
        return (os.environ.get(found.group(1)) if is_given else None) or found.group(0)


def _at_once(work):
    """Run a coroutine that need not wait, outside any loop: whether it came to its end, and with what.

    Modules are loaded and functions called where no loop runs as long as that can be, because they may start one.
    """
    from brynhild_host.adapters.initrunner.loaded import NeedsLoop

    try:
        work.send(None)
    except StopIteration as done:
        return True, done.value
    except NeedsLoop:
        return False, None
    work.close()
    return False, None


def _key(index, name):
    return "%d:%s" % (index, name)


def _described(key, name, tool):
    return {
        "key": key,
        "name": name,
        "description": tool.description,
        "input_schema": tool.schema,
        "version": "0.0.0",
        "categories": ["initrunner"],
        "examples": [],
        "requires_permission": True,
        "risk_level": "mutating",
        "recovery_policy": "confirm",
    }


def _problem(error, root):
    from brynhild_host.adapters.initrunner.loaded import UnknownType, Wrong
    from brynhild_host.failures import place

    is_wrong = isinstance(error, Wrong)
    file, line = (error.file, error.line) if is_wrong else place(error, root)
    message = str(error) if is_wrong else named(error)
    return {"message": message, "file": file, "line": line, "unknown_type": isinstance(error, UnknownType)}


def _outcome(returned):
    from brynhild_host.adapters.initrunner.plain import text

    try:
        return {"success": True, "output": text(returned), "error": None}
    except Exception as error:
        return _failed(error, named(error))


def _failed(error, words):
    return {"success": False, "output": "", "error": words, "traceback": traceback_of(error)}


def _raised(error):
    """What the model reads of an exception."""
    kind = type(error).__name__
    if kind == "ModelRetry":
        return {"success": False, "output": "", "error": str(error) + _AGAIN}
    if kind == "ToolFailed":
        return {"success": False, "output": "", "error": str(error)}
    return _failed(error, named(error))


def _refused(error):
    """What the model reads of arguments that do not fit."""
    if not hasattr(error, "errors"):
        return _raised(error)
    import json

    from brynhild_host.channel import plain

    names = ("type", "loc", "msg", "input")
    faults = [{name: item.get(name) for name in names} for item in error.errors()]
    count = "%d validation error%s" % (len(faults), "" if len(faults) == 1 else "s")
    listed = json.dumps(plain(faults), indent=2, ensure_ascii=False)
    return {"success": False, "output": "", "error": "%s:\n```json\n%s\n```%s" % (count, listed, _AGAIN)}
