"""Takes requests from the channel and lets an adapter serve them. Knows no dialect.

A coroutine that never waits is driven by hand, because importing asyncio costs more than starting Python. The moment a
coroutine waits, or anything loads asyncio, the worker runs everything on one asyncio loop until its end.
"""
import os
import sys
from _contextvars import copy_context

from brynhild_host.byhand import Driver, loop_is_wanted
from brynhild_host.channel import Channel, TooLong, from_text
from brynhild_host.failures import Refused, named, text_of, traceback_of

PROTOCOL = 1
DIALECTS = ("batch", "brynhild", "initrunner", "lmao")

PLUGIN_RAISED = -32000
UNKNOWN_METHOD = -32601
BAD_PARAMS = -32602
BAD_JSON = -32700
CANCELLED = -32800


class Request:
    """One request on its way."""

    __slots__ = ("id", "method", "params", "task", "started", "cancelled")

    def __init__(self, id, method, params):
        self.id = id
        self.method = method
        self.params = params
        self.task = None
        self.started = False
        self.cancelled = False


class Worker:
    """One plugin, served until the channel ends."""

    def __init__(self, incoming, outgoing):
        self.channel = Channel(incoming, outgoing)
        self.adapter = None
        self.loop = None
        self.finished = False
        self.requests = {}
        self._prepared = None
        self._context = copy_context()
        self._driver = Driver(self)

    def run(self):
        """Serve without a loop as long as nobody wants one, then on the loop."""
        channel = self.channel
        if loop_is_wanted():
            self.prepare_loop()
        while self.loop is None and not self.finished:
            if channel.lines:
                self.receive(channel.lines.pop(0))
            elif not channel.fill():
                self.leave()
        self._driver.retire()
        while not self.finished:
            try:
                self.loop.run_forever()
            except (SystemExit, KeyboardInterrupt) as error:
                self.log("warning", "a background task of the plugin raised %s" % named(error))

    def leave(self):
        """The other side is gone: end without running anything else."""
        flush_output()
        os._exit(0)

    def prepare_loop(self):
        """Make the loop current for what loads before it runs: locks and queues may bind to it when they are made."""
        self._context.run(self._prepare_loop)

    def enter_loop(self):
        """Make the one loop of this worker, if there is none, free of the context variables of the moment."""
        if self.loop is None:
            # Loaded outside the context: the finder that watches for it enters the context too.
            import asyncio  # noqa: F401

            self._context.run(self._make_loop)

    def receive(self, line):
        """One line from Brynhild."""
        try:
            message = from_text(line.decode())
            method, params = message["method"], message.get("params") or {}
        except (ValueError, KeyError, TypeError, AttributeError, UnicodeDecodeError) as error:
            self.send({"jsonrpc": "2.0", "id": None, "error": {"code": BAD_JSON, "message": text_of(error)}})
            return
        if "id" in message:
            self._accept(Request(message["id"], method, params))
        elif method == "cancel":
            self._cancel(self.requests.get(params.get("id")))

    def notify(self, method, params):
        """Tell Brynhild something it did not ask for."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def log(self, level, text):
        """A line for Brynhild's log."""
        self.notify("log", {"level": level, "text": text})

    def send(self, message):
        """Write a message, and what the plugin printed before it."""
        flush_output()
        self.channel.send(message)

    def answer(self, request, result):
        """The result of a request, at most once."""
        if self.requests.pop(request.id, None) is None:
            return
        try:
            self.send({"jsonrpc": "2.0", "id": request.id, "result": result})
        except TooLong as error:
            self._send_error(request, PLUGIN_RAISED, text_of(error), None)

    def fail(self, request, error):
        """The error of a request, at most once."""
        if self.requests.pop(request.id, None) is None:
            return
        if request.cancelled:
            self._send_error(request, CANCELLED, "cancelled", None)
        elif isinstance(error, Refused):
            self._send_error(request, error.code, text_of(error), None)
        else:
            data = {"type": type(error).__name__, "traceback": traceback_of(error)}
            self._send_error(request, PLUGIN_RAISED, text_of(error) or type(error).__name__, data)

    def _send_error(self, request, code, message, data):
        error = {"code": code, "message": message}
        if data is not None:
            error["data"] = data
        self.send({"jsonrpc": "2.0", "id": request.id, "error": error})

    def _accept(self, request):
        self.requests[request.id] = request
        try:
            work = self._begin(request)
        except BaseException as error:
            self.fail(request, error)
            return
        if not hasattr(work, "send"):
            self.answer(request, work)
            return
        serving = self._serve(request, work)
        if self.loop is None and not loop_is_wanted():
            self._driver.drive(request, serving)
        else:
            self.enter_loop()
            request.task = self.loop.create_task(serving)

    def _begin(self, request):
        method = request.method
        if method == "initialize":
            return self._initialize(request.params)
        if self.adapter is None:
            raise Refused(BAD_PARAMS, "`initialize` comes first")
        if method == "shutdown":
            return self._shutdown()
        serve = self.adapter.methods.get(method)
        if serve is None:
            raise Refused(UNKNOWN_METHOD, "unknown method `%s`" % method)
        return serve(request)

    async def _serve(self, request, work):
        request.started = True
        try:
            result = await work
        except BaseException as error:
            self.fail(request, error)
        else:
            if request.cancelled:
                self.fail(request, None)
            else:
                self.answer(request, result)
            if request.method == "shutdown":
                self._finish()

    def _initialize(self, params):
        if self.adapter is not None:
            raise Refused(BAD_PARAMS, "`initialize` comes once")
        if params.get("protocol") != PROTOCOL:
            raise Refused(BAD_PARAMS, "this worker speaks protocol %d" % PROTOCOL)
        dialect = params.get("dialect")
        if dialect not in DIALECTS:
            raise Refused(BAD_PARAMS, "this worker knows no dialect `%s`" % dialect)
        if params.get("home"):
            from brynhild_host import home

            home.enter(params["home"])
        module = __import__("brynhild_host.adapters." + dialect, fromlist=["Adapter"])
        self.adapter = module.Adapter(params, self)
        return {"protocol": PROTOCOL, "python": sys.version.split()[0]}

    async def _shutdown(self):
        await self.adapter.close()
        return {}

    def _finish(self):
        self.finished = True
        if self.loop is not None:
            self.loop.stop()

    def _prepare_loop(self):
        import asyncio

        self._prepared = asyncio.new_event_loop()
        asyncio.set_event_loop(self._prepared)

    def _make_loop(self):
        import asyncio

        if self._prepared is None:
            self._prepare_loop()
        else:
            self._adopt_loop(asyncio)
        self.loop = self._prepared
        self.loop.add_reader(self.channel.incoming, self._readable)
        self.loop.call_soon(self._drain)

    def _adopt_loop(self, asyncio):
        """Take the loop that the plugin found or made current while it loaded, if it can run."""
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                current = asyncio.get_event_loop()
            except RuntimeError:
                current = None
        if current is None or current.is_closed() or current.is_running():
            current = self._prepared
        self._prepared = current
        asyncio.set_event_loop(current)

    def _cancel(self, request):
        if request is None or request.task is None:
            return
        request.cancelled = True
        request.task.cancel()
        if not request.started:
            self.fail(request, None)

    def _readable(self):
        if not self.channel.fill():
            self.leave()
        self._drain()

    def _drain(self):
        lines, self.channel.lines = self.channel.lines, []
        for line in lines:
            self.receive(line)


def flush_output():
    """Write out what the plugin printed; a plugin may have closed or replaced the streams."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            continue
