"""The forms of single values: texts, numbers, truth, dates, and what is written as a text."""
import enum

from brynhild._models import Fault
from brynhild_host.adapters.initrunner.forms import Form

_TRUE = ("true", "1", "yes", "on", "y", "t")
_FALSE = ("false", "0", "no", "off", "n", "f")


def json_type(value):
    """The word of JSON Schema for a plain value."""
    for kind, word in ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string")):
        if isinstance(value, kind):
            return word
    return "null" if value is None else "object"


def is_plain(value):
    """Whether a value is no container."""
    return value is None or isinstance(value, (str, int, float, bool))


def alternatives(values):
    """The values in words: `'a', 'b' or 'c'`."""
    words = [repr(value) for value in values]
    return words[0] if len(words) == 1 else "%s or %s" % (", ".join(words[:-1]), words[-1])


def text(value):
    """A text."""
    if isinstance(value, str):
        return value
    raise Fault("string_type", "Input should be a valid string", value)


def integer(value):
    """A whole number, also written as a text."""
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if value == value and abs(value) != float("inf") and int(value) == value:
            return int(value)
        words = "Input should be a valid integer, got a number with a fractional part"
        raise Fault("int_from_float", words, value)
    if isinstance(value, str):
        digits = value.strip()
        whole, _, rest = digits.partition(".")
        try:
            if not rest.strip("0"):
                return int(whole)
        except ValueError:
            pass
        words = "Input should be a valid integer, unable to parse string as an integer"
        raise Fault("int_parsing", words, value)
    raise Fault("int_type", "Input should be a valid integer", value)


def number(value):
    """A number, also written as a text."""
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            words = "Input should be a valid number, unable to parse string as a number"
            raise Fault("float_parsing", words, value) from None
    raise Fault("float_type", "Input should be a valid number", value)


def boolean(value):
    """A truth value, or one of the words for it."""
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)) and value in (0, 1):
        return bool(value)
    if isinstance(value, str) and value.strip().lower() in _TRUE + _FALSE:
        return value.strip().lower() in _TRUE
    if isinstance(value, (str, int, float)):
        raise Fault("bool_parsing", "Input should be a valid boolean, unable to interpret input", value)
    raise Fault("bool_type", "Input should be a valid boolean", value)


def nothing(value):
    """None."""
    if value is None:
        return None
    raise Fault("none_required", "Input should be None", value)


