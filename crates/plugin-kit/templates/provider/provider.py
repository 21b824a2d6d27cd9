"""A provider: it gets the messages of a conversation and streams the model's reply."""

from brynhild.api.base import LLMProvider
from brynhild.api.types import CompletionResponse, StreamEvent, Usage


class Provider(LLMProvider):
    PROVIDER_NAME = "__NAME__"

    def __init__(self, model="default", **settings):
        self._model = model
        self._greeting = settings.get("greeting", "You said:")  # providers.instances.__NAME__.greeting

    @property
    def name(self):
        return "__NAME__"

    @property
    def model(self):
        return self._model

    def supports_tools(self):
        return False

    def _answer(self, messages):
        said = [message["content"] for message in messages if message["role"] == "user"]
        return f"{self._greeting} {said[-1]}" if said else "Hello?"

    async def complete(self, messages, *, system=None, max_tokens=8192, tools=None):
        text = self._answer(messages)
        return CompletionResponse(id="1", content=text, stop_reason="end_turn", usage=Usage(1, len(text)))

    async def stream(self, messages, *, system=None, max_tokens=8192, tools=None):
        yield StreamEvent(type="message_start")
        for word in self._answer(messages).split(" "):
            yield StreamEvent(type="text_delta", text=word + " ")
        yield StreamEvent(type="message_stop", stop_reason="end_turn", usage=Usage(1, 1))
