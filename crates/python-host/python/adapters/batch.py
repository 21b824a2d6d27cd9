"""Describes many plugins: forks once for each, so that Python, asyncio and the shims load only once.

A plugin that does not answer well is left to a worker of its own, which knows how to go on.
"""
import gc
import os
import select
import signal
import sys
import time

from brynhild_host.channel import from_text, to_bytes

_PRELOADED = (
    "asyncio",
    "brynhild._surroundings",
    "brynhild.plugins",
    "brynhild.tools.base",
    "brynhild_host.adapters.brynhild.packaged",
    "brynhild_host.adapters.brynhild.programs",
)
_CHILDREN = 4
_SECONDS = 20
_CHUNK = 1 << 16


class Adapter:
    """Serves `describe` for a list of plugins, each with the parameters of `initialize` and its environment."""

    def __init__(self, params, worker):
        self.methods = {"describe": self.describe}

    def describe(self, request):
        """The description of each plugin, or null."""
        for module in _PRELOADED:
            __import__(module)
        # What is loaded by now is not looked at again, so that children share its memory.
        gc.freeze()

        waiting = list(enumerate(request.params["plugins"]))
        answers = [None] * len(waiting)
        running = {}
        while waiting or running:
            while waiting and len(running) < _CHILDREN:
                index, params = waiting.pop(0)
                child = _Child(index, params)
                running[child.pipe] = child
            ready = select.select(list(running), [], [], 1)[0]
            for pipe in ready:
                if not running[pipe].read():
                    child = running.pop(pipe)
                    answers[child.index] = child.answer()
            for child in running.values():
                child.check_time()
        return {"answers": answers}

    async def close(self):
        """Nothing is open between requests."""


class _Child:
    """A process that describes one plugin and writes to a pipe."""

    def __init__(self, index, params):
        self.index = index
        self.pipe, write = os.pipe()
        self._pieces = []
        self._deadline = time.monotonic() + _SECONDS
        sys.stdout.flush()
        sys.stderr.flush()
        self._pid = os.fork()
        if self._pid == 0:
            _describe(params, write)
        os.close(write)

    def read(self):
        """Read once; false at the end."""
        data = os.read(self.pipe, _CHUNK)
        self._pieces.append(data)
        return bool(data)

    def check_time(self):
        """End it when it takes too long."""
        if time.monotonic() > self._deadline:
            os.kill(self._pid, signal.SIGKILL)

    def answer(self):
        """The result of `describe`, or nothing."""
        os.close(self.pipe)
        os.waitpid(self._pid, 0)
        for line in b"".join(self._pieces).split(b"\n"):
            try:
                message = from_text(line.decode())
            except ValueError:
                continue
            if message.get("id") == 1:
                return message.get("result")
        return None


def _describe(params, write):
    """Serve `initialize` and `describe` as a worker of the plugin's own would, and end."""
    try:
        from brynhild_host.worker import Worker

        os.environ.update(params.pop("env"))
        worker = Worker(os.open(os.devnull, os.O_RDONLY), write)
        for id, (method, its) in enumerate((("initialize", params), ("describe", {}))):
            worker.receive(to_bytes({"id": id, "method": method, "params": its}))
    finally:
        os._exit(0)
