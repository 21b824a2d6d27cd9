"""Models: classes whose annotations say which data they take."""
import typing

from brynhild._models import Fault, ValidationError
from brynhild_host.adapters.initrunner import constraints
from brynhild_host.adapters.initrunner.annotations import Forms
from brynhild_host.adapters.initrunner.classes import hints
from brynhild_host.adapters.initrunner.forms import fault, placed
from brynhild_host.adapters.initrunner.plain import Unsayable, plain

from ._fields import UNDEFINED, FieldInfo, _Private
from ._validators import AfterValidator, BeforeValidator, Check, Info

_RAISED = (ValueError, AssertionError)


def ConfigDict(**options):
    """The options of a model."""
    return options


class BaseModel:
    """The base of models."""

    model_config: typing.ClassVar[dict] = {}

    def __init_subclass__(cls, **options):
        super().__init_subclass__()
        config = {}
        for base in reversed(cls.__mro__):
            config.update(base.__dict__.get("model_config") or {})
            old = base.__dict__.get("Config")
            config.update({name: value for name, value in vars(old).items() if name[0] != "_"} if old else {})
        config.update(options)
        cls.model_config = config
        cls._shape = None

    def __init__(self, /, **data):
        self._fill(data)

    def _fill(self, data):
        shape = shape_of(type(self))
        for check in shape.checks(None, "before"):
            data = shape.ask(check, data, Info(None, {}), ())
        values, given, faults = {}, set(), []
        data = dict(data)
        for name, field in shape.fields.items():
            keys = [key for key in field.names() + (name,) if key in data]
            if keys:
                given.add(name)
                try:
                    values[name] = shape.convert(name, data.pop(keys[0]), values)
                except Fault as error:
                    faults.extend(placed(error, keys[0]))
            elif field.is_required():
                faults.append(fault("missing", "Field required", data, (field.names() or (name,))[0]))
            else:
                values[name] = field.get_default()
        extra = self.model_config.get("extra", "ignore")
        if extra == "forbid":
            faults += [fault("extra_forbidden", "Extra inputs are not permitted", data[key], key) for key in data]
        if faults:
            raise ValidationError(type(self).__name__, faults)
        attributes = self.__dict__
        attributes.update(values)
        attributes["__pydantic_extra__"] = data if extra == "allow" else None
        attributes["__pydantic_fields_set__"] = given
        for name, private in shape.private.items():
            attributes[name] = private.make()
        for check in shape.checks(None, "after"):
            shape.ask(check, self, Info(None, {}), (), is_whole=True)
        post = getattr(self, "model_post_init", None)
        if post is not None:
            post(None)

    @classmethod
    def model_validate(cls, value, **_):
        """An instance from a mapping or an instance."""
        if isinstance(value, cls):
            return value
        if not isinstance(value, dict) and cls.model_config.get("from_attributes"):
            value = {name: getattr(value, name) for name in shape_of(cls).fields if hasattr(value, name)}
        if not isinstance(value, dict):
            message = "Input should be a valid dictionary or instance of %s" % cls.__name__
            raise ValidationError(cls.__name__, [fault("model_type", message, value)])
        made = cls.__new__(cls)
        made._fill(value)
        return made

    parse_obj = model_validate

    @classmethod
    def model_validate_json(cls, text, **_):
        """An instance from JSON."""
        import json

        return cls.model_validate(json.loads(text))

    @classmethod
    def model_construct(cls, _fields_set=None, **values):
        """An instance that is not checked."""
        made = cls.__new__(cls)
        shape = shape_of(cls)
        for name, field in shape.fields.items():
            made.__dict__[name] = values[name] if name in values else field.get_default()
        made.__dict__.update(__pydantic_extra__=None, __pydantic_fields_set__=set(_fields_set or values))
        return made

    @classmethod
    def model_json_schema(cls, **_):
        """The JSON Schema of its data."""
        return shape_of(cls).schema()

    @classmethod
    def model_rebuild(cls, **_):
        """Look at the annotations again."""
        cls._shape = None
        return True

    def model_dump(self, *, mode="python", by_alias=False, include=None, exclude=None, **options):
        """The fields as data."""
        dumped = {}
        for name, field in shape_of(type(self)).fields.items():
            value = self.__dict__[name]
            skipped = field.exclude or (exclude and name in exclude) or (include is not None and name not in include)
            if skipped or (options.get("exclude_none") and value is None):
                continue
            if options.get("exclude_unset") and name not in self.model_fields_set:
                continue
            if options.get("exclude_defaults") and not field.is_required() and value == field.get_default():
                continue
            key = field.serialization_alias if by_alias and field.serialization_alias else name
            dumped[key] = _dumped(value, mode, by_alias, options)
        dumped.update(self.__dict__.get("__pydantic_extra__") or {})
        return plain(dumped) if mode == "json" else dumped

    dict = model_dump

    def model_dump_json(self, *, indent=None, **options):
        """The fields as JSON."""
        import json

        spaces = None if indent else (",", ":")
        return json.dumps(self.model_dump(mode="json", **options), indent=indent, separators=spaces, ensure_ascii=False)

    json = model_dump_json

    def model_copy(self, *, update=None, deep=False):
        """A copy, with changes that are not checked."""
        import copy

        twin = type(self).__new__(type(self))
        twin.__dict__.update((copy.deepcopy if deep else copy.copy)(self.__dict__))
        twin.__dict__.update(update or {})
        return twin

    copy = model_copy

    @property
    def model_fields_set(self):
        """The fields that were given."""
        return self.__dict__["__pydantic_fields_set__"]

    @property
    def model_extra(self):
        """What was given beside the fields."""
        return self.__dict__["__pydantic_extra__"]

    def __getattr__(self, name):
        extra = self.__dict__.get("__pydantic_extra__")
        if extra and name in extra:
            return extra[name]
        raise AttributeError("%r object has no attribute %r" % (type(self).__name__, name))

    def __setattr__(self, name, value):
        shape = shape_of(type(self))
        if name in shape.fields:
            if self.model_config.get("frozen"):
                raise ValidationError(type(self).__name__, [fault("frozen_instance", "Instance is frozen", value, name)])
            if self.model_config.get("validate_assignment"):
                value = shape.convert(name, value, self.__dict__)
        elif not name.startswith("_") and not isinstance(getattr(type(self), name, None), property):
            if self.model_config.get("extra") != "allow":
                raise ValueError('"%s" object has no field "%s"' % (type(self).__name__, name))
        object.__setattr__(self, name, value)

    def __eq__(self, other):
        return type(other) is type(self) and self.model_dump() == other.model_dump()

    def __hash__(self):
        return hash(repr(self)) if self.model_config.get("frozen") else object.__hash__(self)

    def __iter__(self):
        return ((name, self.__dict__[name]) for name in shape_of(type(self)).fields)

    def __repr__(self):
        fields = shape_of(type(self)).fields.items()
        shown = ", ".join("%s=%r" % (name, self.__dict__.get(name)) for name, field in fields if field.repr)
        return "%s(%s)" % (type(self).__name__, shown)

    __str__ = __repr__


