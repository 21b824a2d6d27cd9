"""What annotations mean: the JSON Schema that a model is told, and how JSON becomes the value a function expects.

Values are taken as generously as authors know it: `"7"` is a whole number, `"yes"` is true. What does not fit is told
as a list of faults with type, place, message and input.
"""
import collections
import collections.abc
import enum
import typing

from brynhild._models import Fault
from brynhild_host.adapters.initrunner import constraints, scalars
from brynhild_host.adapters.initrunner.forms import ANY, Form, each, fault, finished, placed, take

_UNION = {typing.Union}
try:
    from types import UnionType as _UnionType

    _UNION.add(_UnionType)
except ImportError:
    pass

_ANYTHING = (typing.Any, object, typing.Hashable, collections.abc.Hashable)
_LISTS = {
    list: list,
    tuple: tuple,
    set: set,
    frozenset: frozenset,
    collections.deque: collections.deque,
    collections.abc.Sequence: list,
    collections.abc.MutableSequence: list,
    collections.abc.Iterable: list,
    collections.abc.Collection: list,
    collections.abc.Set: set,
    collections.abc.MutableSet: set,
}
_DICTS = {
    dict: dict,
    collections.OrderedDict: collections.OrderedDict,
    collections.defaultdict: dict,
    collections.abc.Mapping: dict,
    collections.abc.MutableMapping: dict,
}
_UNIQUE = (set, frozenset, collections.abc.Set, collections.abc.MutableSet)


class Unsupported(TypeError):
    """An annotation that says nothing about JSON."""


