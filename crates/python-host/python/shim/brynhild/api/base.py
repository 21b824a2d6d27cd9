"""The base class of providers."""
from __future__ import annotations

import abc as _abc

__all__ = [
    "KNOWN_REASONING_LEVELS",
    "LLMProvider",
    "RAW_REASONING_PREFIX",
    "ReasoningFormat",
    "ReasoningLevel",
    "parse_reasoning_level",
]

RAW_REASONING_PREFIX = "raw:"
KNOWN_REASONING_LEVELS = frozenset(("auto", "off", "minimal", "low", "medium", "high", "maximum"))
ReasoningLevel = str


def __getattr__(name):
    if name == "ReasoningFormat":
        import typing

        return typing.Literal["reasoning_field", "thinking_tags", "none"]
    raise AttributeError("module %r has no attribute %r" % (__name__, name))


def parse_reasoning_level(value: str) -> tuple[str, bool]:
    """Parse a reasoning level. Returns the level, and true if it is passed to the provider unchanged."""
    if value.startswith(RAW_REASONING_PREFIX):
        return value[len(RAW_REASONING_PREFIX) :], True
    return value, False


class LLMProvider(_abc.ABC):
    """The base class of a model provider.

    A subclass defines `name`, `model`, `supports_tools`, `complete` and `stream`.
    """

    _is_brynhild_duck_typed = False
    expand_credentials_path = True
    _profile = None
    _raw_logger = None

    @property
    @_abc.abstractmethod
    def name(self) -> str:
        """The name of the provider, such as `ollama`."""
        ...

    @property
    @_abc.abstractmethod
    def model(self) -> str:
        """The model in use."""
        ...

    @_abc.abstractmethod
    def supports_tools(self) -> bool:
        """True if the model can call tools."""
        ...

    @_abc.abstractmethod
    async def complete(self, messages, *, system=None, tools=None, max_tokens=8192, use_profile=True):
        """Send a request, and return the whole answer as a CompletionResponse."""
        ...

    @_abc.abstractmethod
    def stream(self, messages, *, system=None, tools=None, max_tokens=8192, use_profile=True):
        """Send a request, and return an async iterator of StreamEvents."""
        ...

    @property
    def profile(self):
        """The profile of the model, or None."""
        return self._profile

    @profile.setter
    def profile(self, profile) -> None:
        self._profile = profile

    @property
    def raw_logger(self):
        """The recorder of raw requests, or None."""
        return self._raw_logger

    @raw_logger.setter
    def raw_logger(self, logger) -> None:
        self._raw_logger = logger

    def apply_profile_to_system(self, system: str | None) -> str | None:
        """The system prompt with the texts of the profile, each only once."""
        profile = self._profile
        if profile is None:
            return system
        parts = (profile.system_prompt_prefix, profile.get_enabled_patterns_text(), profile.system_prompt_suffix)
        parts = [part for part in parts if part]
        if not parts or (system and all(part in system for part in parts)):
            return system
        return profile.build_system_prompt(system or "")

    def apply_profile_to_max_tokens(self, max_tokens: int) -> int:
        """The token limit, raised to the minimum of the profile."""
        least = self._profile.min_max_tokens if self._profile is not None else None
        return max_tokens if least is None else max(max_tokens, least)

    def supports_reasoning(self) -> bool:
        """True if the model returns its reasoning."""
        return False

    @property
    def default_reasoning_level(self) -> str:
        """The reasoning level that is used if none is configured."""
        return "auto"

    def get_reasoning_level(self) -> str:
        """The configured reasoning level, or the default."""
        from brynhild.config import Settings

        level = Settings().behavior.reasoning_level
        level = self.default_reasoning_level if level == "auto" else level
        return parse_reasoning_level(level)[0]

    def translate_reasoning_level(self, level: str | None = None) -> dict:
        """The fields of a request that ask for a reasoning level."""
        return {}

    @property
    def default_reasoning_format(self) -> str:
        """The format in which earlier reasoning is sent back to the model."""
        return "none"

    async def test_connection(self) -> dict:
        """Send a short request, and report if it worked."""
        import time

        started = time.perf_counter()
        try:
            await self.complete([{"role": "user", "content": "Say 'ok'"}], max_tokens=16)
        except Exception as error:
            return {"status": "error", "provider": self.name, "model": self.model, "error": str(error)}
        latency = (time.perf_counter() - started) * 1000
        return {"status": "ok", "provider": self.name, "model": self.model, "latency_ms": latency}
