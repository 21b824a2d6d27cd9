"""Hooks: functions of plugins that are called at events."""


class HookContext:
    """The input of a hook, which it may change."""

    def __init__(self, hook_type, runtime_state=None, config=None, session_data=None, **more):
        self.hook_type = hook_type
        self.runtime_state = {} if runtime_state is None else runtime_state
        self.config = {} if config is None else config
        self.session_data = {} if session_data is None else session_data
        self.cancelled = False
        self.cancel_reason = None
        self.__dict__.update(more)

    def cancel(self, reason=None):
        """Cancel the step that follows the event."""
        self.cancelled = True
        self.cancel_reason = reason


class ToolHookContext(HookContext):
    """The context of a tool call."""

    tool_name = tool_target = tool_args = tool_call = tool_result = None
    plugin_info = runtime_tool = execution_time = None

    def __init__(self, hook_type, **more):
        more.setdefault("validation_errors", [])
        super().__init__(hook_type, **more)


class ErrorHookContext(HookContext):
    """The context of a failure."""

    error = error_type = error_message = None


class ProtocolHookContext(HookContext):
    """The context of an answer of the model."""

    raw_message = parsed_turn = None


class MemoryHookContext(HookContext):
    """The context of a change of the history."""

    messages = token_estimate = None


class LoggingHookContext(HookContext):
    """The context of a line of the log."""

    log_event = log_message = log_level = None


class AgentHookContext(HookContext):
    """The context of the conversation."""

    messages = user_input = agent_response = None


class HookResult:
    """The result of a hook, or of all hooks of an event."""

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
    """The types of hooks for tool calls."""


class AgentHookTypes(HookTypes):
    """The types of hooks for the conversation."""


class ErrorHookTypes(HookTypes):
    """The types of hooks for failures."""


class ProtocolHookTypes(HookTypes):
    """The types of hooks for answers of the model."""


class MemoryHookTypes(HookTypes):
    """The types of hooks for the history."""


class LoggingHookTypes(HookTypes):
    """The types of hooks for the log."""


class SystemHookTypes(HookTypes):
    """The types of hooks for the program."""


class LLMHookTypes(HookTypes):
    """The types of hooks for requests to the model."""


class HookRegistry:
    """Hooks by type: the highest priority first, then in the order of registration."""

    def __init__(self):
        self._hooks = {}

    def register(self, hook_type, func, priority=0, **_):
        """Add a hook."""
        hooks = self._hooks.setdefault(str(hook_type), [])
        hooks.append((priority, func))
        hooks.sort(key=lambda hook: -hook[0])

    register_hook = register

    def unregister(self, hook_type, func):
        """Remove a hook; true if there was one."""
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
        """True if there is a hook of this type."""
        return bool(self._hooks.get(str(hook_type)))

    def types(self):
        """The types that have hooks."""
        return [type for type, hooks in self._hooks.items() if hooks]

    def execute(self, hook_type, context):
        """Call all hooks of a type. An exception of one is collected and does not stop the others."""
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
    """The hooks of this process."""
    return _registry


def entries_of(declared, module):
    """The hooks of a declaration: (type, function, priority). Raises ValueError where it is not a path."""
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
