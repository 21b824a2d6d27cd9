"""One form of values: its schema, its conversion, and the faults of what does not fit."""
from brynhild._models import Fault


class Form:
    """An annotation: its schema, its conversion, whether a value is of it as it is, and its name in faults."""

    __slots__ = ("schema", "convert", "fits", "name", "is_object")

    def __init__(self, schema, convert, fits=None, name="", is_object=False):
        self.schema = schema
        self.convert = convert
        self.fits = fits or (lambda value: False)
        self.name = name
        self.is_object = is_object


ANY = Form({}, lambda value: value, lambda value: True, "any")


def take(faults, good, convert, value, *place):
    """Convert one value, or note where it does not fit."""
    try:
        good.append(convert(value))
    except Fault as error:
        faults.extend(placed(error, *place))


def placed(error, *place):
    """The faults of an error, below a place."""
    return [dict(item, loc=place + tuple(item["loc"])) for item in error.faults]


def fault(kind, message, value, *place):
    """One fault."""
    return {"type": kind, "loc": place, "msg": message, "input": value}


def finished(faults, make):
    """What was made, unless something does not fit."""
    if faults:
        raise Fault.several(faults)
    return make()


def each(convert, make, wrong):
    """A conversion of every item of a list."""

    def convert_all(value):
        if not isinstance(value, (list, tuple, set, frozenset)):
            raise Fault(wrong[0], wrong[1], value)
        faults, good = [], []
        for index, item in enumerate(value):
            take(faults, good, convert, item, index)
        return finished(faults, lambda: make(good))

    return convert_all
