"""The role that a tool is built for."""
from .base import Part, RoleDefinition  # noqa: F401


def __getattr__(name):
    from brynhild_host.adapters.initrunner.imports import wanted

    raise wanted(__name__, name)
