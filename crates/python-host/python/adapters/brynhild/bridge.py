"""Providers: construction, and answers as the wire has them. Passes keyword arguments only."""
import os

from brynhild_host.failures import Refused, named, text_of

_RAISED = -32000
_LARGEST = 2**53
_KINDS = frozenset(
    (
        "message_start",
        "content_start",
        "text_delta",
        "thinking_delta",
        "tool_use_start",
        "tool_use_delta",
        "content_stop",
        "message_delta",
        "message_stop",
        "error",
    )
)
_EVENT_TEXTS = ("text", "thinking", "tool_input_delta", "error", "message_id", "stop_reason")
_DETAILS = (
    "reasoning_tokens",
    "cached_tokens",
    "cost",
    "prompt_cost",
    "completion_cost",
    "provider",
    "generation_id",
)


def construct(provider, params):
    """An instance: with everything that is set, and on a TypeError with less and less of it."""
    subject = provider.subject
    settings = dict(params.get("kwargs") or {})
    path = settings.get("credentials_path")
    if isinstance(path, str) and getattr(subject, "expand_credentials_path", True):
        settings["credentials_path"] = os.path.expanduser(os.path.expandvars(path))
    chosen = {name: params[name] for name in ("model", "api_key") if params.get(name) is not None}
    model = {name: value for name, value in chosen.items() if name == "model"}
    rungs = [dict(settings, **chosen), chosen, model, {}]
    last = None
    for index, arguments in enumerate(rungs):
        if arguments in rungs[:index]:
            continue
        try:
            return subject(**arguments)
        except TypeError as error:
            last = error
        except BaseException as error:
            raise _failed(provider, error) from error
    raise _failed(provider, last) from last


def traits(instance, fallback):
    """What the core asks a provider once; methods and properties are both accepted."""
    name = _trait(instance, "name", fallback)
    model = _trait(instance, "model", None)
    return {
        "name": name if isinstance(name, str) else fallback,
        "model": model if isinstance(model, str) else None,
        "supports_tools": bool(_trait(instance, "supports_tools", True)),
        "supports_reasoning": bool(_trait(instance, "supports_reasoning", False)),
        "default_reasoning_format": _trait(instance, "default_reasoning_format", "none") or "none",
    }


async def complete(instance, params):
    """The whole answer."""
    if not hasattr(instance, "complete"):
        raise Refused(_RAISED, "the provider has no `complete`")
    response = instance.complete(**_arguments(instance, params))
    if hasattr(response, "__await__"):
        response = await response
    return {"response": _response(response)}


async def stream(instance, params, emit, log):
    """Every event as it comes; the provider may return an iterator, or a coroutine that gives one."""
    if not hasattr(instance, "stream"):
        raise Refused(_RAISED, "the provider has no `stream`")
    events = instance.stream(**_arguments(instance, params))
    unknown = set()
    if hasattr(events, "__await__") and not hasattr(events, "__aiter__"):
        events = await events
    if hasattr(events, "__aiter__"):
        try:
            async for event in events:
                _pass_on(event, emit, log, unknown)
        finally:
            close = getattr(events, "aclose", None)
            if close is not None:
                await close()
    elif hasattr(events, "__iter__"):
        for event in events:
            _pass_on(event, emit, log, unknown)
    else:
        raise Refused(_RAISED, "`stream` gave a %s, not an async iterator" % type(events).__name__)
    return {}


async def models(instance):
    """The names `list_models` gives, if the provider has it."""
    listing = getattr(instance, "list_models", None)
    if not callable(listing):
        return {"models": []}
    found = listing()
    if hasattr(found, "__await__"):
        found = await found
    names = [_field(model, "id") or _field(model, "name") if not isinstance(model, str) else model for model in found]
    return {"models": [name for name in names if isinstance(name, str)]}


async def check(instance):
    """What `test_connection` gives, if the provider has it."""
    test = getattr(instance, "test_connection", None)
    if not callable(test):
        return {"result": None}
    result = test()
    if hasattr(result, "__await__"):
        result = await result
    return {"result": result}


def _failed(provider, error):
    return Refused(_RAISED, "Failed to create provider '%s': %s" % (provider.name, text_of(error) or named(error)))


def _trait(instance, name, default):
    try:
        value = getattr(instance, name, default)
        return value() if callable(value) else value
    except Exception:
        return default


def _arguments(instance, params):
    tools = params.get("tools")
    if tools is not None:
        from brynhild.api.types import Tool

        tools = [Tool(t["name"], t.get("description") or "", t.get("input_schema") or {}) for t in tools]
    _attach_profile(instance, params)
    return {
        "messages": params.get("messages") or [],
        "system": params.get("system"),
        "tools": tools,
        "max_tokens": params.get("max_tokens") or 8192,
    }


def _attach_profile(instance, params):
    if "profile" not in params:
        return
    profile = params["profile"]
    if profile is not None:
        from brynhild.profiles.types import ModelProfile

        known = ModelProfile.field_names()
        profile = ModelProfile(**{key: value for key, value in profile.items() if key in known})
    try:
        instance.profile = profile
    except AttributeError:
        pass


def _pass_on(event, emit, log, unknown):
    if isinstance(event, str):
        event = {"type": "text_delta", "text": event}
    kind = _field(event, "type")
    kind = getattr(kind, "value", kind)
    if not isinstance(kind, str):
        log("warning", "the provider's stream gave a %s that is not an event; it is ignored" % type(event).__name__)
        return
    if kind not in _KINDS and kind not in unknown:
        unknown.add(kind)
        log("warning", "the provider's stream gave an event of the unknown type `%.100s`; it is left out" % kind)
    shaped = {"type": kind, "tool_use": None, "usage": _usage(_field(event, "usage"))}
    for name in _EVENT_TEXTS:
        value = _field(event, name)
        shaped[name] = value if value is None or isinstance(value, str) else str(value)
    use = _field(event, "tool_use")
    if use is not None:
        shaped["tool_use"] = _tool_use(use)
        if shaped["tool_use"] is None:
            log("warning", "a tool call without id, name or input object is left out: %.200r" % (use,))
    emit(shaped)


def _response(response):
    if isinstance(response, str):
        response = {"content": response}
    content = _field(response, "content")
    uses = [_tool_use(use) for use in _field(response, "tool_uses") or ()]
    return {
        "id": _field(response, "id") or "",
        "content": content if isinstance(content, str) else "" if content is None else str(content),
        "stop_reason": _field(response, "stop_reason"),
        "usage": _usage(_field(response, "usage")),
        "tool_uses": [use for use in uses if use is not None],
        "thinking": _field(response, "thinking"),
    }


def _tool_use(use):
    id, name, given = _field(use, "id"), _field(use, "name"), _field(use, "input")
    if not (isinstance(id, str) and id and isinstance(name, str) and name and isinstance(given, dict)):
        return None
    make = getattr(use, "to_tool_call_dict", None)
    if callable(make):
        wire = make()
    else:
        import json

        function = {"name": name, "arguments": json.dumps(given)}
        wire = {"id": id, "type": "function", "function": function}
    return {"id": id, "name": name, "input": given, "wire": wire}


def _usage(usage):
    if usage is None:
        return None
    shaped = {name: _count(_field(usage, name)) for name in ("input_tokens", "output_tokens")}
    details = _field(usage, "details")
    shaped["details"] = details and {name: _field(details, name) for name in _DETAILS}
    return shaped


def _count(value):
    try:
        return min(max(int(value), 0), _LARGEST)
    except (TypeError, ValueError, OverflowError):
        return 0


def _field(source, name):
    return source.get(name) if isinstance(source, dict) else getattr(source, name, None)
