"""The messages and tools that a provider gets, and the answers that it returns."""
from __future__ import annotations

from brynhild._records import ABSENT, record

__all__ = [
    "CompletionResponse",
    "ContentBlock",
    "Message",
    "StreamEvent",
    "Tool",
    "ToolResult",
    "ToolUse",
    "Usage",
    "UsageDetails",
]


@record()
class UsageDetails:
    """Details of usage that some providers report."""

    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    cost: float | None = None
    prompt_cost: float | None = None
    completion_cost: float | None = None
    provider: str | None = None
    generation_id: str | None = None

    def __init__(
        self,
        reasoning_tokens: int | None = None,
        cached_tokens: int | None = None,
        cost: float | None = None,
        prompt_cost: float | None = None,
        completion_cost: float | None = None,
        provider: str | None = None,
        generation_id: str | None = None,
    ) -> None:
        self.reasoning_tokens = reasoning_tokens
        self.cached_tokens = cached_tokens
        self.cost = cost
        self.prompt_cost = prompt_cost
        self.completion_cost = completion_cost
        self.provider = provider
        self.generation_id = generation_id


@record()
class Usage:
    """Token counts of one answer."""

    input_tokens: int = 0
    output_tokens: int = 0
    details: UsageDetails | None = None

    def __init__(self, input_tokens: int = 0, output_tokens: int = 0, details: UsageDetails | None = None) -> None:
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens
        self.details = details

    @property
    def total_tokens(self) -> int:
        """The input tokens and the output tokens together."""
        return self.input_tokens + self.output_tokens

    @property
    def cost(self) -> float | None:
        """The cost, if the provider reported it."""
        return self.details.cost if self.details else None

    @property
    def reasoning_tokens(self) -> int | None:
        """The reasoning tokens, if the provider reported them."""
        return self.details.reasoning_tokens if self.details else None


@record()
class ToolUse:
    """A tool call in an answer of the model."""

    id: str
    name: str
    input: dict

    def __init__(self, id: str, name: str, input: dict) -> None:
        self.id = id
        self.name = name
        self.input = input

    def to_tool_call_dict(self) -> dict:
        """The call in the format of the history."""
        import json

        function = {"name": self.name, "arguments": json.dumps(self.input)}
        return {"id": self.id, "type": "function", "function": function}


@record()
class ToolResult:
    """The result of a tool call, for the model."""

    tool_use_id: str
    content: str
    is_error: bool = False

    def __init__(self, tool_use_id: str, content: str, is_error: bool = False) -> None:
        self.tool_use_id = tool_use_id
        self.content = content
        self.is_error = is_error


@record()
class StreamEvent:
    """One event of a streamed answer."""

    type: str
    text: str | None = None
    thinking: str | None = None
    tool_use: ToolUse | None = None
    tool_input_delta: str | None = None
    usage: Usage | None = None
    error: str | None = None
    message_id: str | None = None
    stop_reason: str | None = None

    def __init__(
        self,
        type: str,
        text: str | None = None,
        thinking: str | None = None,
        tool_use: ToolUse | None = None,
        tool_input_delta: str | None = None,
        usage: Usage | None = None,
        error: str | None = None,
        message_id: str | None = None,
        stop_reason: str | None = None,
    ) -> None:
        self.type = type
        self.text = text
        self.thinking = thinking
        self.tool_use = tool_use
        self.tool_input_delta = tool_input_delta
        self.usage = usage
        self.error = error
        self.message_id = message_id
        self.stop_reason = stop_reason


@record()
class Message:
    """One message of a conversation."""

    role: str
    content: str

    def __init__(self, role: str, content: str) -> None:
        self.role = role
        self.content = content


@record()
class ContentBlock:
    """One part of a message that has several."""

    type: str
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: dict | None = None
    tool_use_id: str | None = None
    content: str | None = None
    is_error: bool | None = None

    def __init__(
        self,
        type: str,
        text: str | None = None,
        id: str | None = None,
        name: str | None = None,
        input: dict | None = None,
        tool_use_id: str | None = None,
        content: str | None = None,
        is_error: bool | None = None,
    ) -> None:
        self.type = type
        self.text = text
        self.id = id
        self.name = name
        self.input = input
        self.tool_use_id = tool_use_id
        self.content = content
        self.is_error = is_error


@record()
class Tool:
    """The description of a tool for a provider."""

    name: str
    description: str
    input_schema: dict

    def __init__(self, name: str, description: str, input_schema: dict) -> None:
        self.name = name
        self.description = description
        self.input_schema = input_schema

    def to_anthropic_format(self) -> dict:
        """The tool in the format of Anthropic's API."""
        return {"name": self.name, "description": self.description, "input_schema": self.input_schema}

    def to_openai_format(self) -> dict:
        """The tool in the format of OpenAI's API."""
        function = {"name": self.name, "description": self.description, "parameters": self.input_schema}
        return {"type": "function", "function": function}


@record(tool_uses=list)
class CompletionResponse:
    """A whole answer."""

    id: str
    content: str
    stop_reason: str | None
    usage: Usage
    tool_uses: list[ToolUse]
    thinking: str | None = None

    def __init__(
        self,
        id: str,
        content: str,
        stop_reason: str | None,
        usage: Usage,
        tool_uses: list[ToolUse] = ABSENT,
        thinking: str | None = None,
    ) -> None:
        self.id = id
        self.content = content
        self.stop_reason = stop_reason
        self.usage = usage
        self.tool_uses = [] if tool_uses is ABSENT else tool_uses
        self.thinking = thinking

    @property
    def has_tool_use(self) -> bool:
        """True if the answer contains a tool call."""
        return bool(self.tool_uses)
