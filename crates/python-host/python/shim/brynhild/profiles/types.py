"""A model's profile: its limits, and texts around its system prompt."""
from __future__ import annotations

from brynhild._records import ABSENT, record

__all__ = ["ModelProfile"]

_CONTAINERS = {"api_params": dict, "prompt_patterns": dict, "enabled_patterns": list, "provider_specific": dict}


@record(**_CONTAINERS)
class ModelProfile:
    """The limits and texts of one model or family of models."""

    name: str
    family: str = ""
    description: str = ""
    default_temperature: float = 0.7
    default_max_tokens: int = 8192
    min_max_tokens: int | None = None
    supports_tools: bool = True
    supports_reasoning: bool = False
    supports_streaming: bool = True
    api_params: dict
    system_prompt_prefix: str = ""
    system_prompt_suffix: str = ""
    prompt_patterns: dict[str, str]
    enabled_patterns: list[str]
    tool_format: str = "openai"
    tool_parallelization: bool = True
    max_tools_per_turn: int | None = None
    enable_tool_recovery: bool = False
    recovery_feedback_enabled: bool = True
    recovery_requires_intent_phrase: bool = False
    eagerness: str = "medium"
    verbosity: str = "medium"
    thoroughness: str = "balanced"
    stuck_detection_enabled: bool = True
    max_similar_tool_calls: int = 3
    provider_specific: dict

    def __init__(
        self,
        name: str,
        family: str = "",
        description: str = "",
        default_temperature: float = 0.7,
        default_max_tokens: int = 8192,
        min_max_tokens: int | None = None,
        supports_tools: bool = True,
        supports_reasoning: bool = False,
        supports_streaming: bool = True,
        api_params: dict = ABSENT,
        system_prompt_prefix: str = "",
        system_prompt_suffix: str = "",
        prompt_patterns: dict[str, str] = ABSENT,
        enabled_patterns: list[str] = ABSENT,
        tool_format: str = "openai",
        tool_parallelization: bool = True,
        max_tools_per_turn: int | None = None,
        enable_tool_recovery: bool = False,
        recovery_feedback_enabled: bool = True,
        recovery_requires_intent_phrase: bool = False,
        eagerness: str = "medium",
        verbosity: str = "medium",
        thoroughness: str = "balanced",
        stuck_detection_enabled: bool = True,
        max_similar_tool_calls: int = 3,
        provider_specific: dict = ABSENT,
    ) -> None:
        given = locals()
        for field in self.__match_args__:
            value = given[field]
            setattr(self, field, _CONTAINERS[field]() if value is ABSENT else value)

    @classmethod
    def field_names(cls) -> tuple[str, ...]:
        """All fields, in order."""
        return cls.__match_args__

    @classmethod
    def from_dict(cls, data: dict) -> ModelProfile:
        """A profile from a dict; TypeError for an unknown key."""
        return cls(**data)

    def to_dict(self) -> dict:
        """The object as a dict of plain data."""
        return {name: getattr(self, name) for name in self.__match_args__}

    def get_enabled_patterns_text(self) -> str:
        """The enabled patterns, in the order they are listed."""
        texts = (self.prompt_patterns.get(name) for name in self.enabled_patterns)
        return "\n\n".join(text for text in texts if text)

    def build_system_prompt(self, base_prompt: str) -> str:
        """The system prompt: prefix, patterns, base and suffix, separated by blank lines."""
        parts = (self.system_prompt_prefix, self.get_enabled_patterns_text(), base_prompt, self.system_prompt_suffix)
        return "\n\n".join(part for part in parts if part)
