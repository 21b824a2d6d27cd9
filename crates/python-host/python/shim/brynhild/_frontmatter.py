"""Markdown with a YAML head, and YAML files. Uses PyYAML where it is installed, else reads the common subset."""
from __future__ import annotations

import re as _re

_HEAD = _re.compile(r"\A---[ \t]*\r?\n(.*?)\r?\n---(.*)\Z", _re.DOTALL)


def split(content):
    """(head text, body) of a document; ValueError when it has no head."""
    found = _HEAD.match(content)
    if found is None or not found.group(1).strip():
        raise ValueError("no YAML frontmatter: the file must begin with a line `---` and have another after it")
    return found.group(1), found.group(2).strip()


def read(content):
    """(head as a dict, body) of a document."""
    head, body = split(content)
    fields = load_yaml(head)
    if not isinstance(fields, dict):
        raise ValueError("the frontmatter must be a YAML mapping")
    return fields, body


def load_yaml(text):
    """The value of a YAML document."""
    try:
        import yaml
    except ImportError:
        from brynhild import _yaml

        return _yaml.load(text)
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError("invalid YAML: %s" % error) from error
