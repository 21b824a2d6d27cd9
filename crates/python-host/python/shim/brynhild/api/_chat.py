"""The chat-completions format, as OpenRouter and Ollama speak it."""
from __future__ import annotations

import json as _json

from brynhild.api.types import CompletionResponse, StreamEvent, ToolUse, Usage, UsageDetails

_STOP = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}


def to_messages(messages: list[dict], system: str | None) -> list[dict]:
    """Brynhild's messages as the format has them."""
    converted = [{"role": "system", "content": system}] if system else []
    for message in messages:
        if message.get("role") == "tool_result":
            content = message.get("content")
            entry = {"role": "tool", "tool_call_id": message.get("tool_use_id"), "content": content or ""}
            converted.append(entry)
        elif isinstance(message.get("content"), list):
            converted.extend(_from_blocks(message))
        else:
            converted.append(dict(message))
    return converted


def to_body(model, messages, system, tools, max_tokens, stream) -> dict:
    """The body of a request."""
    body = {
        "model": model,
        "messages": to_messages(messages, system),
        "max_tokens": max_tokens,
        "stream": stream,
    }
    if stream:
        body["stream_options"] = {"include_usage": True}
    if tools:
        body["tools"] = [tool.to_openai_format() for tool in tools]
        body["tool_choice"] = "auto"
    return body


def to_response(data: dict) -> CompletionResponse:
    """A whole answer."""
    choice = (data.get("choices") or [{}])[0]
    message = choice.get("message") or {}
    calls = [_tool_use(call) for call in message.get("tool_calls") or ()]
    return CompletionResponse(
        id=data.get("id") or "",
        content=message.get("content") or "",
        stop_reason=_stop_reason(choice.get("finish_reason")),
        usage=_usage(data) or Usage(),
        tool_uses=calls,
        thinking=message.get("reasoning") or message.get("reasoning_content"),
    )


async def to_events(lines):
    """Events from the lines of a streamed answer."""
    yield StreamEvent(type="message_start")
    calls: dict[int, dict] = {}
    usage, stop_reason = None, None
    async for line in lines:
        if not line.startswith("data:"):
            continue
        text = line[5:].strip()
        if text == "[DONE]":
            break
        data = _json.loads(text)
        if data.get("error"):
            yield StreamEvent(type="error", error=_error_text(data["error"]))
            return
        usage = _usage(data) or usage
        choice = (data.get("choices") or [{}])[0]
        delta = choice.get("delta") or {}
        thinking = delta.get("reasoning") or delta.get("reasoning_content")
        if thinking:
            yield StreamEvent(type="thinking_delta", thinking=thinking)
        if delta.get("content"):
            yield StreamEvent(type="text_delta", text=delta["content"])
        _gather(calls, delta.get("tool_calls") or ())
        stop_reason = _stop_reason(choice.get("finish_reason")) or stop_reason
    for _, call in sorted(calls.items()):
        yield StreamEvent(type="content_stop", tool_use=_tool_use(call), stop_reason=stop_reason, usage=usage)
    yield StreamEvent(type="message_delta", stop_reason=stop_reason, usage=usage)
    yield StreamEvent(type="message_stop", stop_reason=stop_reason, usage=usage)


def _from_blocks(message):
    entry = {"role": message["role"], "content": ""}
    calls, results = [], []
    for block in message["content"]:
        if block.get("type") == "text":
            entry["content"] += block.get("text") or ""
        elif block.get("type") == "tool_use":
            calls.append(ToolUse(block["id"], block["name"], block.get("input") or {}).to_tool_call_dict())
        elif block.get("type") == "tool_result":
            content = block.get("content") or ""
            results.append({"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": content})
    if calls:
        entry["tool_calls"] = calls
    return results + ([entry] if entry["content"] or calls or not results else [])


def _gather(calls, deltas):
    for delta in deltas:
        index = delta.get("index") or 0
        call = calls.setdefault(index, {"id": "", "function": {"name": "", "arguments": ""}})
        function = delta.get("function") or {}
        call["id"] = delta.get("id") or call["id"]
        call["function"]["name"] += function.get("name") or ""
        call["function"]["arguments"] += function.get("arguments") or ""


def _tool_use(call):
    function = call.get("function") or {}
    try:
        given = _json.loads(function.get("arguments") or "{}")
    except ValueError:
        given = {}
    return ToolUse(call.get("id") or "", function.get("name") or "", given if isinstance(given, dict) else {})


def _usage(data):
    usage = data.get("usage")
    if not usage:
        return None
    completion = usage.get("completion_tokens_details") or {}
    prompt = usage.get("prompt_tokens_details") or {}
    details = UsageDetails(
        reasoning_tokens=completion.get("reasoning_tokens"),
        cached_tokens=prompt.get("cached_tokens"),
        cost=usage.get("cost"),
        provider=data.get("provider"),
        generation_id=data.get("id"),
    )
    return Usage(usage.get("prompt_tokens") or 0, usage.get("completion_tokens") or 0, details)


def _stop_reason(reason):
    return _STOP.get(reason, reason)


def _error_text(error):
    return error.get("message") or str(error) if isinstance(error, dict) else str(error)
