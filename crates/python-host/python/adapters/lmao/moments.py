"""Which types of hooks are asked at which moment of a conversation, in which order, and what their answers mean."""

BEFORE_TOOL = ("pre_agent_action", "pre_tool_validation", "pre_path_safety_check", "on_tool_start", "pre_tool_execution")
AFTER_TOOL = ("post_tool_execution", "post_result_transform")
AFTER_SUCCESS = ("on_tool_success", "post_agent_action")
AFTER_FAILURE = ("on_tool_error", "on_tool_execution_error", "post_agent_action")
BEFORE_SEND = ("on_memory_estimate", "pre_agent_think", "on_llm_request")
AFTER_REPLY = ("on_llm_response", "post_agent_think", "pre_assistant_turn_parsing", "post_assistant_turn_parsing")
STARTED = ("on_system_startup", "agent_startup", "on_session_start")
ENDED = ("on_session_end", "agent_shutdown", "on_system_shutdown")
FAILED = ("on_agent_error", "on_llm_error")
INVALID = ("on_tool_validation_error",)
DENIED = ("on_tool_permission_error",)
UNREADABLE = ("on_protocol_error", "on_protocol_parse_error")
COMPACTED = ("memory_compact_end",)
BEFORE_COMPACT = ("memory_compact_start",)
# Asked in the worker itself, whenever a plugin writes to the log.
LOGGING = ("on_log_message", "pre_log_write", "post_log_write")

MOMENTS = {
    "before_tool": BEFORE_TOOL,
    "after_tool": AFTER_TOOL + AFTER_SUCCESS + AFTER_FAILURE,
    "before_send": BEFORE_SEND,
    "after_reply": AFTER_REPLY,
    "occasion": STARTED + ENDED + FAILED + INVALID + DENIED + UNREADABLE + COMPACTED,
    "before_compact": BEFORE_COMPACT,
}
# Types that LMAO asks and no moment does, with the reason.
UNASKED = {
    "on_memory_compact_error": "hooks are not asked about a compaction that fails",
    "pre_permission_check": "LMAO asks it about its own tools, which are others here",
}
# The reason for all other types.
UNUSED = "LMAO does not ask it either"
# Where the arguments of tools of other kinds say what they act on.
_TARGETS = ("target", "path", "file_path")


def of_types(types):
    """The moments at which these types of hooks are asked."""
    return [moment for moment, asked in MOMENTS.items() if any(type in asked for type in types)]


def unheard(types):
    """Those types that no moment asks, with the reason."""
    heard = {type for asked in MOMENTS.values() for type in asked}.union(LOGGING)
    return ["%s (%s)" % (type, UNASKED.get(type, UNUSED)) for type in sorted(types) if type not in heard]


def ask(adapter, moment, params, tool):
    """Ask the hooks of a moment; the answer has only what they decided."""
    serve = {
        "before_tool": _before_tool,
        "after_tool": _after_tool,
        "before_send": _before_send,
        "after_reply": _after_reply,
        "occasion": _occasion,
        "before_compact": _before_compact,
    }[moment]
    return serve(_Asking(adapter, params), params, tool)


class _Asking:
    """Asks types of hooks one after the other with contexts of one kind."""

    def __init__(self, adapter, params):
        self.adapter = adapter
        mode = params.get("mode")
        self.state = {
            "base": adapter.base,
            "extra_roots": adapter.extra_roots,
            "skill_roots": adapter.skill_roots,
            "yolo_enabled": mode == "yolo",
            "read_only": mode == "read-only",
        }

    def ask(self, type, kind, **facts):
        """What the hooks of a type say; nothing where there are none."""
        from lmao import hooks

        registry = hooks.get_global_hook_registry()
        if not registry.has_hooks(type):
            return None
        context = getattr(hooks, kind)(type, runtime_state=dict(self.state), **facts)
        result = registry.execute(type, context)
        for error in result.errors:
            self.adapter.warn("hook %s: %s" % (type, error))
        return result


def _before_tool(asking, params, tool):
    name, given = params.get("tool"), params.get("args")
    given = given if isinstance(given, dict) else {}
    place, target, args = _parts(given, tool)
    changed = False
    for type in BEFORE_TOOL:
        said = asking.ask(type, "ToolHookContext", **_call_facts(asking, name, target, args, given, tool))
        if said is None:
            continue
        context = said.modified_context
        if said.should_cancel:
            reason = getattr(context, "cancel_reason", None)
            text = "tool execution cancelled by hook"
            return {"block": "%s: %s" % (text, reason) if reason else text}
        if said.should_skip:
            result = said.data.get("result")
            return {"answer": result if isinstance(result, str) else "tool execution skipped by hook"}
        if getattr(context, "tool_name", name) not in (name, None):
            return {"block": "a hook wants to run `%s` in place of `%s`, which is not done" % (context.tool_name, name)}
        wanted = getattr(context, "tool_target", target), getattr(context, "tool_args", args)
        if place is not None and isinstance(wanted[0], str) and wanted[0] != target:
            target, changed = wanted[0], True
        if wanted[1] is not None and wanted[1] != args:
            args, changed = wanted[1], True
    return {"rewrite": _joined(given, place, target, args, tool)} if changed else {}


