"""What `Annotated` and `Field` add to an annotation: limits, words for the model, a default."""
from brynhild._models import Fault
from brynhild_host.adapters.initrunner.forms import Form

_LIMITS = {
    "ge": ("minimum", "greater_than_equal", "greater than or equal to", lambda value, limit: value >= limit),
    "gt": ("exclusiveMinimum", "greater_than", "greater than", lambda value, limit: value > limit),
    "le": ("maximum", "less_than_equal", "less than or equal to", lambda value, limit: value <= limit),
    "lt": ("exclusiveMaximum", "less_than", "less than", lambda value, limit: value < limit),
    "multiple_of": ("multipleOf", "multiple_of", "a multiple of", lambda value, limit: value % limit == 0),
}


def applied(form, metadata):
    """A form with all that stands beside it."""
    for item in metadata:
        extra, checks = read(item)
        if extra or checks:
            form = _with(form, extra, checks)
    return form


def is_field(value):
    """Whether a value is what `Field(...)` gives, ours or the real one's."""
    return type(value).__name__ == "FieldInfo"


def read(item):
    """What one remark adds to a schema, and the checks that it asks for."""
    extra, checks = {}, []
    if is_field(item):
        for name in ("description", "examples"):
            if getattr(item, name, None) is not None:
                extra[name] = getattr(item, name)
        if isinstance(getattr(item, "json_schema_extra", None), dict):
            extra.update(item.json_schema_extra)
        for inner in getattr(item, "metadata", None) or ():
            more, further = read(inner)
            extra.update(more)
            checks.extend(further)
        return extra, checks
    if isinstance(getattr(item, "documentation", None), str):
        extra["description"] = item.documentation
    values = dict(getattr(item, "__dict__", None) or {})
    for name in tuple(_LIMITS) + ("min_length", "max_length", "pattern"):
        limit = values.get(name, getattr(item, name, None))
        if limit is None or callable(limit):
            continue
        if name in _LIMITS:
            extra[_LIMITS[name][0]] = limit
            checks.append(_bound(name, limit))
        else:
            extra[name] = getattr(limit, "pattern", limit)
            checks.append(_pattern(extra[name]) if name == "pattern" else _length(name, limit))
    return extra, checks


def untitled(schema):
    """A schema without the titles that only repeat names."""
    if isinstance(schema, list):
        return [untitled(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for key, value in schema.items():
        if key == "properties" and isinstance(value, dict):
            kept[key] = {name: _nameless(untitled(item)) for name, item in value.items()}
        else:
            kept[key] = untitled(value) if key not in ("default", "const", "enum", "examples") else value
    return kept


def _nameless(schema):
    if isinstance(schema, dict) and isinstance(schema.get("title"), str):
        schema = {key: value for key, value in schema.items() if key != "title"}
    return schema


def _with(form, extra, checks):
    is_list = form.schema.get("type") == "array"
    renamed = {"min_length": "minItems" if is_list else "minLength", "max_length": "maxItems" if is_list else "maxLength"}
    schema = dict(form.schema)
    schema.update((renamed.get(key, key), value) for key, value in extra.items())

    def convert(value):
        value = form.convert(value)
        for check in checks:
            check(value)
        return value

    return Form(schema, convert if checks else form.convert, form.fits, form.name, form.is_object)


def _bound(name, limit):
    _, kind, words, holds = _LIMITS[name]

    def check(value):
        if value is not None and not holds(value, limit):
            raise Fault(kind, "Input should be %s %s" % (words, limit), value)

    return check


def _length(name, limit):
    short = name == "min_length"

    def check(value):
        if value is None or (len(value) >= limit if short else len(value) <= limit):
            return
        words = "at least" if short else "at most"
        if isinstance(value, str):
            kind, noun = "string_too_short" if short else "string_too_long", "character"
            text = "String should have %s %d %s%s" % (words, limit, noun, "" if limit == 1 else "s")
        else:
            kind, noun = "too_short" if short else "too_long", "item"
            plural = "" if limit == 1 else "s"
            name = type(value).__name__.capitalize()
            text = "%s should have %s %d %s%s after validation, not %d" % (name, words, limit, noun, plural, len(value))
        raise Fault(kind, text, value)

    return check


def _pattern(pattern):
    def check(value):
        import re

        if value is not None and not re.search(pattern, value):
            raise Fault("string_pattern_mismatch", "String should match pattern '%s'" % pattern, value)

    return check
