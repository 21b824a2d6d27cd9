"""A set of tools that are functions."""
from ..exceptions import UserError
from ..tools import Tool
from .abstract import AbstractToolset, Deps


class FunctionToolset(AbstractToolset[Deps]):
    """Functions as tools, each under its name."""

    def __init__(self, tools=(), *, max_retries=1, id=None, **options):
        self.max_retries = options.pop("retries", max_retries)
        self.options = options
        self.tools = {}
        self._id = id
        for tool in tools:
            if isinstance(tool, Tool):
                self.add_tool(tool)
            else:
                self.add_function(tool)

    @property
    def id(self):
        """Its name, where it has one."""
        return self._id

    def tool(self, func=None, /, **options):
        """Add a function, bare or with options; whether it takes a context is seen by its first annotation."""
        return self._decorated(func, None, options)

    def tool_plain(self, func=None, /, **options):
        """Add a function that takes no context."""
        return self._decorated(func, False, options)

    def add_function(self, func, takes_ctx=None, name=None, **options):
        """Add a function."""
        self.add_tool(Tool(func, takes_ctx=takes_ctx, name=name, **options))

    def add_tool(self, tool):
        """Add a tool."""
        if tool.name in self.tools:
            raise UserError("Tool name conflicts with existing tool: %r" % tool.name)
        self.tools[tool.name] = tool

    async def get_tools(self, ctx):
        """The tools by name."""
        return dict(self.tools)

    async def call_tool(self, name, tool_args, ctx, tool):
        """Call one of them."""
        returned = self.tools[name].call(tool_args, ctx)
        return await returned if hasattr(returned, "__await__") else returned

    def _decorated(self, func, takes_ctx, options):
        def add(function):
            self.add_function(function, takes_ctx, **options)
            return function

        return add if func is None else add(func)


def __getattr__(name):
    from brynhild_host.adapters.initrunner.imports import wanted

    raise wanted(__name__, name)
