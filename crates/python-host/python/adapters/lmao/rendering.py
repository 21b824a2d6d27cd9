"""What the model reads of a tool: its description, details, arguments and examples."""
import ast
import json


def description(tool):
    """The description with everything that helps to call the tool."""
    parts = [tool.description]
    parts.extend(tool.details)
    if tool.input_schema and tool.input_schema.strip():
        parts.append("Input: " + tool.input_schema.strip())
    return "\n".join(parts)


def examples(tool):
    """The examples as the arguments of a call."""
    return [_example(text) for text in tool.usage_examples]


def _example(text):
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(text)
            break
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            value = None
    if isinstance(value, dict) and isinstance(value.get("call"), dict):
        value = value["call"]
    if not isinstance(value, dict):
        return text
    known = {key: value[key] for key in ("target", "args", "meta") if key in value}
    try:
        return json.dumps(known or value, ensure_ascii=False)
    except (TypeError, ValueError):
        return text
