"""Stands in for packages that are not installed yet, so that a plugin can say what it offers before they are.

What a stand-in would have to know cannot be told: whoever asks one for a text, a truth or its members gets an error.
"""
import sys
from abc import ABCMeta
from importlib.machinery import ModuleSpec
from types import ModuleType

_NEVER = {"brynhild", "brynhild_host", "lmao"}


class Pretender:
    """The last finder in the list, for modules that a plugin could not be loaded without."""

    def __init__(self):
        self.names = set()
        sys.meta_path.append(self)

    def takes(self, error):
        """Whether the module that was not found is stood in for from here on."""
        name = (error.name or "").split(".")[0]
        known = name in _NEVER or name in sys.modules or name in getattr(sys, "stdlib_module_names", ())
        if not name or known or name in self.names:
            return False
        self.names.add(name)
        return True

    def end(self):
        """Stand in for nothing any more."""
        sys.meta_path.remove(self)
        for name in [name for name, module in sys.modules.items() if isinstance(module, _Module)]:
            del sys.modules[name]

    def find_spec(self, name, path=None, target=None):
        """A stand-in, or whatever lies below one."""
        return ModuleSpec(name, self, is_package=True) if name.split(".")[0] in self.names else None

    def create_module(self, spec):
        """An empty module."""
        return _Module(spec.name)

    def exec_module(self, module):
        """Nothing is in it."""


class Unknown(Exception):
    """Something depends on a package that is not there."""


class _Module(ModuleType):
    def __getattr__(self, name):
        return _member(name)


class _Kind(ABCMeta):
    """The class of stand-ins: each is a class, a function, a decorator and a value."""

    def __new__(mcs, name, bases, members, **_):
        return super().__new__(mcs, name, bases, members)

    def __init__(cls, name, bases, members, **_):
        super().__init__(name, bases, members)

    def __getattr__(cls, name):
        return _member(name)

    def __call__(cls, *args, **kwargs):
        if not _is_stand_in(cls):
            return super().__call__(*args, **kwargs)
        if len(args) == 1 and not kwargs and callable(args[0]) and not _is_stand_in(args[0]):
            return args[0]
        return _stand_in(cls.__name__)

    def __getitem__(cls, _):
        return cls

    def __or__(cls, _):
        return cls

    __ror__ = __or__

    def _refuse(cls, *_):
        raise Unknown("it depends on a package that is not installed")

    __bool__ = __format__ = __iter__ = __repr__ = __str__ = _refuse


class _Base:
    def __init__(self, *_, **members):
        self.__dict__.update(members)

    def __init_subclass__(cls, **_):
        super().__init_subclass__()

    def __getattr__(self, name):
        return _member(name)


def _is_stand_in(value):
    return isinstance(value, _Kind) and "_is_stand_in" in value.__dict__


def _stand_in(name):
    return _Kind(name, (_Base,), {"_is_stand_in": True})


def _member(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return _stand_in(name)
