"""A small conversation loop, for tests of tools and providers; in a session Brynhild itself runs the loop."""
from __future__ import annotations

import abc as _abc

from brynhild._records import ABSENT, record
from brynhild.api.types import Tool as ApiTool
from brynhild.api.types import Usage
from brynhild.constants import DEFAULT_MAX_TOKENS, DEFAULT_MAX_TOOL_ROUNDS
from brynhild.core.types import ToolCallDisplay, ToolResultDisplay
from brynhild.tools._records import ToolResult

__all__ = ["ConversationCallbacks", "ConversationProcessor", "ConversationResult"]


class ConversationCallbacks(_abc.ABC):
    """The callbacks of a front end. Only `request_tool_permission` must be defined."""

    async def on_stream_start(self) -> None:
        """An answer begins."""

    async def on_stream_end(self) -> None:
        """An answer ends."""

    async def on_text_delta(self, text: str) -> None:
        """A piece of text."""

    async def on_thinking_delta(self, text: str) -> None:
        """A piece of reasoning."""

    async def on_tool_call(self, tool_call: ToolCallDisplay) -> None:
        """A call is about to run."""

    async def on_tool_result(self, result: ToolResultDisplay) -> None:
        """A call has run."""

    @_abc.abstractmethod
    async def request_tool_permission(self, tool_call: ToolCallDisplay) -> bool:
        """Return true if a call may run."""
        ...


@record(messages=list)
class ConversationResult:
    """The result of a conversation."""

    response_text: str
    stop_reason: str | None
    usage: Usage
    messages: list[dict]

    def __init__(
        self, response_text: str, stop_reason: str | None, usage: Usage, messages: list[dict] = ABSENT
    ) -> None:
        self.response_text = response_text
        self.stop_reason = stop_reason
        self.usage = usage
        self.messages = [] if messages is ABSENT else messages


class ConversationProcessor:
    """Sends requests to a provider and runs the tool calls of its answers, until an answer has none."""

    def __init__(
        self,
        provider,
        callbacks: ConversationCallbacks,
        tool_registry=None,
        *,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        max_tool_rounds: int = DEFAULT_MAX_TOOL_ROUNDS,
    ) -> None:
        self.provider = provider
        self.callbacks = callbacks
        self.tool_registry = tool_registry
        self._max_tokens = max_tokens
        self._max_rounds = max_tool_rounds

    async def process_streaming(self, messages: list[dict], system_prompt: str = "") -> ConversationResult:
        """Run the loop with streamed answers."""
        history = list(messages)
        answer = _Answer()
        for _ in range(self._max_rounds):
            answer = await self._ask(history, system_prompt)
            entry = {"role": "assistant", "content": answer.text}
            if answer.calls:
                entry["tool_calls"] = [call.to_tool_call_dict() for call in answer.calls]
            history.append(entry)
            if not answer.calls:
                break
            for call in answer.calls:
                history.append(await self._run(call))
        return ConversationResult(answer.text, answer.stop_reason, answer.usage, history)

    async def _ask(self, history, system_prompt):
        tools = None
        if self.tool_registry is not None and self.provider.supports_tools():
            listed = self.tool_registry.list_tools()
            tools = [ApiTool(tool.name, tool.description, tool.input_schema) for tool in listed]
        answer = _Answer()
        await self.callbacks.on_stream_start()
        events = self.provider.stream(
            messages=history, system=system_prompt, tools=tools, max_tokens=self._max_tokens
        )
        async for event in events:
            answer.take(event)
            if event.type == "text_delta" and event.text:
                await self.callbacks.on_text_delta(event.text)
            elif event.type == "thinking_delta" and event.thinking:
                await self.callbacks.on_thinking_delta(event.thinking)
        await self.callbacks.on_stream_end()
        return answer

    async def _run(self, call):
        shown = ToolCallDisplay(call.name, call.input, call.id)
        tool = self.tool_registry.get(call.name) if self.tool_registry is not None else None
        await self.callbacks.on_tool_call(shown)
        if tool is None:
            result = ToolResult(False, "", "Unknown tool: %s" % call.name)
        elif tool.requires_permission and not await self.callbacks.request_tool_permission(shown):
            result = ToolResult(False, "", "Permission denied by user")
        else:
            try:
                result = await tool.execute(call.input)
            except Exception as error:
                result = ToolResult(False, "", str(error))
        await self.callbacks.on_tool_result(ToolResultDisplay(call.name, result, call.id))
        content = result.output if result.success else result.error
        return {"role": "tool_result", "tool_use_id": call.id, "content": content, "is_error": not result.success}


class _Answer:
    def __init__(self):
        self.text = ""
        self.calls = []
        self.stop_reason = None
        self.usage = Usage()

    def take(self, event):
        if event.type == "error":
            raise RuntimeError(event.error or "the provider reported an error")
        if event.type == "text_delta":
            self.text += event.text or ""
        if event.tool_use is not None:
            self.calls.append(event.tool_use)
        self.stop_reason = event.stop_reason or self.stop_reason
        self.usage = event.usage or self.usage
