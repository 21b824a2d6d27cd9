"""Stands in for initrunner: what tools import of it. What is not here is the real package's."""
__version__ = "0.0.0"


def __getattr__(name):
    from brynhild_host.adapters.initrunner.imports import wanted

    raise wanted(__name__, name)
