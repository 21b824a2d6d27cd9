"""Sets of tools."""
from .abstract import AbstractToolset
from .function import FunctionToolset

__all__ = ["AbstractToolset", "FunctionToolset"]


def __getattr__(name):
    from brynhild_host.adapters.initrunner.imports import wanted

    raise wanted(__name__, name)
