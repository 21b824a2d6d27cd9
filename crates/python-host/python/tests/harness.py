"""Starts workers as Brynhild does, over pipes, and makes throwaway plugins. No test here waits for time to pass."""
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
SHIM = os.path.join(ROOT, "shim")
PATIENCE = 60

if SHIM not in sys.path:
    sys.path.insert(0, SHIM)
sys.dont_write_bytecode = True

_unpacked = tempfile.TemporaryDirectory()


def host():
    """The path of host.py in a compiled copy, as Brynhild unpacks it; made once."""
    payload = os.path.join(_unpacked.name, "payload")
    file = os.path.join(payload, "host.py")
    if not os.path.exists(payload):
        shutil.copytree(ROOT, payload, ignore=shutil.ignore_patterns("tests", "__pycache__"))
        subprocess.run([sys.executable, "-I", file, "--compile"], check=True)
    return file


class Worker:
    """A running host.py."""

    def __init__(self, plugin, **settings):
        self._errors = tempfile.TemporaryFile()
        environment = dict(os.environ, **settings.pop("environment", {}))
        flags = settings.pop("flags", ["-I"])
        self.process = subprocess.Popen(
            [sys.executable, *flags, "-X", "utf8", host()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
            cwd=plugin.get("root") or HERE,
            bufsize=0,
        )
        self._buffer = b""
        self._next = 0
        self.notifications = []
        params = {"protocol": 1, "dialect": "brynhild", "plugin": plugin}
        params.update(settings)
        self.hello = self.request("initialize", **params)

    def send(self, method, **params):
        """Send a request and return its id."""
        self._next += 1
        self.raw({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        return self._next

    def raw(self, message):
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(data + b"\n")

    def cancel(self, id):
        self.raw({"jsonrpc": "2.0", "method": "cancel", "params": {"id": id}})

    def receive(self):
        """The next message, or None at the end."""
        pieces = [self._buffer]
        while b"\n" not in pieces[-1]:
            ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
            if not ready:
                raise AssertionError("no answer; the worker printed: %s" % self.printed())
            data = os.read(self.process.stdout.fileno(), 1 << 20)
            if not data:
                return None
            pieces.append(data)
        line, _, self._buffer = b"".join(pieces).partition(b"\n")
        return json.loads(line.decode(), parse_constant=_no_constant)

    def answer(self, id):
        """The answer to a request; notifications before it are kept."""
        while True:
            message = self.receive()
            if message is None:
                raise AssertionError("the worker ended; it printed: %s" % self.printed())
            if message.get("id") == id:
                return message
            self.notifications.append(message)

    def request(self, method, **params):
        return self.answer(self.send(method, **params))

    def result(self, method, **params):
        message = self.request(method, **params)
        if "error" in message:
            raise AssertionError("%s failed: %s" % (method, message["error"]))
        return message["result"]

    def call(self, tool, **arguments):
        return self.result("call", tool="tools/%s.py" % tool, input=arguments)

    def events(self):
        return [n["params"]["event"] for n in self.notifications if n["method"] == "event"]

    def logs(self):
        return [n["params"]["text"] for n in self.notifications if n["method"] == "log"]

    def printed(self):
        self._errors.seek(0)
        return self._errors.read().decode("utf-8", "replace")

    def end(self):
        """Close the channel and return the exit code."""
        if not self.process.stdin.closed:
            self.process.stdin.close()
        code = self.process.wait(PATIENCE)
        self.process.stdout.close()
        return code


class PluginCase(unittest.TestCase):
    """Tests with a plugin directory of their own."""

    def setUp(self):
        self.root = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        self.workers = []
        self.addCleanup(self._end_workers)

    def write(self, path, text):
        file = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "w", encoding="utf-8") as handle:
            handle.write(textwrap.dedent(text))
        return file

    def tool(self, stem, body, head=""):
        """A tool whose `execute` has this body."""
        lines = textwrap.indent(textwrap.dedent(body).strip(), " " * 8)
        text = TOOL.format(head=textwrap.dedent(head), name=stem.title(), body=lines)
        return self.write("tools/%s.py" % stem, text)

    def provider(self, body, stem="mine", head=""):
        """A provider whose `stream` has this body."""
        lines = textwrap.indent(textwrap.dedent(body).strip(), " " * 8)
        return self.write("providers/%s.py" % stem, PROVIDER.format(head=textwrap.dedent(head), body=lines))

    def start(self, **settings):
        plugin = {"name": "my-plugin", "version": "1.0.0", "root": self.root, "tools": True, "providers": True}
        plugin["providers"] = os.path.isdir(os.path.join(self.root, "providers"))
        plugin["tools"] = os.path.isdir(os.path.join(self.root, "tools"))
        plugin.update(settings.pop("plugin", {}))
        worker = Worker(plugin, **settings)
        self.workers.append(worker)
        return worker

    def _end_workers(self):
        for worker in self.workers:
            if worker.process.poll() is None:
                worker.process.kill()
            worker.end()
            worker._errors.close()


def _no_constant(name):
    raise AssertionError("%s is not JSON" % name)


TOOL = '''\
import brynhild.tools.base as _base
ToolResult = _base.ToolResult
{head}

class Tool(_base.Tool):
    @property
    def name(self):
        return "{name}"

    @property
    def description(self):
        return "does {name}"

    @property
    def input_schema(self):
        return {{"type": "object", "properties": {{}}}}

    async def execute(self, input):
{body}
'''

PROVIDER = '''\
from brynhild.api.base import LLMProvider
from brynhild.api.types import *
{head}

class Provider(LLMProvider):
    """Speaks for itself.

    More words."""
    PROVIDER_NAME = "mine"

    def __init__(self, model="m", **settings):
        self._model = model
        self.settings = settings

    @property
    def name(self):
        return "mine"

    @property
    def model(self):
        return self._model

    def supports_tools(self):
        return True

    async def complete(self, messages, *, system=None, tools=None, max_tokens=8192, use_profile=True):
        last = [e async for e in self.stream(messages, system=system, tools=tools, max_tokens=max_tokens)]
        return CompletionResponse("r1", "".join(e.text or "" for e in last), "end_turn", Usage(3, 4))

    async def stream(self, messages, *, system=None, tools=None, max_tokens=8192, use_profile=True):
{body}
'''
