"""A tool's properties, read live and with defaults, and the start of a call."""
from brynhild_host.adapters.brynhild.loading import problem
from brynhild_host.examples import with_examples
from brynhild_host.failures import named

_RECOVERY = {"read_only": "allow", "mutating": "confirm", "high_impact": "deny"}
_EMPTY_SCHEMA = {"type": "object", "properties": {}}
_LIVE = ("description", "input_schema", "requires_permission")
_MISSING = object()


def describe(tool, problems):
    """All properties of a tool; a missing optional one has its default, a broken one costs a problem."""
    instance = tool.instance
    name = _read(instance, "name")
    if not isinstance(name, str) or not name.strip():
        raise TypeError("the tool's `name` is %r, not a text" % (name,))
    described = {"key": tool.key, "name": name}

    def take(property, kind, default):
        described[property] = _checked(tool, property, kind, default, problems)

    take("description", str, "")
    take("input_schema", dict, _EMPTY_SCHEMA)
    take("version", str, "0.0.0")
    take("categories", list, [])
    take("requires_permission", bool, True)
    take("risk_level", str, "read_only")
    take("recovery_policy", str, _RECOVERY.get(described["risk_level"], "deny"))
    described["input_schema"] = _of_object(described["input_schema"])
    examples = _checked(tool, "examples", list, [], problems)
    described["description"] = with_examples(described["description"], examples)
    described["live"] = is_live(instance)
    return described


def is_live(instance):
    """Whether a tool may say something else of itself from call to call."""
    return not all(_is_fixed(instance, property) for property in _LIVE)


def live(instance, known):
    """The live properties when they differ from those last told, else nothing."""
    try:
        description = _read(instance, "description", "")
        schema = _read(instance, "input_schema", _EMPTY_SCHEMA)
        permission = bool(_read(instance, "requires_permission", True))
    except BaseException:
        return None
    if not isinstance(description, str) or not isinstance(schema, dict):
        return None
    description = with_examples(description, _examples(instance))
    seen = {"description": description, "input_schema": _of_object(schema), "requires_permission": permission}
    return None if seen == known else seen


def start(instance, arguments):
    """Call `execute(arguments)`, or `run` where that is all there is."""
    execute = getattr(instance, "execute", None)
    if execute is not None:
        return execute(arguments)
    run = instance.run
    return run(arguments) if _takes_one(run, arguments) else run(**arguments)


def _of_object(schema):
    """The schema, with the type that model APIs want to be named."""
    return schema if "type" in schema else dict(schema, type="object")


def _examples(instance):
    try:
        examples = _read(instance, "examples", [])
    except BaseException:
        return []
    return examples if isinstance(examples, (list, tuple, set, frozenset)) else []


def _is_fixed(instance, property):
    """Whether nothing but constants is behind a property, so that it says the same at every call."""
    if property in getattr(instance, "__dict__", ()):
        return False
    for kind in type(instance).__mro__:
        if property in kind.__dict__:
            found = kind.__dict__[property]
            code = getattr(getattr(found, "fget", found), "__code__", None)
            if code is None:
                return isinstance(found, (str, dict, bool))
            return not code.co_names and not code.co_freevars
    return not hasattr(type(instance), "__getattr__")


def _takes_one(run, arguments):
    code = getattr(getattr(run, "__func__", run), "__code__", None)
    if code is None:
        return True
    names = code.co_varnames[: code.co_argcount][1 if hasattr(run, "__self__") else 0 :]
    return len(names) == 1 and not code.co_kwonlyargcount and names[0] not in arguments


def _checked(tool, property, kind, default, problems):
    try:
        value = _read(tool.instance, property, default)
    except BaseException as error:
        text = "`%s` raises %s" % (property, named(error))
        problems.append(problem(tool.file, None, text, "its default is used", "warning"))
        return default
    if kind is list and isinstance(value, (tuple, set, frozenset)):
        value = list(value)
    if kind is str and value is not None and not isinstance(value, str) and property != "description":
        value = str(value)
    if kind is bool:
        value = bool(value)
    if not isinstance(value, kind):
        text = "`%s` is a %s, not a %s" % (property, type(value).__name__, kind.__name__)
        problems.append(problem(tool.file, None, text, "its default is used", "warning"))
        return default
    return value


def _read(instance, property, default=_MISSING):
    value = getattr(instance, property, _MISSING)
    if value is _MISSING:
        if default is _MISSING:
            raise TypeError("the tool has no `%s`" % property)
        return default
    return value() if callable(value) else value
