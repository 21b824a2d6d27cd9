"""Tools that were loaded, whoever wrote them: what they say of themselves, and how they are called."""
from brynhild_host.adapters.initrunner.signature import Signature, mentions_context


class Wrong(Exception):
    """Why an entry of a role brings no tools."""

    def __init__(self, message, file=None, line=None):
        super().__init__(message)
        self.file = file
        self.line = line


class UnknownType(Wrong):
    """A tool type that is not among these."""

    def __init__(self, name, types):
        words = "No plugins installed. Install one with: pip install initrunner-%s" % name
        if types:
            words = "Installed plugins: %s. Did you forget to pip install initrunner-%s?" % (types, name)
        super().__init__("Tool type '%s' not found. %s" % (name, words))


class NeedsLoop(BaseException):
    """Something that can be had where a loop runs only."""


class FunctionTool:
    """A plain function; `tool_config` is put in."""

    def __init__(self, function, config):
        if mentions_context(function):
            raise ValueError("RunContext annotations can only be used with tools that take context")
        self._function = function
        self._config = config
        self._signature = Signature(function)
        self.description = self._signature.description
        self.schema = self._signature.schema
        self.hidden = [parameter.name for parameter in self._signature.hidden]

    def call(self, given):
        """Bind the arguments and return what makes the call."""
        args, kwargs = self._signature.bind(given, config=self._config)
        return lambda: self._function(*args, **kwargs)


class ToolsetTool:
    """A tool of a stand-in's toolset."""

    hidden = ()

    def __init__(self, tool, make_context):
        self._tool = tool
        self._make_context = make_context
        self.description = tool.description or ""
        self.schema = tool.function_schema.json_schema

    def call(self, given):
        """Bind the arguments and return what makes the call."""
        context = self._make_context(tool_name=self._tool.name)
        args, kwargs = self._tool.function_schema.signature.bind(given, context=context)
        return lambda: self._tool.function(*args, **kwargs)


class RealTool:
    """A tool of a toolset of the real package, whatever kind of toolset that is."""

    hidden = ()

    def __init__(self, name, toolset, tool, make_context):
        self._name, self._toolset, self._tool = name, toolset, tool
        self._make_context = make_context
        definition = tool.tool_def
        self.description = definition.description or ""
        self.schema = definition.parameters_json_schema

    def call(self, given):
        """Check the arguments and return what makes the call."""
        given = self._tool.args_validator.validate_python(given)
        return lambda: self._toolset.call_tool(self._name, given, self._make_context(tool_name=self._name), self._tool)


async def of_toolset(toolset):
    """The tools of a toolset by name."""
    if not hasattr(toolset, "get_tools"):
        raise Wrong("the builder returned a %s, which is not a toolset" % type(toolset).__name__)
    import pydantic_ai

    if hasattr(toolset, "tools") and pydantic_ai.__version__ == "0.0.0":
        context = pydantic_ai.RunContext
        return {name: ToolsetTool(tool, context) for name, tool in toolset.tools.items()}
    import asyncio

    if asyncio._get_running_loop() is None:
        raise NeedsLoop
    make_context = _real_context if pydantic_ai.__version__ != "0.0.0" else pydantic_ai.RunContext
    await toolset.__aenter__()
    tools = await toolset.get_tools(make_context())
    return {name: RealTool(name, toolset, tool, make_context) for name, tool in tools.items()}


def _real_context(**facts):
    from pydantic_ai import RunContext
    from pydantic_ai.models.test import TestModel
    from pydantic_ai.usage import RunUsage

    return RunContext(deps=None, model=TestModel(), usage=RunUsage(), **facts)