def _after_tool(asking, params, tool):
    name, given = params.get("tool"), params.get("args")
    given = given if isinstance(given, dict) else {}
    _, target, args = _parts(given, tool)
    first = result = params.get("output")
    rest = AFTER_SUCCESS if params.get("success") else AFTER_FAILURE
    for type in AFTER_TOOL + rest:
        facts = _call_facts(asking, name, target, args, given, tool)
        said = asking.ask(
            type, "ToolHookContext", tool_result=result, execution_time=params.get("seconds"), **facts
        )
        replaced = getattr(said.modified_context, "tool_result", None) if said is not None else None
        if type in AFTER_TOOL and isinstance(replaced, str):
            result = replaced
    return {"replace": result} if result != first else {}


def _before_send(asking, params, tool):
    for type in BEFORE_SEND:
        if type == "on_memory_estimate":
            asking.ask(type, "MemoryHookContext", message_count=params.get("messages"))
        else:
            asking.ask(type, "AgentHookContext", system_prompt=params.get("system"))
    return {}


def _after_reply(asking, params, tool):
    first = text = params.get("reply")
    for type in AFTER_REPLY:
        said = asking.ask(
            type, "ProtocolHookContext", raw_message=text, agent_response=text, user_input=params.get("prompt")
        )
        replaced = getattr(said.modified_context, "raw_message", None) if said is not None else None
        if type == "pre_assistant_turn_parsing" and isinstance(replaced, str):
            text = replaced
    return {"replace": text} if text != first else {}


def _occasion(asking, params, tool):
    occasion = params.get("occasion")
    if occasion in ("invalid", "denied"):
        return _refused(asking, params, tool)
    if occasion == "compacted":
        for type in COMPACTED:
            asking.ask(type, "MemoryHookContext", dropped=params.get("dropped"), message_count=params.get("kept"))
        return {}
    for type in {"started": STARTED, "ended": ENDED, "failed": FAILED}[occasion]:
        facts = {}
        if occasion == "failed":
            facts = {"error": params.get("error"), "error_message": params.get("error"), "error_type": params.get("kind")}
        asking.ask(type, "ErrorHookContext" if facts else "AgentHookContext", **facts)
    return {}


def _refused(asking, params, tool):
    name, given = params.get("tool"), params.get("args")
    if isinstance(given, str):
        # Arguments that are no JSON stay the text that the model wrote.
        for type in UNREADABLE:
            asking.ask(type, "ProtocolHookContext", raw_message=given, error=params.get("error"))
    given = given if isinstance(given, dict) else {}
    _, target, args = _parts(given, tool)
    for type in INVALID if params.get("occasion") == "invalid" else DENIED:
        facts = _call_facts(asking, name, target, args, given, tool)
        asking.ask(type, "ToolHookContext", validation_errors=[params.get("error")], **facts)
    return {}


def _before_compact(asking, params, tool):
    for type in BEFORE_COMPACT:
        asking.ask(type, "MemoryHookContext", strategy=params.get("strategy"))
    return {}


def _call_facts(asking, name, target, args, given, tool):
    from lmao.tools import ToolCall

    call = ToolCall(name, target, args, given.get("meta") if tool is not None else None)
    asking.state["tool_call"] = call
    info = None
    if tool is not None:
        info = {"name": tool.name, "path": str(tool.path), "is_destructive": tool.is_destructive}
    return {"tool_name": name, "tool_target": target, "tool_args": args, "tool_call": call, "plugin_info": info}


def _parts(given, tool):
    """Where the target stands, the target, and the arguments."""
    if tool is not None:
        target = given.get("target")
        return "target", target if isinstance(target, str) else "", given.get("args")
    for key in _TARGETS:
        if isinstance(given.get(key), str):
            return key, given[key], {name: value for name, value in given.items() if name != key}
    return None, "", given


def _joined(given, place, target, args, tool):
    if tool is not None:
        return dict(given, target=target, args=args)
    joined = dict(args) if isinstance(args, dict) else dict(given)
    if place is not None:
        joined[place] = target
    return joined
