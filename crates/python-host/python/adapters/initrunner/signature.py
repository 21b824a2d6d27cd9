"""A function as a tool: the schema of its arguments, the words on it, and how a call reaches it.

What the host puts in, `tool_config` and a context, is in no schema, and what a model sends in its place is not looked
at.
"""
import inspect
import json
import typing

from brynhild._models import Fault, ValidationError
from brynhild_host.adapters.initrunner import constraints, docstrings
from brynhild_host.adapters.initrunner.annotations import Forms
from brynhild_host.adapters.initrunner.forms import fault, finished, take
from brynhild_host.adapters.initrunner.plain import Unsayable, plain

CONFIG = "tool_config"
_EMPTY = inspect.Parameter.empty
_POSITIONAL = inspect.Parameter.POSITIONAL_ONLY
_MANY = inspect.Parameter.VAR_POSITIONAL
_OTHERS = inspect.Parameter.VAR_KEYWORD


class Signature:
    """What a function takes."""

    def __init__(self, function, takes_context=False, hidden=(CONFIG,), words=None):
        self.function = function
        self.hidden = []
        self._parts = []
        self._others = None
        self._context = None
        forms = Forms()
        whole, described = docstrings.read(words if words is not None else getattr(function, "__doc__", None))
        self.description = whole
        hints = hints_of(function)
        for parameter in inspect.signature(function).parameters.values():
            if takes_context and self._context is None:
                self._context = parameter
            elif parameter.name in hidden:
                self.hidden.append(parameter)
            else:
                self._add(forms, parameter, hints.get(parameter.name, typing.Any), described)
        self.single = self._single()
        self.schema = self._schema(forms)

    def bind(self, given, config=None, context=None):
        """The arguments of a call, from what a model sent; raises `ValidationError` where that does not fit."""
        try:
            values = self._values(given)
        except Fault as error:
            raise ValidationError(getattr(self.function, "__name__", "tool"), error.faults) from None
        args, kwargs = [], {}
        if self._context is not None:
            args.append(context)
        for part in self._parts:
            self._place(part.parameter, values.get(part.name, _EMPTY), args, kwargs)
        if self._others is not None:
            kwargs.update(values.get(None) or {})
        for parameter in self.hidden:
            if parameter.kind is _OTHERS:
                kwargs.update(config or {})
            elif parameter.kind is not _MANY:
                self._place(parameter, config, args, kwargs)
        return args, kwargs

    def _add(self, forms, parameter, hint, described):
        if parameter.kind is _OTHERS:
            self._others = forms.of(hint)
        else:
            self._parts.append(_Part(forms, parameter, hint, described.get(parameter.name)))

    def _place(self, parameter, value, args, kwargs):
        if parameter.kind is _MANY:
            args.extend(() if value is _EMPTY else value)
        elif parameter.kind is _POSITIONAL or self._comes_before_many(parameter):
            args.append(parameter.default if value is _EMPTY else value)
        elif value is not _EMPTY:
            kwargs[parameter.name] = value

    def _comes_before_many(self, parameter):
        has_many = any(part.parameter.kind is _MANY for part in self._parts)
        return has_many and parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD

    def _values(self, given):
        if not isinstance(given, dict):
            raise Fault("dict_type", "Input should be an object", given)
        if self.single is not None:
            return {self.single.name: self.single.form.convert(given)}
        faults, values = [], {}
        for part in self._parts:
            if part.name in given:
                good = []
                take(faults, good, part.form.convert, given[part.name], part.name)
                values.update((part.name, value) for value in good)
            elif part.is_needed:
                faults.append(fault("missing", "Field required", given, part.name))
            elif part.default is not _EMPTY:
                values[part.name] = part.default
        known = {part.name for part in self._parts}.union(parameter.name for parameter in self.hidden)
        others = {}
        for name, value in given.items():
            if name in known:
                continue
            if self._others is None:
                faults.append(fault("extra_forbidden", "Extra inputs are not permitted", value, name))
            else:
                good = []
                take(faults, good, self._others.convert, value, name)
                others.update((name, item) for item in good)
        values[None] = others
        return finished(faults, lambda: values)

    def _single(self):
        """The only parameter, where it is an object itself: its fields are the arguments."""
        if len(self._parts) != 1 or self._others is not None:
            return None
        part = self._parts[0]
        is_plain = part.parameter.kind is not _MANY and part.is_needed
        return part if part.form.is_object and is_plain else None

    def _schema(self, forms):
        definitions = forms.definitions
        if self.single is not None:
            reference = self.single.form.schema["$ref"]
            schema = dict(definitions.pop(reference.rpartition("/")[2]))
            if json.dumps(reference) in json.dumps([schema, definitions], default=str):
                definitions[reference.rpartition("/")[2]] = dict(schema)
        else:
            schema = {"type": "object", "properties": {part.name: part.schema for part in self._parts}}
            needed = [part.name for part in self._parts if part.is_needed]
            if needed:
                schema["required"] = needed
            schema["additionalProperties"] = False if self._others is None else self._others.schema or True
        if definitions:
            schema["$defs"] = definitions
        return schema


