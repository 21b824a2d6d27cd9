"""Conversation logs: one JSON object a line."""
from __future__ import annotations

__all__ = ["ConversationLogger"]


class ConversationLogger:
    """Appends events to a file."""

    def __init__(self, log_file=None, *, provider: str = "", model: str = "", enabled: bool = True) -> None:
        self.log_file = log_file
        self.enabled = enabled and log_file is not None
        self._count = 0
        if self.enabled:
            self.log_event("session_start", provider=provider, model=model)

    def log_event(self, event_type: str, **fields) -> None:
        """Write one line."""
        if not self.enabled:
            return
        import datetime
        import json

        self._count += 1
        line = {"timestamp": datetime.datetime.now().isoformat(), "event_number": self._count, "event_type": event_type}
        with open(self.log_file, "a", encoding="utf-8") as file:
            file.write(json.dumps(dict(line, **fields), default=str) + "\n")

    def close(self) -> None:
        """Write the last line."""
        self.log_event("session_end", total_events=self._count + 1)
