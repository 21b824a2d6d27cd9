"""Models that Ollama serves."""
from __future__ import annotations

import os as _os

from brynhild.api.base import LLMProvider, parse_reasoning_level

__all__ = ["DEFAULT_MODEL", "DEFAULT_PORT", "OllamaProvider"]

DEFAULT_MODEL = "llama3"
DEFAULT_PORT = 11434


class OllamaProvider(LLMProvider):
    """A client of one Ollama server."""

    PROVIDER_NAME = "ollama"

    def __init__(
        self,
        host: str | None = None,
        port: int | None = None,
        model: str | None = None,
        timeout: float = 300.0,
        credentials_path: str | None = None,
        api_key: str | None = None,
        base_url: str | None = None,
        **_settings,
    ) -> None:
        address = host or _os.environ.get("BRYNHILD_OLLAMA_HOST") or _os.environ.get("OLLAMA_HOST") or base_url
        self._base_url = _base_url(address or "localhost", port)
        self._model = model or DEFAULT_MODEL
        self._timeout = timeout
        if credentials_path and not api_key:
            from brynhild.api.credentials import load_credentials_from_path

            api_key = load_credentials_from_path(credentials_path).get("api_key")
        self._api_key = api_key

    @property
    def name(self) -> str:
        """`ollama`."""
        return "ollama"

    @property
    def model(self) -> str:
        """The model in use."""
        return self._model

    @property
    def base_url(self) -> str:
        """Where the server is."""
        return self._base_url

    def supports_tools(self) -> bool:
        """Always."""
        return True

    def supports_reasoning(self) -> bool:
        """Always; models without it ignore what is asked."""
        return True

    @property
    def default_reasoning_format(self) -> str:
        """Reasoning goes back in tags."""
        return "thinking_tags"

    def translate_reasoning_level(self, level: str | None = None) -> dict:
        """`think`: a level for gpt-oss, a switch for the others."""
        level, raw = parse_reasoning_level(level or self.get_reasoning_level())
        if raw:
            return {"think": level}
        if level == "auto":
            return {}
        if self._model.rpartition("/")[2].startswith("gpt-oss"):
            return {"think": {"off": "low", "minimal": "low", "maximum": "high"}.get(level, level)}
        return {"think": level != "off"}

    async def complete(self, messages, *, system=None, tools=None, max_tokens=8192, use_profile=True):
        """One whole answer."""
        from brynhild.api import _chat, _http

        body = self._body(messages, system, tools, max_tokens, use_profile, False)
        url = self._base_url + "/v1/chat/completions"
        return _chat.to_response(await _http.request_json("POST", url, body, self._headers(), self._timeout))

    async def stream(self, messages, *, system=None, tools=None, max_tokens=8192, use_profile=True):
        """One answer as it comes."""
        from brynhild.api import _chat, _http

        body = self._body(messages, system, tools, max_tokens, use_profile, True)
        url = self._base_url + "/v1/chat/completions"
        async with _http.Exchange("POST", url, body, self._headers(), self._timeout) as exchange:
            async for event in _chat.to_events(exchange.lines()):
                yield event

    async def list_models(self) -> list[str]:
        """The models the server has."""
        from brynhild.api import _http

        data = await _http.request_json("GET", self._base_url + "/api/tags", None, self._headers(), self._timeout)
        return [model["name"] for model in data.get("models") or ()]

    async def close(self) -> None:
        """Nothing stays open between requests."""

    def _body(self, messages, system, tools, max_tokens, use_profile, stream):
        from brynhild.api import _chat

        if use_profile:
            system = self.apply_profile_to_system(system)
            max_tokens = self.apply_profile_to_max_tokens(max_tokens)
        body = _chat.to_body(self._model, messages, system, tools, max_tokens, stream)
        body.update(self.translate_reasoning_level())
        return body

    def _headers(self):
        return {"Authorization": "Bearer " + self._api_key} if self._api_key else {}


def _base_url(address, port):
    scheme, separator, rest = address.partition("://")
    if not separator:
        scheme, rest = "http", address
    rest = rest.rstrip("/")
    place, slash, path = rest.partition("/")
    if ":" not in place.rpartition("]")[2]:
        place += ":%d" % (port or DEFAULT_PORT)
    path = "" if path == "v1" else slash + path
    return "%s://%s%s" % (scheme, place, path)