class _Part:
    """One parameter that a model fills."""

    def __init__(self, forms, parameter, hint, words):
        self.parameter = parameter
        self.name = parameter.name
        default, remarks = parameter.default, ()
        if constraints.is_field(default):
            remarks = (default,)
            default = field_default(default)
        form = constraints.applied(forms.of(hint), remarks)
        if parameter.kind is _MANY:
            form = forms.of(typing.List[hint])
        self.form = form
        self.is_needed = default is _EMPTY
        self.default = default if remarks and not callable(default) else _EMPTY
        self.schema = dict(form.schema)
        if not self.is_needed:
            try:
                self.schema["default"] = plain(default)
            except Unsayable:
                pass
        if words and "description" not in self.schema:
            self.schema["description"] = words


def field_default(field):
    """The default of a `Field(...)`; the sign for none where it has none."""
    factory = getattr(field, "default_factory", None)
    if factory is not None:
        return factory()
    default = getattr(field, "default", _EMPTY)
    name = type(default).__name__
    return _EMPTY if default is Ellipsis or name in ("PydanticUndefinedType", "Undefined") else default


def mentions_context(function):
    """Whether any parameter of a function is annotated as the context, whosever that is."""
    return any(_is_context(hint) for name, hint in hints_of(function).items() if name != "return")


def _is_context(hint):
    return getattr(typing.get_origin(hint) or hint, "__name__", None) == "RunContext"


def takes_context(function):
    """Whether the first parameter of a function is annotated as the context, whosever that is."""
    try:
        first = next(iter(inspect.signature(function).parameters), None)
    except (TypeError, ValueError):
        return False
    return _is_context(hints_of(function).get(first) if first else None)


def hints_of(function):
    """The annotations of a function as objects; one that cannot be found out means anything."""
    target = inspect.unwrap(function)
    while hasattr(target, "func"):
        target = target.func
    if not inspect.isroutine(target) and not isinstance(target, type):
        target = getattr(type(target), "__call__", target)
    try:
        return typing.get_type_hints(target, include_extras=True)
    except Exception:
        return _one_by_one(target)


def _one_by_one(target):
    spaces = dict(getattr(target, "__globals__", None) or {})
    code = getattr(target, "__code__", None)
    for name, cell in zip(getattr(code, "co_freevars", ()), getattr(target, "__closure__", None) or ()):
        try:
            spaces[name] = cell.cell_contents
        except ValueError:
            continue
    hints = {}
    for name, hint in (getattr(target, "__annotations__", None) or {}).items():
        if isinstance(hint, str):
            try:
                hint = eval(hint, spaces)  # noqa: S307
            except Exception:
                hint = typing.Any
        hints[name] = hint
    return hints
