"""Hooks: functions of plugins that are asked at named moments, and what they say."""


class HookContext:
    """What a hook is told, and may change."""

    def __init__(self, hook_type, runtime_state=None, config=None, session_data=None, **more):
        self.hook_type = hook_type
        self.runtime_state = {} if runtime_state is None else runtime_state
        self.config = {} if config is None else config
        self.session_data = {} if session_data is None else session_data
        self.cancelled = False
        self.cancel_reason = None
        self.__dict__.update(more)

    def cancel(self, reason=None):
        """Have what is about to happen not happen."""
        self.cancelled = True
        self.cancel_reason = reason


class ToolHookContext(HookContext):
    """About a tool call."""

    tool_name = tool_target = tool_args = tool_call = tool_result = None
    plugin_info = runtime_tool = execution_time = None

    def __init__(self, hook_type, **more):
        more.setdefault("validation_errors", [])
        super().__init__(hook_type, **more)


class ErrorHookContext(HookContext):
    """About something that failed."""

    error = error_type = error_message = None


class ProtocolHookContext(HookContext):
    """About what the model said."""

    raw_message = parsed_turn = None


class MemoryHookContext(HookContext):
    """About the history."""

    messages = token_estimate = None


class LoggingHookContext(HookContext):
    """About a line of the log."""

    log_event = log_message = log_level = None


class AgentHookContext(HookContext):
    """About the conversation."""

    messages = user_input = agent_response = None


class HookResult:
    """What a hook, or all of one moment, decided."""

    def __init__(
        self, success=True, data=None, errors=None, modified_context=None, should_cancel=False, should_skip=False
    ):
        self.success = success
        self.data = {} if data is None else data
        self.errors = [] if errors is None else errors
        self.modified_context = modified_context
        self.should_cancel = should_cancel
        self.should_skip = should_skip


class _Names(type):
    """A class whose upper-case names are the types of hooks in lower case."""

    def __getattr__(cls, name):
        if name.isupper() and not name.startswith("_"):
            return name.lower()
        raise AttributeError(name)


class HookTypes(metaclass=_Names):
    """All types of hooks."""


class ToolHookTypes(HookTypes):
    """Those about tool calls."""


class AgentHookTypes(HookTypes):
    """Those about the conversation."""


class ErrorHookTypes(HookTypes):
    """Those about failures."""


class ProtocolHookTypes(HookTypes):
    """Those about what the model said."""


class MemoryHookTypes(HookTypes):
    """Those about the history."""


class LoggingHookTypes(HookTypes):
    """Those about the log."""


class SystemHookTypes(HookTypes):
    """Those about the program."""


class LLMHookTypes(HookTypes):
    """Those about requests to the model."""


class HookRegistry:
    """Hooks by type: higher priority first, then in the order in which they came."""

    def __init__(self):
        self._hooks = {}

    def register(self, hook_type, func, priority=0, **_):
        """Add a hook."""
        hooks = self._hooks.setdefault(str(hook_type), [])
        hooks.append((priority, func))
        hooks.sort(key=lambda hook: -hook[0])

    register_hook = register

    def unregister(self, hook_type, func):
        """Remove a hook; whether it was there."""
        hooks = self._hooks.get(str(hook_type), [])
        left = [hook for hook in hooks if hook[1] is not func]
        self._hooks[str(hook_type)] = left
        return len(left) < len(hooks)

    unregister_hook = unregister

    def clear(self):
        """Remove all hooks."""
        self._hooks.clear()

    def get_hooks(self, hook_type):
        """The functions of a type, in their order."""
        return [func for _, func in self._hooks.get(str(hook_type), [])]

    def has_hooks(self, hook_type):
        """Whether there is a hook of a type."""
        return bool(self._hooks.get(str(hook_type)))

    def types(self):
        """The types for which there are hooks."""
        return [type for type, hooks in self._hooks.items() if hooks]

    def execute(self, hook_type, context):
        """Ask all hooks of a type; what one raises is collected and stops nothing."""
        whole = HookResult()
        for func in self.get_hooks(hook_type):
            try:
                said = func(context)
            except Exception as error:
                whole.success = False
                whole.errors.append("%s: %s" % (getattr(func, "__name__", func), error))
                continue
            context = _take(whole, said, context)
            if context.cancelled:
                whole.should_cancel = True
            if whole.should_cancel or whole.should_skip:
                break
        whole.modified_context = context
        return whole

    execute_hooks = execute


def _take(whole, said, context):
    if isinstance(said, HookResult):
        whole.success = whole.success and said.success
        whole.data.update(said.data if isinstance(said.data, dict) else {})
        whole.errors.extend(said.errors or ())
        whole.should_cancel = whole.should_cancel or said.should_cancel
        whole.should_skip = whole.should_skip or said.should_skip
        return said.modified_context or context
    if isinstance(said, HookContext):
        return said
    if isinstance(said, dict):
        whole.data.update(said)
    return context


_registry = HookRegistry()


def get_global_hook_registry():
    """The hooks of this worker."""
    return _registry


def entries_of(declared, module):
    """The hooks of a declaration: (type, function, priority). Raises ValueError where it makes no sense."""
    if declared is None:
        return []
    if not isinstance(declared, dict):
        raise ValueError("hooks are declared as a dict of types")
    found = []
    for type, entries in declared.items():
        for entry in entries if isinstance(entries, (list, tuple)) else [entries]:
            function, priority = entry, 0
            if isinstance(entry, dict):
                function = entry.get("name") or entry.get("func") or entry.get("callable")
                priority = entry.get("priority", 0)
            if isinstance(function, str):
                name, function = function, getattr(module, function, None)
                if not callable(function):
                    raise ValueError("the hook `%s` names a function `%s`, which is not there" % (type, name))
            if not callable(function):
                raise ValueError("the hook `%s` names no function" % (type,))
            if isinstance(priority, bool) or not isinstance(priority, (int, float)):
                raise ValueError("the priority of the hook `%s` is %r, not a number" % (type, priority))
            found.append((str(type), function, priority))
    return found
