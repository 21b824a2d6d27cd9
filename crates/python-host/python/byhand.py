"""Drives coroutines without asyncio, and hands them over to it unharmed.

Importing asyncio takes as long as starting Python (40 ms of processor time after 34). The figure "Python tool: the first
call" of the benchmarks (`figures/python.rs`, at most 1.5 times `python3 -c pass`) cannot be met with it.

A coroutine can tell that no loop runs only through asyncio, or through libraries that ask for it. So a finder watches
for these being loaded: then the loop is made and declared running, with the coroutine's own task as the current one,
before the importing line gets to see the module. The task goes on exactly where the driving by hand stopped. Where no
coroutine is on its way, the loop is only made current.
"""
import sys
from _collections_abc import Coroutine
from _contextvars import copy_context
from _thread import get_ident

_WATCHED = frozenset(("asyncio", "anyio", "sniffio"))
_NOTHING = object()


def loop_is_wanted():
    """Whether something is loaded that can ask for the running loop."""
    loaded = sys.modules
    return "asyncio" in loaded or "anyio" in loaded or "sniffio" in loaded


class Driver:
    """Runs one coroutine at a time, as far as it gets without waiting."""

    def __init__(self, worker):
        self._worker = worker
        self._thread = get_ident()
        self._driven = None
        sys.meta_path.insert(0, self)

    def retire(self):
        """Stop watching imports."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def drive(self, request, coroutine):
        """Run the coroutine to its end, or to the point from which the loop goes on with it."""
        driven = self._driven = Driven(request, coroutine)
        try:
            driven.advance()
        finally:
            self._driven = None
            if driven.declared:
                self._withdraw(driven)
        if driven.waiting and request.task is None:
            self._hand_over(driven)

    def find_spec(self, name, path=None, target=None):
        """Let the other finders find what is watched, and come back when it is loaded."""
        if name not in _WATCHED or get_ident() != self._thread:
            return None
        if name != "asyncio":
            if self._driven is not None:
                import asyncio  # noqa: F401

            return None
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target) if finder is not self else None
            if spec is not None:
                spec.loader = _Loader(spec.loader, self._loaded)
                return spec
        return None

    def _loaded(self):
        if self._driven is None:
            self._worker.prepare_loop()
        else:
            self._declare()

    def _hand_over(self, driven):
        self._worker.enter_loop()
        driven.request.task = self._worker.loop.create_task(driven)

    def _declare(self):
        from asyncio import _set_running_loop
        from asyncio.tasks import _enter_task

        driven = self._driven
        self._hand_over(driven)
        _set_running_loop(self._worker.loop)
        _enter_task(self._worker.loop, driven.request.task)
        driven.declared = True

    def _withdraw(self, driven):
        from asyncio import _set_running_loop
        from asyncio.tasks import _leave_task

        _leave_task(self._worker.loop, driven.request.task)
        _set_running_loop(None)


class Driven(Coroutine):
    """A coroutine that was driven by hand first; as a task's coroutine it gives what it last waited for again."""

    def __init__(self, request, coroutine):
        self.request = request
        self.declared = False
        self.waiting = False
        self._coroutine = coroutine
        self._context = copy_context()
        self._pending = _NOTHING

    def advance(self):
        """The first step, by hand."""
        try:
            self._pending = self._context.run(self._coroutine.send, None)
            self.waiting = True
        except StopIteration:
            pass

    def send(self, value):
        """The next step; the first one of the task repeats what is waited for."""
        if not self.waiting:
            raise StopIteration
        if self._pending is not _NOTHING:
            pending, self._pending = self._pending, _NOTHING
            return pending
        return self._context.run(self._coroutine.send, value)

    def throw(self, *error):
        """An exception, most often a cancellation, at the point of waiting."""
        if not self.waiting:
            raise StopIteration
        pending, self._pending = self._pending, _NOTHING
        cancel = getattr(pending, "cancel", None)
        if cancel is not None and cancel():
            return pending
        return self._context.run(self._coroutine.throw, *error)

    def close(self):
        """Give up."""
        self._coroutine.close()

    def __await__(self):
        return self._coroutine.__await__()


class _Loader:
    """Loads a module with its own loader, then says so."""

    def __init__(self, loader, loaded):
        self._loader = loader
        self._loaded = loaded

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._loaded()
