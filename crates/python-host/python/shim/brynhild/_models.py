"""Checked classes with the interface that plugins know from pydantic, on the standard library alone.

A model lists its `_fields`; each is checked on construction, all failures together raise one `ValidationError`.
"""
from __future__ import annotations

_MISSING = object()


class ValidationError(ValueError):
    """Input that does not fit a model; `errors()` lists every fault."""

    def __init__(self, title, faults):
        self.title = title
        self._faults = faults
        super().__init__(self._text())

    def errors(self, **_options):
        """The faults: type, loc, msg, input."""
        return [dict(fault) for fault in self._faults]

    def error_count(self):
        """How many there are."""
        return len(self._faults)

    def _text(self):
        count = len(self._faults)
        lines = ["%d validation error%s for %s" % (count, "" if count == 1 else "s", self.title)]
        for fault in self._faults:
            lines.append(".".join(str(part) for part in fault["loc"]))
            kind = type(fault["input"]).__name__
            shown = "[type=%s, input_value=%.60r, input_type=%s]" % (fault["type"], fault["input"], kind)
            lines.append("  %s %s" % (fault["msg"], shown))
        return "\n".join(lines)


class Fault(Exception):
    """One value that does not fit; raised by checks."""

    def __init__(self, kind, message, value, location=()):
        super().__init__(message)
        self.faults = [{"type": kind, "loc": tuple(location), "msg": message, "input": value}]

    @classmethod
    def several(cls, faults):
        """Faults from inside a value, with their places."""
        fault = cls("", "", None)
        fault.faults = faults
        return fault


class Field:
    """One field of a model: its check, its default, and the name it has in data."""

    def __init__(self, check, default=_MISSING, factory=None, alias=None):
        self.check = check
        self.default = default
        self.factory = factory
        self.alias = alias

    @property
    def required(self):
        """True if there is no default."""
        return self.default is _MISSING and self.factory is None

    is_required = required

    def make_default(self):
        """A default of its own for each model."""
        return self.factory() if self.factory is not None else self.default


class Model:
    """The base of checked classes."""

    _fields: dict = {}
    _extra = "forbid"

    def __init__(self, /, **data):
        faults = []
        values = self.__dict__
        for name, field in self._fields.items():
            given = data.pop(field.alias or name, _MISSING)
            if given is not _MISSING:
                try:
                    values[name] = field.check(given)
                except Fault as fault:
                    faults.extend(_placed(fault, field.alias or name))
            elif field.required:
                fault = {"type": "missing", "loc": (field.alias or name,), "msg": "Field required", "input": data}
                faults.append(fault)
            else:
                values[name] = field.make_default()
        self.__dict__["model_fields_set"] = {name for name in self._fields if name in values}
        self._take_extras(data, faults)
        if faults:
            raise ValidationError(type(self).__name__, faults)

    def _take_extras(self, data, faults):
        if self._extra == "forbid":
            for name, value in data.items():
                message = "Extra inputs are not permitted"
                faults.append({"type": "extra_forbidden", "loc": (name,), "msg": message, "input": value})
        self.__dict__["model_extra"] = dict(data) if self._extra == "allow" else None

    @classmethod
    def model_validate(cls, value, **_options):
        """An instance from a mapping or an instance."""
        if isinstance(value, cls):
            return value
        if not isinstance(value, dict):
            message = "Input should be a valid dictionary or instance of %s" % cls.__name__
            raise ValidationError(cls.__name__, [{"type": "model_type", "loc": (), "msg": message, "input": value}])
        return cls(**{str(key): item for key, item in value.items()})

    parse_obj = model_validate

    @classmethod
    def model_validate_json(cls, text, **_options):
        """An instance from JSON."""
        import json

        return cls.model_validate(json.loads(text))

    def model_dump(self, *, by_alias=False, exclude_none=False, include=None, exclude=None, **_options):
        """The fields as plain data."""
        data = {}
        for name, field in self._fields.items():
            value = self.__dict__[name]
            skipped = (exclude and name in exclude) or (include is not None and name not in include)
            if skipped or (exclude_none and value is None):
                continue
            data[field.alias if by_alias and field.alias else name] = _plain(value, by_alias, exclude_none)
        data.update(self.__dict__["model_extra"] or {})
        return data

    dict = model_dump

    def model_dump_json(self, *, indent=None, **options):
        """The fields as JSON."""
        import json

        return json.dumps(self.model_dump(**options), indent=indent)

    json = model_dump_json

    def model_copy(self, *, update=None, deep=False):
        """A copy, with changes that are not checked."""
        import copy

        twin = (copy.deepcopy if deep else copy.copy)(self)
        twin.__dict__.update(update or {})
        return twin

    def __getattr__(self, name):
        extra = self.__dict__.get("model_extra")
        if extra and name in extra:
            return extra[name]
        raise AttributeError("%r object has no attribute %r" % (type(self).__name__, name))

    def __eq__(self, other):
        if type(other) is not type(self):
            return NotImplemented
        return self.model_dump() == other.model_dump()

    __hash__ = None

    def __repr__(self):
        fields = ", ".join("%s=%r" % (name, self.__dict__[name]) for name in self._fields)
        return "%s(%s)" % (type(self).__name__, fields)

    def __iter__(self):
        return ((name, self.__dict__[name]) for name in self._fields)


