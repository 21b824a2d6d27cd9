"""The events of hooks, their input and their results."""
from __future__ import annotations

import enum as _enum

from brynhild._records import record

__all__ = ["HookAction", "HookContext", "HookEvent", "HookResult"]

_BLOCKABLE = ("pre_tool_use", "pre_message", "user_prompt_submit")
_UNCHANGEABLE = ("plugin_init", "plugin_shutdown", "session_start", "session_end", "error")


class HookEvent(str, _enum.Enum):
    """The events that hooks run at."""

    PLUGIN_INIT = "plugin_init"
    PLUGIN_SHUTDOWN = "plugin_shutdown"
    SESSION_START = "session_start"
    SESSION_END = "session_end"
    PRE_TOOL_USE = "pre_tool_use"
    POST_TOOL_USE = "post_tool_use"
    PRE_MESSAGE = "pre_message"
    POST_MESSAGE = "post_message"
    USER_PROMPT_SUBMIT = "user_prompt_submit"
    CONTEXT_BUILD = "context_build"
    PRE_COMPACT = "pre_compact"
    ERROR = "error"

    @property
    def can_block(self) -> bool:
        """True if a hook may block the step after the event."""
        return self.value in _BLOCKABLE

    @property
    def can_modify(self) -> bool:
        """True if a hook may change the data of the step after the event."""
        return self.value not in _UNCHANGEABLE


class HookAction(str, _enum.Enum):
    """The decision of a hook."""

    CONTINUE = "continue"
    BLOCK = "block"
    SKIP = "skip"


@record()
class HookResult:
    """The result of a hook."""

    action: HookAction = HookAction.CONTINUE
    message: str | None = None
    modified_input: dict | None = None
    modified_output: str | None = None
    modified_message: str | None = None
    modified_response: str | None = None
    inject_system_message: str | None = None
    context_injection: str | None = None
    context_location: str | None = None

    def __init__(
        self,
        action: HookAction = HookAction.CONTINUE,
        message: str | None = None,
        modified_input: dict | None = None,
        modified_output: str | None = None,
        modified_message: str | None = None,
        modified_response: str | None = None,
        inject_system_message: str | None = None,
        context_injection: str | None = None,
        context_location: str | None = None,
    ) -> None:
        self.action = action
        self.message = message
        self.modified_input = modified_input
        self.modified_output = modified_output
        self.modified_message = modified_message
        self.modified_response = modified_response
        self.inject_system_message = inject_system_message
        self.context_injection = context_injection
        self.context_location = context_location

    @classmethod
    def from_dict(cls, data: dict) -> HookResult:
        """A result from a hook's JSON. An unknown action counts as `continue`."""
        fields = {name: data[name] for name in cls.__match_args__ if name in data}
        try:
            fields["action"] = HookAction(fields.get("action") or "continue")
        except ValueError:
            fields["action"] = HookAction.CONTINUE
        return cls(**fields)

    def to_dict(self) -> dict:
        """The object as a dict of plain data."""
        data = {name: getattr(self, name) for name in self.__match_args__}
        data["action"] = HookAction(self.action).value
        return data


@record()
class HookContext:
    """The input of a hook."""

    event: HookEvent
    session_id: str
    cwd: str
    plugin_name: str | None = None
    plugin_path: str | None = None
    tool: str | None = None
    tool_input: dict | None = None
    tool_result: object | None = None
    tool_metrics: object | None = None
    session_metrics_summary: dict | None = None
    message: str | None = None
    response: str | None = None
    error: str | None = None
    error_type: str | None = None
    compaction_strategy: str | None = None
    base_system_prompt: str | None = None
    injections_so_far: list | None = None

    def __init__(self, event: HookEvent, session_id: str, cwd, **details) -> None:
        self.event = event
        self.session_id = session_id
        self.cwd = cwd
        for name in self.__match_args__[3:]:
            setattr(self, name, details.pop(name, None))
        if details:
            unknown = ", ".join(sorted(details))
            raise TypeError("HookContext got unexpected keyword arguments: %s" % unknown)

    def to_dict(self) -> dict:
        """The input of a script hook, without empty keys."""
        data = {}
        for name in self.__match_args__:
            value = getattr(self, name)
            if value is None:
                continue
            if hasattr(value, "to_dict"):
                value = value.to_dict()
            elif name in ("cwd", "plugin_path"):
                value = str(value)
            data[name] = getattr(value, "value", value)
        return data

    def to_env_vars(self) -> dict[str, str]:
        """The environment variables of a command hook."""
        import json

        result = self.to_dict().get("tool_result") or {}
        values = {
            "EVENT": getattr(self.event, "value", self.event),
            "SESSION_ID": self.session_id,
            "CWD": self.cwd,
            "PLUGIN_NAME": self.plugin_name,
            "PLUGIN_PATH": self.plugin_path,
            "TOOL_NAME": self.tool,
            "TOOL_INPUT": None if self.tool_input is None else json.dumps(self.tool_input),
            "TOOL_OUTPUT": result.get("output"),
            "TOOL_SUCCESS": str(bool(result["success"])).lower() if "success" in result else None,
            "MESSAGE": self.message,
            "RESPONSE": self.response,
            "ERROR": self.error,
            "ERROR_TYPE": self.error_type,
        }
        return {"BRYNHILD_" + name: str(value) for name, value in values.items() if value is not None}
