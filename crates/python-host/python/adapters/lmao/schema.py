"""Makes a JSON Schema of what a manifest says of its arguments in words, as far as the words are clear."""
import json
import re

_TYPES = {
    "string": "string", "str": "string", "text": "string", "path": "string",
    "int": "integer", "integer": "integer",
    "number": "number", "float": "number", "num": "number",
    "bool": "boolean", "boolean": "boolean",
    "object": "object", "dict": "object", "map": "object", "json": "object",
    "array": "array", "list": "array",
    "null": "null", "none": "null",
}
_TARGET = "What the tool acts on, most often a path in the project; may be empty"
_META = "Further facts about the call; rarely needed"
_ENTRY = re.compile(r"""^["']?([A-Za-z_][\w\-]*)["']?(\?)?\s*["']?\s*(?::|=)?\s*(.*)$""", re.S)
_ARRAY = re.compile(r"^(?:(\w+)\s*\[\]|(?:list|array)\s*(?:\[|<|of\s+)\s*(\w+)\s*[\]>]?|\[\s*(\w*)\s*(?:,?\s*\.\.\.)?\s*\])", re.I)


def of_call(tool):
    """The schema of a whole call: target, args, meta."""
    text = (tool.input_schema or "").strip()
    properties = {
        "target": {"type": "string", "description": _TARGET},
        "args": {},
        "meta": {"type": "object", "description": _META},
    }
    found = _read(text) if text else None
    if found is not None and ("target" in found.get("properties", {}) or "args" in found.get("properties", {})):
        for key in ("target", "args"):
            if isinstance(found["properties"].get(key), dict):
                properties[key] = dict(properties[key], **found["properties"][key])
    elif found is not None:
        properties["args"] = dict(found)
    args = properties["args"]
    if args.get("type") == "object":
        # Plugins also take their arguments as one text, or none at all.
        args["type"] = ["object", "string", "null"]
    if text:
        args.setdefault("description", text)
    return {"type": "object", "properties": properties}


def _read(text):
    value = _json(text)
    if isinstance(value, dict):
        if isinstance(value.get("properties"), dict) and value.get("type", "object") == "object":
            return dict(value, type="object")
        return _of_example(value)
    plain = re.match(r"^(?:v\d\s+)?args?\s*[:=]\s*(string|str|text)\b[^{]*$", text, re.I)
    if plain:
        return {"type": "string"}
    groups = _groups(text)
    if len(groups) != 1:
        named = [group for group in groups if re.search(r"args?\s*[:=]?\s*$", text[: group[0]], re.I)]
        if len(named) != 1:
            return None
        groups = named
    start, end = groups[0]
    value = _json(text[start:end])
    return _of_example(value) if isinstance(value, dict) else _of_words(text[start + 1 : end - 1])


def _of_example(value):
    properties, required = {}, []
    for name, item in value.items():
        is_optional = name.endswith("?")
        words = item if isinstance(item, str) else None
        key = name.rstrip("?")
        properties[key] = _of_value(item)
        if words and not is_optional and re.search(r"\brequired\b", words):
            required.append(key)
    return _object(properties, required)


def _of_value(item):
    if isinstance(item, str):
        return _of_type(item)
    if isinstance(item, bool):
        return {"type": "boolean"}
    if isinstance(item, int):
        return {"type": "integer"}
    if isinstance(item, float):
        return {"type": "number"}
    if isinstance(item, list):
        return {"type": "array"}
    return _of_example(item) if isinstance(item, dict) else {}


def _of_words(text):
    properties, required = {}, []
    for entry in _split(text):
        entry = entry.strip()
        if entry in ("", "...", "\u2026"):
            continue
        if re.match(r"^(optional|required|default\b.*)$", entry, re.I) and properties:
            continue
        found = _ENTRY.match(entry)
        if found is None:
            return None
        name, mark, words = found.groups()
        if not words and entry.strip("\"'?") != name:
            return None
        properties[name] = _of_type(words)
        if not mark and re.search(r"\brequired\b", words):
            required.append(name)
    return _object(properties, required) if properties else None


def _of_type(words):
    words = words.strip()
    if words.startswith("{") and words.rstrip("?").endswith("}"):
        nested = _of_words(words.rstrip("?")[1:-1])
        return nested or {"type": "object"}
    array = _ARRAY.match(words.strip("\"'"))
    if array:
        inner = _TYPES.get(next((group for group in array.groups() if group), "").lower())
        return {"type": "array", "items": {"type": inner}} if inner else {"type": "array"}
    schema = {}
    head = re.split(r"\s*(?:\(|=|;|\s-\s|\s\u2014\s)", words, maxsplit=1)[0].strip().rstrip("?")
    options = [option.strip() for option in re.split(r"\||\bor\b", head)]
    kinds = [_TYPES.get(option.strip("\"'").split(" ")[0].lower()) if option else None for option in options]
    if all(kinds):
        kinds = list(dict.fromkeys(kinds))
        schema["type"] = kinds[0] if len(kinds) == 1 else kinds
    elif len(options) > 1 and all(re.match(r"^[\"']?[\w.\-]+[\"']?$", option) for option in options):
        literals = [option.strip("\"'") for option in options]
        schema = {"type": "boolean"} if set(literals) == {"true", "false"} else {"type": "string", "enum": literals}
    if words and words.strip("\"'").lower() not in _TYPES:
        schema["description"] = words.strip("\"'")
    return schema


def _object(properties, required):
    schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return schema


def _groups(text):
    """The outermost `{...}` of a text, as (start, end); none where they do not match up."""
    found, depth, start = [], 0, 0
    for index, character in enumerate(text):
        if character == "{":
            if depth == 0:
                start = index
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0:
                found.append((start, index + 1))
            if depth < 0:
                return []
    return found if depth == 0 else []


def _split(text):
    """The entries between commas that stand in no bracket and no quotes."""
    entries, depth, quote, last = [], 0, None, 0
    for index, character in enumerate(text):
        if quote:
            quote = None if character == quote else quote
        elif character in "\"'" and (character == '"' or not text[index - 1 : index].isalnum()):
            quote = character
        elif character in "{[(<":
            depth += 1
        elif character in "}])>":
            depth -= 1
        elif character in ",\n" and depth == 0:
            entries.append(text[last:index])
            last = index + 1
    entries.append(text[last:])
    return entries


def _json(text):
    try:
        return json.loads(text)
    except ValueError:
        return None
