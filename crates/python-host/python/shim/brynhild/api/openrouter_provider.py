"""Models through OpenRouter."""
from __future__ import annotations

import os as _os

from brynhild.api._client import ChatClient
from brynhild.api.base import parse_reasoning_level

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
    """Raised if OpenRouter refuses a request or fails."""

    def __init__(self, message: str, status_code: int | None = None) -> None:
        super().__init__(message)
        self.status_code = status_code


class OpenRouterProvider(ChatClient):
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
    def default_reasoning_format(self) -> str:
        """Earlier reasoning is sent back in a separate field."""
        return "reasoning_field"

    def translate_reasoning_level(self, level: str | None = None) -> dict:
        """`reasoning.effort`."""
        level, raw = parse_reasoning_level(level or self.get_reasoning_level())
        if level == "auto" and not raw:
            return {}
        return {"reasoning": {"effort": level if raw else _EFFORT.get(level, level)}}

    async def list_models(self) -> list[str]:
        """The models that OpenRouter offers."""
        data = await self._ask("GET", self._base_url + "/models")
        return [model["id"] for model in data.get("data") or ()]

    def _url(self):
        return self._base_url + "/chat/completions"

    def _body(self, *request):
        return dict(super()._body(*request), provider={"data_collection": "deny"})

    def _headers(self):
        return {"Authorization": "Bearer " + self._api_key, "X-Title": "Brynhild", "User-Agent": "Brynhild/1.0"}

    def _explained(self, error):
        meaning = _MEANING.get(error.status, "the service failed" if error.status >= 500 else "the request failed")
        return OpenRouterAPIError("OpenRouter: %s (%s)" % (meaning, error), error.status or None)
