"""Detects conversations that repeat themselves."""
from __future__ import annotations

from brynhild._records import record

__all__ = ["StuckDetector", "StuckState"]


@record()
class StuckState:
    """The result of a check."""

    is_stuck: bool = False
    reason: str | None = None
    suggestion: str | None = None

    def __init__(self, is_stuck: bool = False, reason: str | None = None, suggestion: str | None = None) -> None:
        self.is_stuck = is_stuck
        self.reason = reason
        self.suggestion = suggestion


class StuckDetector:
    """Counts repeated calls, repeated errors, and messages without a call."""

    def __init__(self, max_similar_calls: int = 3, max_repeated_errors: int = 3, max_idle_messages: int = 5) -> None:
        self._limits = (max_similar_calls, max_repeated_errors, max_idle_messages)
        self.reset()

    def reset(self) -> None:
        """Reset all counters."""
        self._call, self._calls = None, 0
        self._error, self._errors = None, 0
        self._idle = 0

    def record_tool_call(self, tool_name: str, tool_input: dict) -> None:
        """Record a call."""
        import json

        call = (tool_name, json.dumps(tool_input, sort_keys=True, default=repr))
        self._calls = self._calls + 1 if call == self._call else 1
        self._call = call
        self._idle = 0

    def record_error(self, error: str) -> None:
        """Record an error."""
        self._errors = self._errors + 1 if error == self._error else 1
        self._error = error

    def record_message(self) -> None:
        """Record a message of the model that has no call."""
        self._idle += 1

    def check(self) -> StuckState:
        """Check if a limit was reached."""
        calls, errors, idle = self._limits
        if self._calls >= calls:
            reason = "the same call %d times" % self._calls
            return StuckState(True, reason, "Try a different tool or different arguments.")
        if self._errors >= errors:
            reason = "the same error %d times" % self._errors
            return StuckState(True, reason, "Look at the cause of the error before trying again.")
        if self._idle >= idle:
            reason = "%d messages without a call" % self._idle
            return StuckState(True, reason, "Call a tool or finish.")
        return StuckState()
