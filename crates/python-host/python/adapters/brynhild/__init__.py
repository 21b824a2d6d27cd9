"""The Brynhild dialect: plugin directories with `tools/*.py` and `providers/*.py`, and packages with entry points.

`Adapter.methods` maps the methods of the wire to functions that take a request and return its result, or a coroutine
for it. What happens before the coroutine is returned, above all importing the plugin, happens outside any task.
"""
import os

from brynhild_host.adapters.brynhild import bridge, outcome, tools
from brynhild_host.adapters.brynhild.loading import Plugin
from brynhild_host.failures import Refused, named
from brynhild_host.unloadable import Files

_BAD_PARAMS = -32602


class Adapter:
    """One Brynhild plugin."""

    def __init__(self, params, worker):
        self._worker = worker
        self._plugin = Plugin(params.get("plugin") or {}, Files(worker, params))
        self._handles = {}
        self._told = {}
        self.methods = {
            "describe": self.describe,
            "call": self.call,
            "look": self.look,
            "open_provider": self.open_provider,
            "complete": self.complete,
            "stream": self.stream,
            "models": self.models,
            "check": self.check,
        }
        self._enter(params)

    def describe(self, request):
        """Everything the plugin's Python code offers; where asked for, without the packages that are not there."""
        if request.params.get("pretend"):
            self._plugin.pretend()
        problems = []
        description = {"tools": [], "providers": [], "problems": problems}
        for key in self._plugin.tool_keys(problems):
            described = self._describe_tool(key, problems)
            if described is not None:
                description["tools"].append(described)
        for key in self._plugin.provider_keys(problems):
            provider = self._plugin.attempt(problems, key, self._plugin.provider)
            if provider is not None:
                problems.extend(provider.problems)
                offer = {"key": key, "name": provider.name, "doc": provider.doc}
                if provider.default_model:
                    offer["model"] = provider.default_model
                description["providers"].append(offer)
        self._plugin.report_empty(problems)
        from brynhild_host.adapters.brynhild import packaged

        description.update(packaged.describe(self._plugin, problems))
        pretended = self._plugin.pretended()
        if pretended:
            description["pretended"] = pretended
        if self._looks_for_programs():
            description["looks_for_programs"] = True
        return description

    def call(self, request):
        """Run a tool; the module it stands in is loaded first."""
        params = request.params
        tool = self._plugin.tool(_need(params, "tool"))
        arguments = params.get("input")
        return self._call(request, tool, {} if arguments is None else arguments)

    def look(self, request):
        """What a tool says of itself at this moment, where that is something else than before."""
        return {"live": self._live(self._plugin.tool(_need(request.params, "tool")))}

    def open_provider(self, request):
        """Construct a provider and say what it can do."""
        params = request.params
        provider = self._plugin.provider(_need(params, "provider"))
        instance = bridge.construct(provider, params)
        handle = "%s#%d" % (provider.key, len(self._handles) + 1)
        self._handles[handle] = instance
        return dict(bridge.traits(instance, provider.name), handle=handle)

    def complete(self, request):
        """One whole answer of a model."""
        return bridge.complete(self._opened(request), request.params)

    def stream(self, request):
        """One answer of a model, event by event."""
        worker, id = self._worker, request.id
        return bridge.stream(
            self._opened(request),
            request.params,
            lambda event: worker.notify("event", {"id": id, "event": event}),
            worker.log,
        )

    def models(self, request):
        """The models a provider lists."""
        return bridge.models(self._opened(request))

    def check(self, request):
        """What a provider's connection test says."""
        return bridge.check(self._opened(request))

    async def close(self):
        """Close every tool and provider that can be closed."""
        opened = list(self._plugin.loaded_tools()) + list(self._handles.values())
        for instance in opened:
            close = getattr(instance, "aclose", None) or getattr(instance, "close", None)
            if not callable(close):
                continue
            try:
                closing = close()
                if hasattr(closing, "__await__"):
                    await closing
            except BaseException as error:
                self._worker.log("warning", "closing %s raised %s" % (type(instance).__name__, named(error)))

    def _looks_for_programs(self):
        """Whether what was described may depend on the search path; of a package nobody knows its files."""
        if self._plugin.package or not self._plugin.root:
            return True
        from brynhild_host.adapters.brynhild import programs

        return programs.looks_for_programs(self._plugin.root)

    def _describe_tool(self, key, problems):
        def described(key):
            tool = self._plugin.tool(key)
            said = tools.describe(tool, problems)
            problems.extend(tool.problems)
            return said

        return self._plugin.attempt(problems, key, described)

    async def _call(self, request, tool, arguments):
        try:
            returned = tools.start(tool.instance, arguments)
            if hasattr(returned, "__await__"):
                returned = await returned
            result = outcome.of_return(returned)
        except BaseException as error:
            if request.cancelled:
                raise
            result = outcome.of_exception(error, self._plugin.package)
        live = self._live(tool)
        if live is not None:
            result["live"] = live
        return result

    def _live(self, tool):
        if tool.is_live is None:
            tool.is_live = tools.is_live(tool.instance)
        if not tool.is_live:
            return None
        live = tools.live(tool.instance, self._told.get(tool.key))
        if live is not None:
            self._told[tool.key] = live
        return live

    def _opened(self, request):
        handle = _need(request.params, "handle")
        if handle not in self._handles:
            raise Refused(_BAD_PARAMS, "no provider is open as `%s`" % handle)
        return self._handles[handle]

    def _enter(self, params):
        cwd = params.get("cwd")
        if cwd:
            try:
                os.chdir(cwd)
            except OSError as error:
                self._worker.log("warning", "cannot enter %s: %s" % (cwd, named(error)))
        import brynhild._surroundings as surroundings

        surroundings.enter(params)
        self._plugin.enter_imports()


def _need(params, name):
    value = params.get(name)
    if not isinstance(value, str):
        raise Refused(_BAD_PARAMS, "`%s` is missing" % name)
    return value
