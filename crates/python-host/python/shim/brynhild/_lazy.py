"""Lets a package name what its modules define without loading them."""
import sys


def attach(package, names, submodules):
    """`__getattr__` and `__dir__` of a package whose `names` map to the submodule that has them."""

    def __getattr__(name):
        if name in names:
            value = getattr(_load(package, names[name]), name)
        elif name in submodules:
            value = _load(package, name)
        else:
            raise AttributeError("module %r has no attribute %r" % (package, name))
        setattr(sys.modules[package], name, value)
        return value

    def __dir__():
        return sorted(set(sys.modules[package].__dict__) | set(names) | set(submodules))

    return __getattr__, __dir__


def _load(package, module):
    name = module if module.startswith("brynhild.") else package + "." + module
    __import__(name)
    return sys.modules[name]
