"""Stands in for pydantic_ai: the parts that tools are written with, at a small part of the real one's cost.

What is not here is the real package's; where that is installed and something of it is wanted, it takes this one's place.
"""
from .exceptions import ModelRetry, ToolFailed, UserError
from .tools import RunContext, Tool, ToolReturn
from .toolsets import AbstractToolset, FunctionToolset

__version__ = "0.0.0"

__all__ = [
    "AbstractToolset",
    "FunctionToolset",
    "ModelRetry",
    "RunContext",
    "Tool",
    "ToolFailed",
    "ToolReturn",
    "UserError",
]


def __getattr__(name):
    from brynhild_host.adapters.initrunner.imports import wanted

    raise wanted(__name__, name)
