"""A reader for the YAML of manifests, hook files and frontmatter; no anchors, tags or several documents."""
from __future__ import annotations

import re as _re

_NUMBER = _re.compile(r"[-+]?(\d[\d_]*)?\.?\d+([eE][-+]?\d+)?\Z|[-+]?\d+\.\Z")
_KEY = _re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#'"\[\]{},][^#]*?|[^\s:#]+)\s*:(?:\s+(.*)|)\Z""")
_WORDS = {
    **dict.fromkeys(("true", "yes", "on"), True),
    **dict.fromkeys(("false", "no", "off"), False),
    **dict.fromkeys(("null", "~", ""), None),
}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", '"': '"', "\\": "\\", "/": "/", "e": "\x1b", " ": " "}


def load(text):
    """The value of the document; ValueError names the line it cannot read."""
    reader = _Reader(text)
    value = reader.block(0)
    if reader.line() is not None:
        reader.fail("unexpected indentation")
    return value


class _Reader:
    def __init__(self, text):
        self._lines = text.expandtabs(8).split("\n")
        self._at = 0

    def fail(self, why):
        raise ValueError("invalid YAML: line %d: %s" % (self._at + 1, why))

    def line(self):
        """(indentation, text) of the next line with content."""
        while self._at < len(self._lines):
            raw = self._lines[self._at].rstrip()
            text = raw.lstrip(" ")
            if text and not text.startswith("#") and raw not in ("---", "..."):
                return len(raw) - len(text), text
            self._at += 1
        return None

    def block(self, least):
        """The mapping, sequence or scalar that begins here, if it is indented enough."""
        found = self.line()
        if found is None or found[0] < least:
            return None
        indent, text = found
        if text == "-" or text.startswith("- "):
            return self._sequence(indent)
        if _KEY.match(_uncommented(text)):
            return self._mapping(indent)
        self._at += 1
        return self._flow(_uncommented(text), indent)

    def _sequence(self, indent):
        items = []
        while True:
            found = self.line()
            if found is None or found[0] != indent or not (found[1] == "-" or found[1].startswith("- ")):
                return items
            rest = found[1][1:].lstrip(" ")
            if not rest or rest.startswith("#"):
                self._at += 1
                items.append(self.block(indent + 1))
            elif _KEY.match(_uncommented(rest)) and not rest[0] in "{[":
                inner = len(self._lines[self._at].rstrip()) - len(rest)
                self._lines[self._at] = " " * inner + rest
                items.append(self._mapping(inner))
            else:
                self._at += 1
                items.append(self._value(rest, indent))

    def _mapping(self, indent):
        fields = {}
        while True:
            found = self.line()
            if found is None or found[0] < indent:
                return fields
            if found[0] > indent:
                self.fail("unexpected indentation")
            parts = _KEY.match(_uncommented(found[1]))
            if parts is None:
                if found[1].startswith("- "):
                    return fields
                self.fail("expected `key: value`")
            raw = _KEY.match(found[1])
            self._at += 1
            key = scalar(parts.group(1))
            fields[key] = self._value(((raw or parts).group(2) or "").strip(), indent)

    def _value(self, text, indent):
        bare = _uncommented(text)
        if bare[:1] in ("|", ">") and _re.match(r"[|>][-+]?\d?[-+]?\Z", bare):
            return self._literal(bare, indent)
        if bare:
            return self._flow(bare, indent)
        found = self.line()
        if found is not None and found[0] == indent and (found[1] == "-" or found[1].startswith("- ")):
            return self._sequence(indent)
        return self.block(indent + 1)

    def _literal(self, marker, indent):
        lines = []
        while self._at < len(self._lines):
            raw = self._lines[self._at]
            if raw.strip() and len(raw) - len(raw.lstrip(" ")) <= indent:
                break
            lines.append(raw)
            self._at += 1
        margin = min((len(raw) - len(raw.lstrip(" ")) for raw in lines if raw.strip()), default=0)
        text = "\n".join(raw[margin:].rstrip("\r") for raw in lines)
        stripped = text.rstrip("\n ")
        if marker[0] == ">":
            stripped = _re.sub(r"(?<!\n)\n(?!\n)", " ", stripped)
        return stripped if "-" in marker or not stripped else stripped + "\n"

    def _flow(self, text, indent):
        """A scalar or a flow collection, which may go on over more lines."""
        opened = text[0] in "[{" or (text[0] in "\"'" and not _closed(text))
        while (opened and not _balanced(text)) or (not opened and self._goes_on(indent)):
            found = self.line()
            if found is None:
                self.fail("the value does not end")
            self._at += 1
            text += " " + _uncommented(found[1])
        value, rest = _parse_flow(text)
        if rest.strip():
            return scalar(text)
        return value

    def _goes_on(self, indent):
        found = self.line()
        if found is None or found[0] <= indent:
            return False
        return not _KEY.match(_uncommented(found[1])) and not found[1].startswith("- ")


def scalar(text):
    """The value of a plain or quoted scalar."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if len(text) > 1 and text[0] == text[-1] == '"':
        return _re.sub(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", _escape, text[1:-1])
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _NUMBER.match(text):
        digits = text.replace("_", "")
        return float(digits) if any(mark in digits for mark in ".eE") else int(digits)
    return text


def _escape(found):
    mark = found.group(1)
    return chr(int(mark[1:], 16)) if mark[0] in "ux" and len(mark) > 1 else _ESCAPES.get(mark, mark)


def _uncommented(text):
    quote = None
    for index, mark in enumerate(text):
        if quote:
            quote = None if mark == quote and text[index - 1] != "\\" else quote
        elif mark in "\"'" and (index == 0 or text[index - 1] in " [{,:"):
            quote = mark
        elif mark == "#" and (index == 0 or text[index - 1] == " "):
            return text[:index].rstrip()
    return text.rstrip()


def _closed(text):
    return len(text) > 1 and text[-1] == text[0] and (text[-2] != "\\" or text[0] == "'")


def _balanced(text):
    if text[0] in "\"'":
        return _closed(text)
    bare = _re.sub(r""""(?:[^"\\]|\\.)*"|'[^']*'""", "", text)
    return sum(bare.count(mark) for mark in "[{") <= sum(bare.count(mark) for mark in "]}")


def _parse_flow(text):
    text = text.lstrip()
    if text.startswith("["):
        return _parse_items(text[1:], "]", [])
    if text.startswith("{"):
        return _parse_items(text[1:], "}", {})
    found = _re.match(r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'""", text)
    if found:
        return scalar(found.group()), text[found.end() :]
    return scalar(text), ""


def _parse_items(text, end, into):
    while True:
        text = text.lstrip(" ,")
        if not text:
            raise ValueError("invalid YAML: a `%s` is missing" % end)
        if text[0] == end:
            return into, text[1:]
        key = None
        if isinstance(into, dict):
            found = _re.match(r"""("(?:[^"\\]|\\.)*"|'[^']*'|[^,:{}\[\]]+?)\s*:\s*|([^,:{}\[\]]+)""", text)
            if found is None:
                raise ValueError("invalid YAML: expected `key: value` at %.20r" % text)
            key = scalar(found.group(1) or found.group(2))
            text = text[found.end() :]
        value, text = _parse_item(text, end)
        if isinstance(into, dict):
            into[key] = value
        else:
            into.append(value)


def _parse_item(text, end):
    if text[:1] and text[0] in "[{\"'":
        return _parse_flow(text)
    found = _re.match(r"[^,%s]*" % _re.escape(end), text)
    return scalar(found.group()), text[found.end() :]