class Forms:
    """The forms of one function, with the definitions that they share."""

    def __init__(self):
        self.definitions = {}
        self._named = {}

    def of(self, annotation):
        """The form of an annotation."""
        if annotation is None or annotation is type(None):
            return scalars.NULL
        if isinstance(annotation, typing.TypeVar):
            return self.of(annotation.__bound__) if annotation.__bound__ else ANY
        if isinstance(annotation, (str, typing.ForwardRef)) or any(annotation is known for known in _ANYTHING):
            return ANY
        if hasattr(annotation, "__supertype__"):
            return self.of(annotation.__supertype__)
        if type(annotation).__name__ == "TypeAliasType":
            return self.of(annotation.__value__)
        origin = typing.get_origin(annotation)
        if origin is not None:
            return self._parametrized(annotation, origin, typing.get_args(annotation))
        if isinstance(annotation, type):
            return self._plain(annotation)
        raise Unsupported("there is no JSON for the annotation %r" % (annotation,))

    def reference(self, subject, make):
        """The form of a class with a name: defined once, so that it may refer to itself."""
        found = self._named.get(subject)
        if found is None:
            name = subject.__name__
            while name in self.definitions:
                name += "_"
            self.definitions[name] = {}
            made = []
            found = Form({"$ref": "#/$defs/" + name}, lambda value: made[0].convert(value), name=subject.__name__)
            self._named[subject] = found
            made.append(make(subject))
            self.definitions[name] = self._placed(made[0].schema, subject.__name__, name)
            found.fits, found.is_object = made[0].fits, made[0].is_object
        return found

    def _placed(self, schema, name, here):
        """A definition at the place where it stands, which it may refer to by the name that it had."""
        return schema if name == here else _referring(schema, "#/$defs/" + name, "#/$defs/" + here)

    def adopt(self, schema):
        """A schema from elsewhere, its definitions among ours; one that refers to itself is told out."""
        schema = dict(schema)
        definitions = dict(schema.pop("$defs", None) or {})
        own = schema.get("$ref", "").rpartition("/")[2]
        if own in definitions:
            schema = dict(definitions.pop(own), **{key: value for key, value in schema.items() if key != "$ref"})
        for name, definition in definitions.items():
            self.definitions.setdefault(name, constraints.untitled(definition))
        return constraints.untitled(schema)

    def _parametrized(self, annotation, origin, args):
        if type(annotation).__name__ == "_AnnotatedAlias" or hasattr(annotation, "__metadata__"):
            return constraints.applied(self.of(annotation.__origin__), annotation.__metadata__)
        if origin in _UNION:
            return self._union(args)
        if _is_literal(origin):
            return _literal(args)
        if _is_marker(origin):
            return self.of(args[0])
        if origin is tuple:
            return self._tuple(args)
        if origin in _LISTS:
            return self._list(origin, self.of(args[0]))
        if origin in _DICTS:
            return self._dict(origin, *(self.of(arg) for arg in args[:2]))
        if origin is type or origin is collections.abc.Callable:
            raise Unsupported("there is no JSON for the annotation %r" % (annotation,))
        return self._plain(origin)

    def _plain(self, subject):
        known = scalars.of(subject)
        if known is not None:
            return known
        if subject is tuple:
            return self._list(tuple, ANY)
        if subject in _LISTS:
            return self._list(subject, ANY)
        if subject in _DICTS:
            return self._dict(subject, ANY, ANY)
        from brynhild_host.adapters.initrunner import classes

        return classes.of(self, subject)

    def _list(self, origin, item):
        schema = {"type": "array", "items": item.schema}
        if origin in _UNIQUE:
            schema["uniqueItems"] = True
        made = _LISTS[origin]
        kind = made.__name__ if made in (list, tuple, set, frozenset, collections.deque) else "list"
        convert = each(item.convert, made, (kind + "_type", "Input should be a valid " + kind))
        return Form(schema, convert, lambda value: isinstance(value, list), "%s[%s]" % (kind, item.name))

    def _tuple(self, args):
        if len(args) == 2 and args[1] is Ellipsis:
            return self._list(tuple, self.of(args[0]))
        items = [self.of(arg) for arg in args if arg != ()]
        count = len(items)
        schema = {"type": "array", "minItems": count, "maxItems": count}
        if items:
            schema["prefixItems"] = [item.schema for item in items]

        def convert(value):
            if not isinstance(value, (list, tuple)):
                raise Fault("tuple_type", "Input should be a valid tuple", value)
            if len(value) > count:
                words = "Tuple should have at most %d item%s after validation, not %d"
                raise Fault("too_long", words % (count, "" if count == 1 else "s", len(value)), value)
            faults, good = [], []
            for index, item in enumerate(items):
                if index >= len(value):
                    faults.append(fault("missing", "Field required", value, index))
                else:
                    take(faults, good, item.convert, value[index], index)
            return finished(faults, lambda: tuple(good))

        return Form(schema, convert, lambda value: isinstance(value, list), "tuple")

    def _dict(self, origin, key, item):
        schema = {"type": "object"}
        schema["additionalProperties"] = item.schema if item.schema else True

        def convert(value):
            if not isinstance(value, dict):
                raise Fault("dict_type", "Input should be a valid dictionary", value)
            faults, good = [], {}
            for name, content in value.items():
                names, contents = [], []
                take(faults, names, key.convert, name, name, "[key]")
                take(faults, contents, item.convert, content, name)
                if names and contents:
                    good[names[0]] = contents[0]
            return finished(faults, lambda: _DICTS[origin](good))

        return Form(schema, convert, lambda value: isinstance(value, dict), "dict[%s,%s]" % (key.name, item.name))

    def _union(self, args):
        members = [self.of(arg) for arg in args]
        if len(members) == 1:
            return members[0]
        schemas = []
        for member in members:
            if member.schema not in schemas:
                schemas.append(member.schema)

        def convert(value):
            for member in members:
                if member.fits(value):
                    try:
                        return member.convert(value)
                    except Fault:
                        continue
            faults = []
            for member in members:
                try:
                    return member.convert(value)
                except Fault as error:
                    # Where one of two is nothing, the other one is what was meant.
                    is_single = len(members) == 2 and scalars.NULL in members
                    if member is not scalars.NULL or not is_single:
                        faults.extend(error.faults if is_single else placed(error, member.name))
            raise Fault.several(faults)

        fits = lambda value: any(member.fits(value) for member in members)  # noqa: E731
        return Form({"anyOf": schemas}, convert, fits, "union")


def _is_literal(origin):
    return origin is typing.Literal or getattr(origin, "_name", None) == "Literal"


def _is_marker(origin):
    return getattr(origin, "_name", None) in ("Required", "NotRequired", "ReadOnly", "Final", "ClassVar")


def _literal(values):
    """One of a few values."""
    plain = [value.value if isinstance(value, enum.Enum) else value for value in values]
    schema = {"const": plain[0]} if len(plain) == 1 else {"enum": plain}
    kinds = {scalars.json_type(value) for value in plain}
    if len(kinds) == 1:
        schema["type"] = kinds.pop()
    words = scalars.alternatives(plain)

    def convert(value):
        for given, meant in zip(plain, values):
            if given == value and type(given) is type(value):
                return meant
        raise Fault("literal_error", "Input should be " + words, value)

    return Form(schema, convert, lambda value: value in plain if scalars.is_plain(value) else False, "literal")


def _referring(schema, old, new):
    """A schema whose references to one definition are to another."""
    if isinstance(schema, list):
        return [_referring(item, old, new) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: new if key == "$ref" and value == old else _referring(value, old, new) for key, value in schema.items()
    }
