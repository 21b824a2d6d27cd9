"""The forms of classes with fields: models, dataclasses, typed dicts, named tuples; and of enumerations."""
import enum
import typing

from brynhild._models import Fault
from brynhild_host.adapters.initrunner import constraints, scalars
from brynhild_host.adapters.initrunner.forms import Form, fault, finished, take
from brynhild_host.adapters.initrunner.plain import Unsayable, plain

_NO = object()


def of(forms, subject):
    """The form of a class; raises where it says nothing about JSON."""
    from brynhild_host.adapters.initrunner.annotations import Unsupported

    if issubclass(subject, enum.Enum):
        return forms.reference(subject, _enumeration)
    if hasattr(subject, "model_validate") and hasattr(subject, "model_json_schema"):
        return forms.reference(subject, lambda subject: _model(forms, subject))
    if hasattr(subject, "__dataclass_fields__"):
        return forms.reference(subject, lambda subject: _dataclass(forms, subject))
    if hasattr(subject, "__total__") and issubclass(subject, dict):
        return forms.reference(subject, lambda subject: _typed_dict(forms, subject))
    if issubclass(subject, tuple) and hasattr(subject, "_fields"):
        return forms.reference(subject, lambda subject: _named_tuple(forms, subject))
    raise Unsupported("there is no JSON for the annotation %r" % (subject,))


def hints(subject):
    """The annotations of a class as objects; those that cannot be found out mean anything."""
    try:
        return typing.get_type_hints(subject, include_extras=True)
    except Exception:
        return {name: hint for base in reversed(subject.__mro__) for name, hint in _own(base).items()}


def _own(base):
    own = base.__dict__.get("__annotations__") or {}
    return {name: typing.Any if isinstance(hint, str) else hint for name, hint in own.items()}


def _enumeration(subject):
    values = [member.value for member in subject]
    schema = {"enum": values, "title": subject.__name__}
    kinds = {scalars.json_type(value) for value in values}
    if len(kinds) == 1:
        schema["type"] = kinds.pop()
    words = scalars.alternatives(values) if values else "nothing"

    def convert(value):
        if isinstance(value, subject):
            return value
        for member in subject:
            if member.value == value and isinstance(value, bool) == isinstance(member.value, bool):
                return member
        for member in subject:
            if type(member.value) in (int, float) and isinstance(value, str) and str(member.value) == value.strip():
                return member
        raise Fault("enum", "Input should be " + words, value)

    fits = lambda value: scalars.is_plain(value) and value in values  # noqa: E731
    return Form(schema, convert, fits, subject.__name__)


def _model(forms, subject):
    schema = forms.adopt(subject.model_json_schema())

    def convert(value):
        if isinstance(value, subject):
            return value
        try:
            return subject.model_validate(value)
        except Exception as error:
            if not hasattr(error, "errors"):
                raise
            raise Fault.several([_trimmed(item) for item in error.errors()]) from None

    return Form(schema, convert, lambda value: isinstance(value, dict), subject.__name__, is_object=True)


def _trimmed(item):
    return {name: item.get(name) for name in ("type", "loc", "msg", "input")}


def _dataclass(forms, subject):
    import dataclasses

    known = hints(subject)
    fields = []
    for field in dataclasses.fields(subject):
        if not field.init:
            continue
        form, default = forms.of(known.get(field.name, typing.Any)), field.default
        if default is dataclasses.MISSING:
            default = _NO if field.default_factory is dataclasses.MISSING else None
            shown = _NO
        else:
            shown = default
        fields.append((field.name, form, default is _NO, shown))
    schema = _object(subject, fields)
    wrong = ("dataclass_type", "Input should be a dictionary or an instance of %s" % subject.__name__)
    return Form(schema, _filled(subject, fields, wrong), _is_dict, subject.__name__, is_object=True)


def _typed_dict(forms, subject):
    known = hints(subject)
    required = getattr(subject, "__required_keys__", frozenset(known))
    fields = []
    for name, hint in known.items():
        marker = getattr(typing.get_origin(hint), "_name", None)
        needed = marker == "Required" or (name in required and marker != "NotRequired")
        fields.append((name, forms.of(hint), needed, _NO))
    wrong = ("dict_type", "Input should be a valid dictionary")
    return Form(_object(subject, fields), _filled(dict, fields, wrong), _is_dict, subject.__name__, is_object=True)


def _named_tuple(forms, subject):
    known, defaults = hints(subject), subject._field_defaults
    items = [(name, forms.of(known.get(name, typing.Any))) for name in subject._fields]
    schema = {
        "type": "array",
        "prefixItems": [form.schema for _, form in items],
        "minItems": len(items) - len(defaults),
        "maxItems": len(items),
    }

    def convert(value):
        if isinstance(value, dict):
            value = [value[name] for name, _ in items if name in value]
        if not isinstance(value, (list, tuple)) or len(value) > len(items):
            raise Fault("named_tuple_type", "Input should be a valid list of %s" % subject.__name__, value)
        faults, good = [], []
        for index, (name, form) in enumerate(items):
            if index < len(value):
                take(faults, good, form.convert, value[index], index)
            elif name not in defaults:
                faults.append(fault("missing_argument", "Missing required argument", value, index))
        return finished(faults, lambda: subject(*good))

    return Form(schema, convert, lambda value: isinstance(value, list), subject.__name__)


def _is_dict(value):
    return isinstance(value, dict)


def _object(subject, fields):
    """The schema of a class: `fields` are name, form, whether it is needed, and the default that is shown."""
    properties = {}
    for name, form, _, shown in fields:
        schema = dict(form.schema)
        if shown is not _NO:
            try:
                schema["default"] = plain(shown)
            except Unsayable:
                pass
        properties[name] = schema
    schema = {"type": "object", "properties": properties, "title": subject.__name__}
    needed = [name for name, _, is_needed, _ in fields if is_needed]
    if needed:
        schema["required"] = needed
    return constraints.untitled(schema)


def _filled(make, fields, wrong):
    def convert(value):
        if isinstance(make, type) and make is not dict and isinstance(value, make):
            return value
        if not isinstance(value, dict):
            raise Fault(wrong[0], wrong[1], value)
        faults, filled = [], {}
        for name, form, is_needed, _ in fields:
            if name in value:
                good = []
                take(faults, good, form.convert, value[name], name)
                filled.update((name, item) for item in good)
            elif is_needed:
                faults.append(fault("missing", "Field required", value, name))
        return finished(faults, lambda: make(**filled))

    return convert
