"""The configuration of tools, at the place where authors first knew it."""
from .tools import ToolConfigBase, ToolPermissions, ToolSandboxConfig

__all__ = ["ToolConfigBase", "ToolPermissions", "ToolSandboxConfig"]


def __getattr__(name):
    from brynhild_host.adapters.initrunner.imports import wanted

    raise wanted(__name__, name)
