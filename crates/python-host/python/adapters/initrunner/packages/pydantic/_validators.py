"""Decorators that mark checks of an author's own."""


class Check:
    """A function of a model class, with what it checks and when."""

    def __init__(self, function, fields, mode):
        self.function = getattr(function, "__func__", function)
        self.fields = fields
        self.mode = mode

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner):
        return self.function.__get__(owner if instance is None else instance, owner)

    def run(self, cls, value, info):
        """What the author's check makes of a value."""
        import inspect

        takes = len(inspect.signature(self.function).parameters)
        return self.function(cls, value, info) if takes > 2 else self.function(cls, value)


class Info:
    """What a check is told beside the value."""

    def __init__(self, name, data):
        self.field_name = name
        self.data = data
        self.context = None
        self.mode = "python"
        self.config = None


def field_validator(*fields, mode="after", check_fields=None):
    """Mark a check of some fields."""
    return lambda function: Check(function, fields, mode)


def validator(*fields, pre=False, **_):
    """Mark a check of some fields, in the older manner."""
    return lambda function: Check(function, fields, "before" if pre else "after")


def model_validator(*, mode):
    """Mark a check of the whole model."""
    return lambda function: Check(function, None, mode)


def _kept(*args, **_):
    if len(args) == 1 and (callable(args[0]) or isinstance(args[0], property)):
        return args[0]
    return lambda function: function


computed_field = field_serializer = model_serializer = _kept


class AfterValidator:
    """A check beside an annotation."""

    def __init__(self, func):
        self.func = func


class BeforeValidator(AfterValidator):
    """The same, before the value is understood."""
