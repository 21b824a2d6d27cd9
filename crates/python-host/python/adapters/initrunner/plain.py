"""Values of Python as plain JSON, and as the text that a model reads."""
import enum

_DEEPEST = 100


class Unsayable(TypeError):
    """A value that JSON has no word for."""


def plain(value, depth=0):
    """A copy of a value that JSON can express."""
    if isinstance(value, enum.Enum):
        value = value.value
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else None
    if depth > _DEEPEST:
        raise Unsayable("it is nested too deeply")
    if isinstance(value, dict):
        return {_key(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, tuple) or isinstance(value, (list, set, frozenset)):
        return [plain(item, depth + 1) for item in value]
    return _special(value, depth + 1)


def text(value):
    """What the model reads of a result: a text as it is, nothing for None, else compact JSON."""
    if isinstance(value, str):
        return str(value)
    if value is None:
        return ""
    import json

    content = getattr(value, "return_value", value) if type(value).__name__ == "ToolReturn" else value
    if content is not value:
        return text(content)
    return json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"))


def _key(key):
    if isinstance(key, enum.Enum):
        key = key.value
    if key is None or isinstance(key, bool):
        return {None: "None", True: "true", False: "false"}[key]
    return key if isinstance(key, str) else str(key)


def _special(value, depth):
    if isinstance(value, (bytes, bytearray, memoryview)):
        import base64

        return base64.urlsafe_b64encode(bytes(value)).decode()
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        try:
            return dump(mode="json")
        except TypeError:
            return plain(dump(), depth)
    if hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        return {name: plain(getattr(value, name), depth) for name in value.__dataclass_fields__}
    kind = type(value)
    if kind.__module__ == "datetime" or hasattr(value, "isoformat"):
        return _time(value)
    if hasattr(value, "__fspath__"):
        return str(value)
    if kind.__module__ in ("uuid", "decimal", "_decimal", "ipaddress", "fractions"):
        return str(value)
    if kind.__module__ == "re" and hasattr(value, "pattern"):
        return value.pattern
    if isinstance(value, BaseException):
        return str(value)
    if hasattr(value, "__iter__") and hasattr(value, "__next__") or kind.__name__ in ("deque", "dict_keys", "dict_values"):
        return [plain(item, depth) for item in value]
    if hasattr(value, "keys") and hasattr(value, "__getitem__"):
        return {_key(key): plain(value[key], depth) for key in value.keys()}
    raise Unsayable("Unable to serialize unknown type: %r" % kind)


def _time(value):
    if not hasattr(value, "total_seconds"):
        written = value.isoformat()
        return written[:-6] + "Z" if written.endswith("+00:00") else written
    seconds = value.total_seconds()
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    days, rest = divmod(seconds, 86400)
    parts = "%dD" % days if days else ""
    number = "%g" % rest if rest != int(rest) else "%d" % rest
    return "%sP%sT%sS" % (sign, parts, number) if rest or not parts else "%sP%s" % (sign, parts)
