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
    """(level, whether it is passed on as it is)."""
    if value.startswith(RAW_REASONING_PREFIX):
        return value[len(RAW_REASONING_PREFIX) :], True
    return value, False


class LLMProvider(_abc.ABC):
    """A way to reach models."""

    _is_brynhild_duck_typed = False
    expand_credentials_path = True
    _profile = None
    _raw_logger = None

    @property
    @_abc.abstractmethod
    def name(self) -> str:
        """What it is called, for example `ollama`."""
        ...

    @property
    @_abc.abstractmethod
    def model(self) -> str:
        """The model in use."""
        ...

    @_abc.abstractmethod
    def supports_tools(self) -> bool:
        """Whether the model can call tools."""
        ...

    @_abc.abstractmethod
    async def complete(self, messages, *, system=None, tools=None, max_tokens=8192, use_profile=True):
        """One whole answer, a CompletionResponse."""
        ...

    @_abc.abstractmethod
    def stream(self, messages, *, system=None, tools=None, max_tokens=8192, use_profile=True):
        """An async iterator of StreamEvents."""
        ...

    @property
    def profile(self):
        """The model's profile, if one is attached."""
        return self._profile

    @profile.setter
    def profile(self, profile) -> None:
        self._profile = profile

    @property
    def raw_logger(self):
        """What records raw requests, if anything does."""
        return self._raw_logger

    @raw_logger.setter
    def raw_logger(self, logger) -> None:
        self._raw_logger = logger

    def apply_profile_to_system(self, system: str | None) -> str | None:
        """The system prompt with the profile's texts around it; texts that are in it already are not repeated."""
        profile = self._profile
        if profile is None:
            return system
        parts = (profile.system_prompt_prefix, profile.get_enabled_patterns_text(), profile.system_prompt_suffix)
        parts = [part for part in parts if part]
        if not parts or (system and all(part in system for part in parts)):
            return system
        return profile.build_system_prompt(system or "")

    def apply_profile_to_max_tokens(self, max_tokens: int) -> int:
        """At least what the profile says a model needs."""
        least = self._profile.min_max_tokens if self._profile is not None else None
        return max_tokens if least is None else max(max_tokens, least)

    def supports_reasoning(self) -> bool:
        """Whether the model shows its reasoning."""
        return False

    @property
    def default_reasoning_level(self) -> str:
        """How much reasoning is asked for when nothing is configured."""
        return "auto"

    def get_reasoning_level(self) -> str:
        """The configured level, else the default one."""
        from brynhild.config import Settings

        level = Settings().behavior.reasoning_level
        level = self.default_reasoning_level if level == "auto" else level
        return parse_reasoning_level(level)[0]

    def translate_reasoning_level(self, level: str | None = None) -> dict:
        """The request fields that ask for a level."""
        return {}

    @property
    def default_reasoning_format(self) -> str:
        """How earlier reasoning is sent back."""
        return "none"

    async def test_connection(self) -> dict:
        """Ask for one word and say how it went."""
        import time

        started = time.perf_counter()
        try:
            await self.complete([{"role": "user", "content": "Say 'ok'"}], max_tokens=16)
        except Exception as error:
            return {"status": "error", "provider": self.name, "model": self.model, "error": str(error)}
        latency = (time.perf_counter() - started) * 1000
        return {"status": "ok", "provider": self.name, "model": self.model, "latency_ms": latency}
