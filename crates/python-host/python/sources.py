"""Loads a plugin's modules from their sources alone.

Bytecode in a plugin's directory is never used: what was trusted is the source. Compiled code is kept in the plugin's own
data directory instead, and belongs to exactly one source.
"""
import _imp
import marshal
import os
import sys
from _frozen_importlib_external import (
    PathFinder,
    SourceFileLoader,
    SourcelessFileLoader,
    spec_from_file_location,
)

_MAGIC = 0x62727968
_DIGEST = 8
_KIND, _REGULAR = 0o170000, 0o100000

cache_directory = None


def keep_bytecode(directory):
    """Keep compiled modules in this directory, if it can be written."""
    global cache_directory
    cache_directory = directory


class NotRegular(OSError):
    """In the place of a file there is a pipe, a socket, a device or a directory."""

    hint = "put a text file in its place or delete it"


def regular(path, flags):
    """Opens a file for `open`, and nothing else: a pipe would wait for somebody who writes."""
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    if os.fstat(descriptor).st_mode & _KIND == _REGULAR:
        return descriptor
    os.close(descriptor)
    raise NotRegular("this is not a regular file")


def spec_of_file(name, path):
    """The spec of one file."""
    return spec_from_file_location(name, path, loader=SourceLoader(name, path))


def spec_in(name, directories):
    """The spec of a module or package in one of the directories, or nothing."""
    spec = PathFinder.find_spec(name, directories)
    if spec is None or spec.loader is None or isinstance(spec.loader, SourcelessFileLoader):
        return None
    if isinstance(spec.loader, SourceFileLoader):
        spec.loader = SourceLoader(spec.loader.name, spec.loader.path)
        spec.cached = None
    return spec


class SourceLoader(SourceFileLoader):
    """Compiles a source, or takes the code that was compiled from the very same one."""

    def get_data(self, path):
        with open(path, "rb", opener=regular) as file:
            return file.read()

    def get_code(self, fullname):
        source = self.get_data(self.path)
        digest = _imp.source_hash(_MAGIC, os.fsencode(self.path) + b"\0" + source)
        kept = self._kept()
        code = _read(kept, digest)
        if code is None:
            code = self.source_to_code(source, self.path)
            _write(kept, digest + marshal.dumps(code))
        return code

    def _kept(self):
        if cache_directory is None:
            return None
        return os.path.join(cache_directory, "%s.%s.pyc" % (self.name, sys.implementation.cache_tag))


def _read(path, digest):
    if path is None:
        return None
    try:
        with open(path, "rb") as file:
            data = file.read()
        return marshal.loads(memoryview(data)[_DIGEST:]) if data[:_DIGEST] == digest else None
    except (OSError, EOFError, ValueError, TypeError):
        return None


def _write(path, data):
    if path is None:
        return
    temporary = "%s.%d" % (path, os.getpid())
    try:
        os.makedirs(cache_directory, exist_ok=True)
        with open(temporary, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError:
        return
