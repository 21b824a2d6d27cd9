"""A tool: a function, its schema, and how it is called."""
import typing

from brynhild_host.adapters.initrunner.signature import Signature, takes_context

Deps = typing.TypeVar("Deps")


class RunContext(typing.Generic[Deps]):
    """What a tool may know of the run."""

    def __init__(self, deps=None, model=None, usage=None, prompt=None, **more):
        self.deps = deps
        self.model = model
        self.usage = usage
        self.prompt = prompt
        self.messages = more.pop("messages", [])
        self.tool_call_id = more.pop("tool_call_id", None)
        self.tool_name = more.pop("tool_name", None)
        self.retry = more.pop("retry", 0)
        self.retries = more.pop("retries", {})
        self.max_retries = more.pop("max_retries", 0)
        self.run_step = more.pop("run_step", 0)
        self.run_id = more.pop("run_id", None)
        self.metadata = more.pop("metadata", None)
        self.__dict__.update(more)


class ToolReturn:
    """A result with what goes beside it."""

    def __init__(self, return_value, *, content=None, metadata=None, **_):
        self.return_value = return_value
        self.content = content
        self.metadata = metadata


class FunctionSchema:
    """The arguments of a function."""

    def __init__(self, signature, takes_ctx):
        self.signature = signature
        self.json_schema = signature.schema
        self.description = signature.description or None
        self.takes_ctx = takes_ctx


class Tool(typing.Generic[Deps]):
    """A function as a tool."""

    def __init__(self, function, *, takes_ctx=None, max_retries=None, name=None, description=None, **more):
        self.function = function
        self.takes_ctx = takes_context(function) if takes_ctx is None else takes_ctx
        self.max_retries = more.pop("retries", max_retries)
        self.name = name or getattr(function, "__name__", type(function).__name__)
        signature = Signature(function, takes_context=self.takes_ctx, hidden=())
        self.function_schema = FunctionSchema(signature, self.takes_ctx)
        self.description = description or signature.description or None
        self.timeout = more.pop("timeout", None)
        self.options = more

    @classmethod
    def from_schema(cls, function, name, description, json_schema, takes_ctx=False, **more):
        """A tool whose schema is given, and not found out."""
        tool = cls(_taking_anything(function), takes_ctx=takes_ctx, name=name, description=description, **more)
        tool.function_schema.json_schema = json_schema
        return tool

    def call(self, given, context):
        """Call the function; an awaitable where it is one of those."""
        context.tool_name = self.name
        args, kwargs = self.function_schema.signature.bind(given, context=context)
        return self.function(*args, **kwargs)


def _taking_anything(function):
    def call(*context, **given):
        return function(*context, **given)

    call.__name__ = getattr(function, "__name__", "call")
    call.__doc__ = getattr(function, "__doc__", None)
    call.__signature__ = _any_signature()
    return call


def _any_signature():
    import inspect

    return inspect.Signature([inspect.Parameter("given", inspect.Parameter.VAR_KEYWORD)])


def __getattr__(name):
    from brynhild_host.adapters.initrunner.imports import wanted

    raise wanted(__name__, name)
