"""The conditions of hooks."""
from __future__ import annotations

import fnmatch as _fnmatch
import re as _re

__all__ = ["get_nested_value", "match_patterns", "match_value", "matches"]

_SPECIAL = frozenset("^$+()|\\[]")
_MISSING = object()


def matches(conditions: dict, context: dict) -> bool:
    """True if all conditions match. Keys may be dotted paths, values nested conditions."""
    return all(_holds(pattern, _look_up(context, key)) for key, pattern in conditions.items())


match_patterns = matches


def get_nested_value(data: dict, path: str):
    """The value at a dotted path, or None."""
    value = _look_up(data, path)
    return None if value is _MISSING else value


def match_value(pattern, value) -> bool:
    """True if a value matches a pattern. A list of patterns matches if one of them does."""
    if isinstance(pattern, (list, tuple)):
        return any(match_value(item, value) for item in pattern)
    if isinstance(pattern, dict):
        return isinstance(value, dict) and matches(pattern, value)
    if isinstance(pattern, bool) or isinstance(value, bool):
        return pattern is value
    if isinstance(pattern, str) and isinstance(value, str):
        return _match_text(pattern, value)
    return pattern == value or str(pattern) == str(value)


def _holds(pattern, value):
    return value is not _MISSING and value is not None and match_value(pattern, value)


def _match_text(pattern, value):
    if _SPECIAL & set(pattern):
        try:
            return _re.search(pattern, value) is not None
        except _re.error:
            pass
    if "*" in pattern or "?" in pattern:
        return _fnmatch.fnmatchcase(value, pattern)
    return pattern == value


def _look_up(data, path):
    if isinstance(data, dict) and path in data:
        return data[path]
    head, dot, rest = path.partition(".")
    if dot and isinstance(data, dict) and head in data:
        return _look_up(data[head], rest)
    return _MISSING
