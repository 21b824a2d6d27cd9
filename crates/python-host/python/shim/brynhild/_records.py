"""Classes that behave as dataclasses do, without the cost of importing `dataclasses`.

A record writes its own `__init__`. Comparison, `repr` and pattern matching are made here; what the `dataclasses` module
itself looks at is made when it asks.
"""


class _Later:
    """A class attribute that is computed by `dataclasses` on first use."""

    def __init__(self, record, name):
        self._record = record
        self._name = name

    def __get__(self, instance, owner):
        _materialize(self._record)
        return self._record.__dict__[self._name]


def record(**factories):
    """Make a class with annotations a record; `factories` make the defaults that are containers."""

    def decorate(cls):
        names = tuple(cls.__annotations__)

        def __repr__(self):
            fields = ", ".join("%s=%r" % (name, getattr(self, name)) for name in names)
            return "%s(%s)" % (type(self).__qualname__, fields)

        def __eq__(self, other):
            if other.__class__ is not self.__class__:
                return NotImplemented
            return all(getattr(self, name) == getattr(other, name) for name in names)

        def __replace__(self, **changes):
            return type(self)(**dict({name: getattr(self, name) for name in names}, **changes))

        for member in (__repr__, __eq__, __replace__):
            member.__qualname__ = "%s.%s" % (cls.__qualname__, member.__name__)
            if member.__name__ not in cls.__dict__:
                setattr(cls, member.__name__, member)
        cls.__hash__ = None
        cls.__match_args__ = names
        cls._record_factories = factories
        cls.__dataclass_fields__ = _Later(cls, "__dataclass_fields__")
        cls.__dataclass_params__ = _Later(cls, "__dataclass_params__")
        return cls

    return decorate


def _materialize(cls):
    import dataclasses

    fields = []
    for name, annotation in cls.__annotations__.items():
        if name in cls._record_factories:
            field = dataclasses.field(default_factory=cls._record_factories[name])
        elif name in cls.__dict__:
            field = dataclasses.field(default=cls.__dict__[name])
        else:
            field = dataclasses.field()
        fields.append((name, annotation, field))
    model = dataclasses.make_dataclass(cls.__name__, fields)
    cls.__dataclass_fields__ = model.__dataclass_fields__
    cls.__dataclass_params__ = model.__dataclass_params__


class _Absent:
    """The default of an argument whose real default is a fresh container."""

    def __repr__(self):
        return "<factory>"


ABSENT = _Absent()