class _Shown:
    """`model_fields` of a class."""

    def __get__(self, instance, owner):
        return shape_of(owner).fields


BaseModel.model_fields = BaseModel.__fields__ = _Shown()


class Shape:
    """What a class's annotations say, understood once."""

    def __init__(self, cls):
        self._cls = cls
        self._forms = Forms()
        self._checks = [
            value for base in reversed(cls.__mro__) for value in vars(base).values() if isinstance(value, Check)
        ]
        self.fields, self.private, self._converted = {}, {}, {}
        for name, hint in hints(cls).items():
            default = getattr(cls, name, UNDEFINED) if not hasattr(BaseModel, name) else UNDEFINED
            if isinstance(default, _Private) or name.startswith("_"):
                kept = default if isinstance(default, _Private) else _Private(default)
                if kept.default is not UNDEFINED or kept.default_factory is not None:
                    self.private[name] = kept
            elif name not in ("model_config", "Config") and getattr(typing.get_origin(hint), "_name", None) != "ClassVar":
                if typing.get_origin(hint) is not typing.ClassVar and hint is not typing.ClassVar:
                    self.fields[name] = self._field(name, hint, default)

    def _field(self, name, hint, default):
        remarks = getattr(hint, "__metadata__", ())
        inner = [remark for remark in remarks if isinstance(remark, FieldInfo)]
        if isinstance(default, FieldInfo):
            field = default
        elif inner and default is UNDEFINED:
            field = inner[-1]
        else:
            field = FieldInfo(default)
            if inner:
                field.description, field.alias = inner[-1].description, inner[-1].alias
                field.validation_alias = inner[-1].validation_alias
        field.annotation = hint
        self._converted[name] = (None, remarks)
        return field

    def form(self, name):
        """The form of a field's values."""
        form, remarks = self._converted[name]
        if form is None:
            field = self.fields[name]
            form = constraints.applied(self._forms.of(field.annotation), (field,))
            self._converted[name] = (form, remarks)
        return form

    def convert(self, name, value, before):
        """A value of a field, checked."""
        remarks, info = self._converted[name][1], Info(name, dict(before))
        own = [check for check in self._checks if check.fields and (name in check.fields or "*" in check.fields)]
        for remark in remarks:
            if isinstance(remark, BeforeValidator):
                value = _asked(lambda: remark.func(value), value)
        for check in own:
            if check.mode == "before":
                value = self.ask(check, value, info, ())
        value = self.form(name).convert(value)
        for remark in remarks:
            if isinstance(remark, AfterValidator) and not isinstance(remark, BeforeValidator):
                value = _asked(lambda: remark.func(value), value)
        for check in own:
            if check.mode in ("after", "plain"):
                value = self.ask(check, value, info, ())
        return value

    def checks(self, fields, mode):
        """The checks of the whole model."""
        return [check for check in self._checks if check.fields is None and check.mode == mode]

    def ask(self, check, value, info, place, is_whole=False):
        """What an author's own check makes of a value."""
        try:
            if is_whole:
                return check.function(value)
            return _asked(lambda: check.run(self._cls, value, info), value)
        except _RAISED as error:
            if isinstance(error, ValidationError):
                raise
            words = "Value error, %s" % error
            raise ValidationError(self._cls.__name__, [fault("value_error", words, value, *place)]) from None
        except Fault as error:
            if check.fields is None:
                raise ValidationError(self._cls.__name__, error.faults) from None
            raise

    def schema(self):
        """The JSON Schema."""
        properties, needed = {}, []
        for name, field in self.fields.items():
            schema = dict(self.form(name).schema)
            if field.is_required():
                needed.append(name)
            elif field.default_factory is None:
                try:
                    schema["default"] = plain(field.default)
                except Unsayable:
                    pass
            properties[name] = schema
        schema = {"type": "object", "properties": properties, "title": self._cls.__name__}
        words = self._cls.__dict__.get("__doc__")
        if words:
            import inspect

            schema["description"] = inspect.cleandoc(words)
        if needed:
            schema["required"] = needed
        if self._cls.model_config.get("extra") == "forbid":
            schema["additionalProperties"] = False
        if self._forms.definitions:
            schema["$defs"] = self._forms.definitions
        return schema


