"""What a docstring says: words on the whole, and words on each parameter.

Three styles are known: sections with a colon and indented entries, sections that are underlined, and fields between
colons. What follows the first section does not belong to the words on the whole.
"""
import re

_PARAMETERS = (
    "args",
    "arguments",
    "params",
    "parameters",
    "keyword args",
    "keyword arguments",
    "other args",
    "other arguments",
    "other params",
    "other parameters",
)
_OTHERS = (
    "attributes",
    "classes",
    "deprecated",
    "example",
    "examples",
    "exceptions",
    "functions",
    "methods",
    "modules",
    "note",
    "notes",
    "raises",
    "receives",
    "references",
    "return",
    "returns",
    "see also",
    "todo",
    "type parameters",
    "warning",
    "warnings",
    "warns",
    "yield",
    "yields",
)
_SECTIONS = frozenset(_PARAMETERS + _OTHERS)
_HEAD = re.compile(r"^([A-Za-z][A-Za-z ]*):\s*$")
_LINE = re.compile(r"^-{3,}\s*$")
_ENTRY = re.compile(r"^(\*{0,2}\w+)\s*(?:\((?:[^()]|\([^()]*\))*\))?\s*:(?:\s+(.*))?$")
_FIELD = re.compile(r"^:(\w+)((?:\s+[^:]+)?):(?:\s+(.*))?$")
_FIELDS = frozenset(
    "param parameter arg argument key keyword type var ivar cvar vartype return returns rtype raise raises except "
    "exception meta yield yields".split()
)
_NAMED = frozenset("param parameter arg argument key keyword".split())


def read(text):
    """The words on the whole, and those on each parameter by its name."""
    if not isinstance(text, str) or not text.strip():
        return "", {}
    lines = _even(text)
    for style in (_by_fields, _by_colons, _by_lines):
        found = style(lines)
        if found is not None:
            return found
    return "\n".join(lines).strip(), {}


def _even(text):
    """The lines without the indentation that they share; that of the first one says nothing."""
    lines = text.expandtabs().rstrip().split("\n")
    margins = [len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()]
    margin = min(margins) if margins else 0
    lines = [lines[0].strip()] + [line[margin:].rstrip() for line in lines[1:]]
    while lines and not lines[0]:
        lines.pop(0)
    return lines


def _by_fields(lines):
    described, begin, index = {}, None, 0
    while index < len(lines):
        found = _FIELD.match(lines[index])
        index += 1
        if found is None or found.group(1) not in _FIELDS:
            continue
        begin = index - 1 if begin is None else begin
        words = [found.group(3) or ""]
        while index < len(lines) and (lines[index].startswith(" ") or not lines[index]):
            words.append(lines[index].strip())
            index += 1
        names = found.group(2).split()
        if found.group(1) in _NAMED and names:
            described.setdefault(names[-1].lstrip("*"), "\n".join(words).strip())
    return None if begin is None else (_until(lines, begin), described)


def _by_colons(lines):
    described, begin = {}, None
    for index, line in enumerate(lines):
        found = _HEAD.match(line)
        if found is None or found.group(1).lower() not in _SECTIONS:
            continue
        block = _block(lines, index + 1)
        if not block:
            continue
        begin = index if begin is None else begin
        if found.group(1).lower() in _PARAMETERS:
            for name, words in _entries(block, _ENTRY):
                described.setdefault(name.lstrip("*"), words)
    return None if begin is None else (_until(lines, begin), described)


def _by_lines(lines):
    described, begin = {}, None
    heads = [
        index
        for index in range(len(lines) - 1)
        if lines[index].strip().lower() in _SECTIONS and _LINE.match(lines[index + 1])
    ]
    for index, following in zip(heads, heads[1:] + [len(lines)]):
        begin = index if begin is None else begin
        if lines[index].strip().lower() not in _PARAMETERS:
            continue
        name, words = None, []
        for line in lines[index + 2 : following] + ["end"]:
            if line.startswith(" ") or not line:
                words.append(line)
                continue
            for one in (name or "").split(","):
                if one.strip():
                    described.setdefault(one.strip().lstrip("*"), "\n".join(_even("\n".join([""] + words))).strip())
            name, words = line.partition(":")[0], []
    return None if begin is None else (_until(lines, begin), described)


def _block(lines, start):
    """The indented lines from here on, evened out; none where the next line is not indented."""
    if start >= len(lines) or not lines[start].startswith(" "):
        return []
    end = start
    while end < len(lines) and (lines[end].startswith(" ") or not lines[end]):
        end += 1
    return _even("\n".join([""] + lines[start:end]))


def _entries(block, pattern):
    """Names with the words that follow them, further lines included."""
    entries = []
    for line in block:
        found = None if line.startswith(" ") or not line else pattern.match(line)
        if found is not None:
            entries.append((found.group(1), [found.group(2) or ""]))
        elif entries:
            entries[-1][1].append(line)
    for name, words in entries:
        first, rest = words[0], _even("\n".join([""] + words[1:])) if len(words) > 1 else []
        yield name, "\n".join([first] + rest).strip()


def _until(lines, end):
    return "\n".join(lines[:end]).strip()
