"""Models through OpenRouter."""
from __future__ import annotations

import os as _os

from brynhild.api.base import LLMProvider, parse_reasoning_level

__all__ = ["OPENROUTER_BASE_URL", "OPENROUTER_MODELS", "OpenRouterAPIError", "OpenRouterProvider"]

OPENROUTER_BASE_URL = "https://openrouter.ai/api/v1"
OPENROUTER_MODELS = {
    "openai/gpt-oss-120b": "GPT-OSS 120B",
    "openai/gpt-oss-20b": "GPT-OSS 20B",
    "anthropic/claude-opus-4.5": "Claude Opus 4.5",
    "anthropic/claude-haiku-4.5": "Claude Haiku 4.5",
    "x-ai/grok-4.1-fast": "Grok 4.1 Fast",
    "mistralai/devstral-2512": "Devstral",
    "google/gemini-3-flash-preview": "Gemini 3 Flash",
    "nousresearch/hermes-4-70b": "Hermes 4 70B",
    "z-ai/glm-4.7": "GLM 4.7",
}
_EFFORT = {"off": "none", "maximum": "xhigh"}
_MEANING = {
    401: "the API key is not valid",
    402: "the account has no credits left",
    403: "the request was refused",
    404: "there is no such model",
    429: "too many requests, try again later",
}


class OpenRouterAPIError(Exception):
    """OpenRouter refused or failed."""

    def __init__(self, message: str, status_code: int | None = None) -> None:
        super().__init__(message)
        self.status_code = status_code


class OpenRouterProvider(LLMProvider):
    """A client of OpenRouter."""

    PROVIDER_NAME = "openrouter"

    def __init__(
        self,
        api_key: str | None = None,
        model: str = "openai/gpt-oss-120b",
        timeout: float = 120.0,
        credentials_path: str | None = None,
        base_url: str | None = None,
        **_settings,
    ) -> None:
        if credentials_path:
            from brynhild.api.credentials import load_credentials_from_path

            api_key = load_credentials_from_path(credentials_path).get("api_key")
            if not api_key:
                raise ValueError("Credentials file has no 'api_key': %s" % credentials_path)
        self._api_key = api_key or _os.environ.get("OPENROUTER_API_KEY")
        if not self._api_key:
            raise ValueError("OpenRouter API key required. Set OPENROUTER_API_KEY or pass api_key")
        self._model = model
        self._timeout = timeout
        self._base_url = (base_url or OPENROUTER_BASE_URL).rstrip("/")

    @property
    def name(self) -> str:
        """`openrouter`."""
        return "openrouter"

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

    @property
    def default_reasoning_format(self) -> str:
        """Reasoning goes back in a field of its own."""
        return "reasoning_field"

    def translate_reasoning_level(self, level: str | None = None) -> dict:
        """`reasoning.effort`."""
        level, raw = parse_reasoning_level(level or self.get_reasoning_level())
        if level == "auto" and not raw:
            return {}
        return {"reasoning": {"effort": level if raw else _EFFORT.get(level, level)}}

    async def complete(self, messages, *, system=None, tools=None, max_tokens=8192, use_profile=True):
        """One whole answer."""
        from brynhild.api import _chat, _http

        body = self._body(messages, system, tools, max_tokens, use_profile, False)
        try:
            data = await _http.request_json("POST", self._url(), body, self._headers(), self._timeout)
        except _http.HTTPError as error:
            raise _explained(error) from error
        return _chat.to_response(data)

    async def stream(self, messages, *, system=None, tools=None, max_tokens=8192, use_profile=True):
        """One answer as it comes."""
        from brynhild.api import _chat, _http

        body = self._body(messages, system, tools, max_tokens, use_profile, True)
        try:
            async with _http.Exchange("POST", self._url(), body, self._headers(), self._timeout) as exchange:
                async for event in _chat.to_events(exchange.lines()):
                    yield event
        except _http.HTTPError as error:
            raise _explained(error) from error

    async def list_models(self) -> list[str]:
        """The models OpenRouter has."""
        from brynhild.api import _http

        data = await _http.request_json("GET", self._base_url + "/models", None, self._headers(), self._timeout)
        return [model["id"] for model in data.get("data") or ()]

    async def close(self) -> None:
        """Nothing stays open between requests."""

    def _url(self):
        return self._base_url + "/chat/completions"

    def _body(self, messages, system, tools, max_tokens, use_profile, stream):
        from brynhild.api import _chat

        if use_profile:
            system = self.apply_profile_to_system(system)
            max_tokens = self.apply_profile_to_max_tokens(max_tokens)
        body = _chat.to_body(self._model, messages, system, tools, max_tokens, stream)
        body.update(self.translate_reasoning_level())
        body["provider"] = {"data_collection": "deny"}
        return body

    def _headers(self):
        return {"Authorization": "Bearer " + self._api_key, "X-Title": "Brynhild", "User-Agent": "Brynhild/1.0"}


def _explained(error):
    meaning = _MEANING.get(error.status, "the service failed" if error.status >= 500 else "the request failed")
    return OpenRouterAPIError("OpenRouter: %s (%s)" % (meaning, error), error.status or None)
