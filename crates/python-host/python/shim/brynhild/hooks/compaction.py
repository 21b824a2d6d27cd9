"""Shortens a history by removing old messages."""
from __future__ import annotations

from brynhild._records import record

__all__ = ["CompactionConfig", "ContextCompactor"]

_TOKENS_PER_MESSAGE = 500


@record()
class CompactionConfig:
    """The limits of a history."""

    max_tokens: int = 100_000
    threshold: float = 0.8
    keep_recent: int = 20

    def __init__(self, max_tokens: int = 100_000, threshold: float = 0.8, keep_recent: int = 20) -> None:
        self.max_tokens = max_tokens
        self.threshold = threshold
        self.keep_recent = keep_recent


class ContextCompactor:
    """Keeps system messages and the most recent others; a tool's result never stays without its call."""

    def __init__(self, config: CompactionConfig | None = None) -> None:
        self.config = config or CompactionConfig()

    def should_compact(self, messages: list[dict], tokens: int | None = None) -> bool:
        """True if the history is too long."""
        if tokens is None:
            tokens = len(messages) * _TOKENS_PER_MESSAGE
        return tokens >= self.config.max_tokens * self.config.threshold

    def compact(self, messages: list[dict]) -> list[dict]:
        """The shorter history."""
        others = [message for message in messages if message.get("role") != "system"]
        kept = others[-self.config.keep_recent :]
        while kept and kept[0].get("role") in ("tool", "tool_result"):
            kept = kept[1:]
        return [message for message in messages if message.get("role") == "system"] + kept