def model_fields(cls):
    """Let a model class show its fields under the known name."""
    cls.model_fields = cls._fields
    return cls


def text(minimum=0, maximum=None, pattern=None):
    """A string within its limits."""

    def check(value):
        if not isinstance(value, str):
            raise Fault("string_type", "Input should be a valid string", value)
        if len(value) < minimum:
            words = "String should have at least %d character%s" % (minimum, "" if minimum == 1 else "s")
            raise Fault("string_too_short", words, value)
        if maximum is not None and len(value) > maximum:
            raise Fault("string_too_long", "String should have at most %d characters" % maximum, value)
        if pattern is not None:
            import re

            if not re.search(pattern, value):
                raise Fault("string_pattern_mismatch", "String should match pattern '%s'" % pattern, value)
        return value

    return check


_TRUE = ("true", "1", "yes", "on", "y", "t")
_FALSE = ("false", "0", "no", "off", "n", "f")


def boolean(value):
    """A truth value, or one of the words for it."""
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)) and value in (0, 1):
        return bool(value)
    if isinstance(value, str) and value.lower() in _TRUE + _FALSE:
        return value.lower() in _TRUE
    raise Fault("bool_type", "Input should be a valid boolean", value)


def integer(value):
    """A whole number, or a text of one."""
    if isinstance(value, (int, float)) and int(value) == value:
        return int(value)
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            raise Fault("int_parsing", "Input should be a valid integer", value) from None
    raise Fault("int_type", "Input should be a valid integer", value)


def mapping(value):
    """A dict with any content."""
    if not isinstance(value, dict):
        raise Fault("dict_type", "Input should be a valid dictionary", value)
    return dict(value)


def optional(check):
    """None, or what the check accepts."""
    return lambda value: None if value is None else check(value)


def choice(*allowed):
    """One of a few texts."""

    def check(value):
        value = getattr(value, "value", value)
        if value not in allowed:
            words = "'" + "', '".join(allowed[:-1]) + "' or '" + allowed[-1] + "'"
            raise Fault("literal_error", "Input should be " + words, value)
        return value

    return check


def list_of(check):
    """A list whose every item the check accepts."""

    def check_list(value):
        if not isinstance(value, (list, tuple, set, frozenset)):
            raise Fault("list_type", "Input should be a valid list", value)
        return _each(enumerate(value), check, list_result)

    return check_list


def dict_of(check):
    """A dict whose every value the check accepts."""

    def check_dict(value):
        if not isinstance(value, dict):
            raise Fault("dict_type", "Input should be a valid dictionary", value)
        return _each(value.items(), check, dict)

    return check_dict


def nested(cls):
    """An instance of a model, or what makes one."""

    def check(value):
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            raise Fault.several(error.errors()) from None

    return check


def list_result(pairs):
    """The values of numbered pairs."""
    return [value for _, value in pairs]


def _each(pairs, check, gather):
    faults, good = [], []
    for place, item in pairs:
        try:
            good.append((place, check(item)))
        except Fault as fault:
            faults.extend(_placed(fault, place))
    if faults:
        raise Fault.several(faults)
    return gather(good)


def _placed(fault, place):
    return [dict(item, loc=(place,) + tuple(item["loc"])) for item in fault.faults]


def _plain(value, by_alias, exclude_none):
    if isinstance(value, Model):
        return value.model_dump(by_alias=by_alias, exclude_none=exclude_none)
    if isinstance(value, list):
        return [_plain(item, by_alias, exclude_none) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item, by_alias, exclude_none) for key, item in value.items()}
    return value
