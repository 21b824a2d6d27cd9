"""A client of one server that speaks the chat-completions format: what Ollama and OpenRouter have in common."""
from __future__ import annotations

from brynhild.api.base import LLMProvider


class ChatClient(LLMProvider):
    """Sends requests to `_url()` with `_headers()`; a subclass sets `_model` and `_timeout`."""

    @property
    def model(self) -> str:
        """The model in use."""
        return self._model

    def supports_tools(self) -> bool:
        """Always."""
        return True

    def supports_reasoning(self) -> bool:
        """Always; models without it ignore what is asked."""
        return True

    async def complete(self, messages, *, system=None, tools=None, max_tokens=8192, use_profile=True):
        """One whole answer."""
        from brynhild.api import _chat

        body = self._body(messages, system, tools, max_tokens, use_profile, False)
        return _chat.to_response(await self._ask("POST", self._url(), body))

    async def stream(self, messages, *, system=None, tools=None, max_tokens=8192, use_profile=True):
        """One answer as it comes."""
        from brynhild.api import _chat, _http

        body = self._body(messages, system, tools, max_tokens, use_profile, True)
        try:
            async with _http.Exchange("POST", self._url(), body, self._headers(), self._timeout) as exchange:
                async for event in _chat.to_events(exchange.lines()):
                    yield event
        except _http.HTTPError as error:
            raise self._explained(error)

    async def close(self) -> None:
        """Nothing stays open between requests."""

    async def _ask(self, method, url, body=None):
        from brynhild.api import _http

        try:
            return await _http.request_json(method, url, body, self._headers(), self._timeout)
        except _http.HTTPError as error:
            raise self._explained(error)

    def _explained(self, error):
        return error

    def _body(self, messages, system, tools, max_tokens, use_profile, stream):
        from brynhild.api import _chat

        if use_profile:
            system = self.apply_profile_to_system(system)
            max_tokens = self.apply_profile_to_max_tokens(max_tokens)
        body = _chat.to_body(self._model, messages, system, tools, max_tokens, stream)
        body.update(self.translate_reasoning_level())
        return body
