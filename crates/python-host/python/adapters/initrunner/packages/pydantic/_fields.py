"""What `Field(...)` says of a field."""


class Undefined:
    """No value; there is one of it."""

    def __repr__(self):
        return "PydanticUndefined"

    def __bool__(self):
        return False


UNDEFINED = Undefined()


class _Limit:
    """One limit on a value, under the name by which it is known."""

    def __init__(self, name, value):
        self.__dict__[name] = value

    def __repr__(self):
        return repr(self.__dict__)


class FieldInfo:
    """A field of a model: its annotation, its default, its limits and its words."""

    def __init__(self, default=UNDEFINED, default_factory=None, **more):
        self.annotation = None
        self.default = UNDEFINED if default is Ellipsis else default
        self.default_factory = default_factory
        self.description = more.pop("description", None)
        self.title = more.pop("title", None)
        self.examples = more.pop("examples", None)
        self.alias = more.pop("alias", None)
        self.validation_alias = more.pop("validation_alias", None) or self.alias
        self.serialization_alias = more.pop("serialization_alias", None) or self.alias
        self.exclude = bool(more.pop("exclude", False))
        self.repr = more.pop("repr", True)
        self.json_schema_extra = more.pop("json_schema_extra", None)
        if "regex" in more:
            more["pattern"] = more.pop("regex")
        limits = ("ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern")
        self.metadata = [_Limit(name, more[name]) for name in limits if more.get(name) is not None]

    def is_required(self):
        """Whether there is no default."""
        return self.default is UNDEFINED and self.default_factory is None

    def get_default(self, *, call_default_factory=True, **_):
        """A default of its own for each model."""
        if self.default_factory is not None:
            return self.default_factory() if call_default_factory else None
        import copy

        return copy.deepcopy(self.default)

    def names(self):
        """The names under which data may have it."""
        given = self.validation_alias
        return tuple(getattr(given, "choices", (given,))) if given else ()

    def __repr__(self):
        return "FieldInfo(annotation=%r, required=%r)" % (self.annotation, self.is_required())


class AliasChoices:
    """Several names of one field."""

    def __init__(self, *choices):
        self.choices = choices


class _Private:
    """A field that is no part of the data."""

    def __init__(self, default=UNDEFINED, default_factory=None):
        self.default, self.default_factory = default, default_factory

    def make(self):
        """Its first value."""
        if self.default_factory is not None:
            return self.default_factory()
        import copy

        return copy.deepcopy(self.default)


def Field(default=UNDEFINED, **more):
    """Describe a field."""
    return FieldInfo(default, **more)


def PrivateAttr(default=UNDEFINED, *, default_factory=None):
    """Describe a private attribute."""
    return _Private(default, default_factory)
