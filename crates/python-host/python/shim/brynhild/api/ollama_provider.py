"""Models that Ollama serves."""
from __future__ import annotations

import os as _os

from brynhild.api._client import ChatClient
from brynhild.api.base import parse_reasoning_level

__all__ = ["DEFAULT_MODEL", "DEFAULT_PORT", "OllamaProvider"]

DEFAULT_MODEL = "llama3"
DEFAULT_PORT = 11434


class OllamaProvider(ChatClient):
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
    def base_url(self) -> str:
        """The address of the server."""
        return self._base_url

    @property
    def default_reasoning_format(self) -> str:
        """`thinking_tags`: earlier reasoning is sent back in tags."""
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

    async def list_models(self) -> list[str]:
        """The models of the server."""
        data = await self._ask("GET", self._base_url + "/api/tags")
        return [model["name"] for model in data.get("models") or ()]

    def _url(self):
        return self._base_url + "/v1/chat/completions"

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
