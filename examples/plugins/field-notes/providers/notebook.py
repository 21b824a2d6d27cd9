"""Answers with the notes, for days without a model."""

import _notebook
from brynhild.api.base import LLMProvider
from brynhild.api.types import CompletionResponse, StreamEvent, Usage


class Provider(LLMProvider):
    """Answers every prompt with the notes"""

    PROVIDER_NAME = "notebook"

    def __init__(self, model="paper", **settings):
        self._model = model

    @property
    def name(self):
        return "notebook"

    @property
    def model(self):
        return self._model

    def supports_tools(self):
        return False

    async def complete(self, messages, *, system=None, tools=None, max_tokens=8192):
        text = _notebook.as_text(_notebook.read())
        return CompletionResponse(id="notebook", content=text, stop_reason="end_turn", usage=Usage())

    async def stream(self, messages, *, system=None, tools=None, max_tokens=8192):
        yield StreamEvent(type="text_delta", text=_notebook.as_text(_notebook.read()))
        yield StreamEvent(type="message_stop", stop_reason="end_turn")
