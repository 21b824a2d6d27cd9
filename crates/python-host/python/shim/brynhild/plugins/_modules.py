"""Imports a plugin's files for code that runs without a host."""
from __future__ import annotations

import importlib.util as _util
import pathlib as _pathlib
import sys as _sys
import warnings as _warnings


def load_classes(directory, plugin_name, kind, base, attribute):
    """(file stem, class) for every file of a directory that has one; a failing file costs a warning."""
    directory = _pathlib.Path(directory)
    for file in sorted(directory.glob("*.py")) if directory.is_dir() else ():
        if file.name.startswith("_"):
            continue
        name = "brynhild_plugins.%s.%s.%s" % (plugin_name, kind, file.stem)
        spec = _util.spec_from_file_location(name, file)
        module = _util.module_from_spec(spec)
        _sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            _sys.modules.pop(name, None)
            _warnings.warn("%s is left out: %s: %s" % (file, type(error).__name__, error), stacklevel=3)
            continue
        found = _pick(module, file.stem, base, attribute)
        if found is not None:
            yield file.stem, found


def _pick(module, stem, base, attribute):
    named = getattr(module, attribute, None)
    if isinstance(named, type) and named is not base:
        return named
    own = [value for value in vars(module).values() if isinstance(value, type) and value is not base]
    for value in own:
        if getattr(value, "name", None) == stem or issubclass(value, base):
            return value
    return None
