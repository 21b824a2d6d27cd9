"""The base of sets of tools."""
import typing

Deps = typing.TypeVar("Deps")


class AbstractToolset(typing.Generic[Deps]):
    """A set of tools."""

    @property
    def id(self):
        """Its name, where it has one."""
        return None

    @property
    def label(self):
        """Its name for people."""
        return type(self).__name__

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        return None

    async def get_tools(self, ctx):
        """Its tools by name."""
        raise NotImplementedError

    async def call_tool(self, name, tool_args, ctx, tool):
        """Call one of them."""
        raise NotImplementedError


def __getattr__(name):
    from brynhild_host.adapters.initrunner.imports import wanted

    raise wanted(__name__, name)