def shape_of(cls):
    """The shape of a class."""
    shape = cls.__dict__.get("_shape")
    if shape is None:
        shape = cls._shape = Shape(cls)
    return shape


def _asked(ask, value):
    try:
        return ask()
    except ValidationError as error:
        raise Fault.several(error.errors()) from None
    except ValueError as error:
        raise Fault("value_error", "Value error, %s" % error, value) from None
    except AssertionError as error:
        raise Fault("assertion_error", "Assertion failed, %s" % error, value) from None


def _dumped(value, mode, by_alias, options):
    if isinstance(value, BaseModel):
        return value.model_dump(mode=mode, by_alias=by_alias, **options)
    if isinstance(value, (list, tuple, set, frozenset)) and not hasattr(value, "_fields"):
        return type(value)(_dumped(item, mode, by_alias, options) for item in value)
    if isinstance(value, dict):
        return {key: _dumped(item, mode, by_alias, options) for key, item in value.items()}
    return value


class TypeAdapter:
    """Checks values of any annotation."""

    def __init__(self, annotation, **_):
        self._forms = Forms()
        self._form = self._forms.of(annotation)

    def validate_python(self, value, **_):
        """The value, checked."""
        try:
            return self._form.convert(value)
        except Fault as error:
            raise ValidationError(self._form.name, error.faults) from None

    def validate_json(self, text, **_):
        """The same from JSON."""
        import json

        return self.validate_python(json.loads(text))

    def dump_python(self, value, *, mode="python", **_):
        """The value as data."""
        return plain(value) if mode == "json" else value

    def json_schema(self, **_):
        """The JSON Schema."""
        schema = dict(self._form.schema)
        if self._forms.definitions:
            schema["$defs"] = self._forms.definitions
        return schema


def create_model(name, /, *, __base__=BaseModel, **fields):
    """A model class from names, annotations and defaults."""
    body = {"__annotations__": {}}
    for field, said in fields.items():
        hint, default = said if isinstance(said, tuple) else (said, UNDEFINED)
        body["__annotations__"][field] = hint
        if default is not Ellipsis and default is not UNDEFINED:
            body[field] = default
    return type(name, (__base__,), body)
