"""Tool calls: their form, the tools of a mode, and calls of other tools."""
import json

from lmao.plugin_helpers import (
    normalize_path_for_output,
    normalize_task_text,
    parse_line_range,
    safe_target_path,
)

__all__ = [
    "ToolCall",
    "get_allowed_tools",
    "json_error",
    "json_success",
    "normalize_path_for_output",
    "normalize_task_text",
    "parse_line_range",
    "run_tool",
    "safe_target_path",
]

# The strictest mode that the host has set for the call that runs.
host_mode = "normal"
# Whether that call is one of a tool that says that it changes things, and was approved as such.
host_may_change = False


class ToolCall:
    """A call by the model."""

    def __init__(self, tool, target="", args=None, meta=None):
        self.tool = tool
        self.target = target
        self.args = args
        self.meta = meta

    def __repr__(self):
        return "ToolCall(tool=%r, target=%r, args=%r)" % (self.tool, self.target, self.args)


def json_success(tool, data, note=None):
    """The text of a successful call."""
    payload = {"tool": tool, "success": True, "data": data}
    if note:
        payload["note"] = note
    return json.dumps(payload, ensure_ascii=False)


def json_error(tool, error):
    """The text of a call that failed."""
    return json.dumps({"tool": tool, "success": False, "error": str(error)}, ensure_ascii=False)


def is_allowed(tool, mode):
    """True if a mode allows a tool."""
    if mode == "read-only":
        return tool.allow_in_read_only
    return mode == "yolo" or tool.allow_in_normal


def get_allowed_tools(read_only=False, yolo_enabled=False, plugins=None):
    """The sorted names of the tools that the model may call."""
    from lmao.plugins import get_discovered_tool_registry

    mode = _mode(read_only, yolo_enabled)
    plugins = get_discovered_tool_registry() if plugins is None else plugins
    tools = plugins.values() if isinstance(plugins, dict) else plugins
    return sorted(tool.name for tool in tools if tool.visible_to_agent and is_allowed(tool, mode))


def handle(tool, call, base, extra_roots=(), skill_roots=(), debug_logger=None):
    """Run a tool's function, and return its text or the text of its error."""
    try:
        result = tool.handler(call.target, call.args, base, extra_roots, skill_roots, debug_logger, call.meta)
    except Exception as error:
        return json_error(tool.name, "plugin '%s' failed: %s" % (tool.name, error))
    if not isinstance(result, str):
        return json_error(tool.name, "plugin handlers must return a JSON string")
    return result


def run_tool(
    tool_call, base, extra_roots=(), skill_roots=(), yolo_enabled=False, read_only=False, debug_logger=None, **_
):
    """Run another tool of the same process, in the mode of the current call or a stricter one."""
    from lmao.plugins import get_discovered_tool_registry

    name = tool_call.tool
    tool = get_discovered_tool_registry().get(name)
    if tool is None:
        return json_error(name, "tool '%s' not found" % name)
    mode = _mode(read_only, yolo_enabled)
    try:
        if mode != "yolo":
            safe_target_path(tool_call.target, base, extra_roots)
    except ValueError:
        return json_error(name, "target path '%s' escapes working directory" % tool_call.target)
    if not is_allowed(tool, mode):
        return json_error(name, "plugin '%s' is not allowed in %s mode" % (name, mode))
    if tool.is_destructive and not host_may_change and mode != "yolo":
        return json_error(name, "plugin '%s' changes things, and the call that runs was not approved for that" % name)
    if tool.always_confirm and mode != "yolo":
        return json_error(name, "plugin '%s' requires confirmation, which only the model's own calls can get" % name)
    return handle(tool, tool_call, base, extra_roots, skill_roots, debug_logger)


def _mode(read_only, yolo_enabled):
    if read_only or host_mode == "read-only":
        return "read-only"
    return "yolo" if yolo_enabled and host_mode == "yolo" else "normal"