def data(value):
    """Bytes, given as a text."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    raise Fault("bytes_type", "Input should be a valid bytes", value)


def parsed(kind, word, parse):
    """What a text stands for."""

    def convert(value):
        if not isinstance(value, (str, int, float)) or isinstance(value, bool):
            raise Fault(kind + "_type", "Input should be a valid " + word, value)
        try:
            return parse(value)
        except (ValueError, ArithmeticError, TypeError, OverflowError) as error:
            reason = str(error) or "it is not a path"
            raise Fault(kind + "_parsing", "Input should be a valid %s, %s" % (word, reason), value) from None

    return convert


def _moment(value):
    import datetime

    if isinstance(value, (int, float)):
        return datetime.datetime.fromtimestamp(value, datetime.timezone.utc)
    return datetime.datetime.fromisoformat(value.strip().replace("Z", "+00:00").replace("z", "+00:00"))


def _day(value):
    import datetime

    if isinstance(value, str) and len(value.strip()) == 10:
        return datetime.date.fromisoformat(value.strip())
    moment = _moment(value)
    if moment.time() != datetime.time():
        raise ValueError("it has a time of day")
    return moment.date()


def _time(value):
    import datetime

    if isinstance(value, (int, float)):
        return (datetime.datetime.min + datetime.timedelta(seconds=value)).time()
    return datetime.time.fromisoformat(value.strip().replace("Z", "+00:00"))


def _span(value):
    """Seconds, `[-][D days, ]HH:MM:SS` or the form of ISO 8601."""
    import datetime
    import re

    if isinstance(value, (int, float)):
        return datetime.timedelta(seconds=value)
    sign, value = (-1, value[1:]) if value.startswith("-") else (1, value)
    names = ("weeks", "days", "hours", "minutes", "seconds")
    found = re.match(r"^P(?:([\d.]+)W)?(?:([\d.]+)D)?(?:T(?:([\d.]+)H)?(?:([\d.]+)M)?(?:([\d.]+)S)?)?$", value, re.I)
    if found is None:
        found = re.match(r"^()(?:(\d+)\s*(?:d|days?)?,?\s+)?(\d+):(\d+)(?::([\d.]+))?$", value)
    if found is None or not any(found.groups()):
        return sign * datetime.timedelta(seconds=float(value))
    parts = {name: float(part) for name, part in zip(names, found.groups()) if part}
    return sign * datetime.timedelta(**parts)


def _decimal(value):
    import decimal

    return decimal.Decimal(str(value))


def _named(module, name):
    def parse(value):
        if not isinstance(value, str):
            raise TypeError("it is no text")
        return getattr(__import__(module), name)(value)

    return parse


def _pattern(value):
    import re

    try:
        return re.compile(value)
    except re.error as error:
        raise ValueError(str(error)) from None


def _as_text(kind, word, parse, **schema):
    return dict(schema, type="string"), parsed(kind, word, parse)


def of(subject):
    """The form of a class of single values; none for another class."""
    found = _FORMS.get((subject.__module__, subject.__qualname__))
    if found is not None:
        return found
    if issubclass(subject, enum.Enum):
        return None
    if (subject.__module__, subject.__qualname__) in _TEXTS:
        schema, convert = _TEXTS[(subject.__module__, subject.__qualname__)]()
        return Form(schema, convert, lambda value: isinstance(value, subject), subject.__name__)
    if any(base.__module__ == "pathlib" for base in subject.__mro__):
        schema, convert = _as_text("path", "path", lambda value: subject(str(value)), format="path")
        return Form(schema, convert, lambda value: isinstance(value, str), "path")
    for base in (bool, int, float, str, bytes):
        if issubclass(subject, base):
            plain = _FORMS[("builtins", base.__name__)]
            return Form(plain.schema, lambda value: subject(plain.convert(value)), plain.fits, subject.__name__)
    return None


NULL = Form({"type": "null"}, nothing, lambda value: value is None, "none")

_FORMS = {
    ("builtins", "str"): Form({"type": "string"}, text, lambda value: isinstance(value, str), "str"),
    ("builtins", "int"): Form({"type": "integer"}, integer, lambda value: type(value) is int, "int"),
    ("builtins", "float"): Form({"type": "number"}, number, lambda value: type(value) is float, "float"),
    ("builtins", "bool"): Form({"type": "boolean"}, boolean, lambda value: type(value) is bool, "bool"),
    ("builtins", "bytes"): Form({"type": "string", "format": "binary"}, data, lambda value: False, "bytes"),
}

_TEXTS = {
    ("datetime", "datetime"): lambda: _as_text("datetime", "datetime", _moment, format="date-time"),
    ("datetime", "date"): lambda: _as_text("date", "date", _day, format="date"),
    ("datetime", "time"): lambda: _as_text("time", "time", _time, format="time"),
    ("datetime", "timedelta"): lambda: _as_text("time_delta", "timedelta", _span, format="duration"),
    ("uuid", "UUID"): lambda: _as_text("uuid", "UUID", _named("uuid", "UUID"), format="uuid"),
    ("decimal", "Decimal"): lambda: (
        {"anyOf": [{"type": "number"}, {"type": "string"}]},
        parsed("decimal", "decimal", _decimal),
    ),
    ("re", "Pattern"): lambda: _as_text("pattern", "regular expression", _pattern, format="regex"),
    ("builtins", "complex"): lambda: _as_text("complex", "complex number", complex),
    ("ipaddress", "IPv4Address"): lambda: _as_text(
        "ip_v4_address", "IPv4 address", _named("ipaddress", "IPv4Address"), format="ipv4"
    ),
    ("ipaddress", "IPv6Address"): lambda: _as_text(
        "ip_v6_address", "IPv6 address", _named("ipaddress", "IPv6Address"), format="ipv6"
    ),
}
