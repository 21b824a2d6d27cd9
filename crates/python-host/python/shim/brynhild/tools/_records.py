"""The results of tools, and statistics of their calls."""
from __future__ import annotations

from brynhild._records import ABSENT, record


@record()
class ToolResult:
    """The result of one call: success, the text for the model, and the error if it failed."""

    success: bool
    output: str
    error: str | None = None

    def __init__(self, success: bool, output: str, error: str | None = None) -> None:
        self.success = success
        self.output = output
        self.error = error

    def to_dict(self) -> dict:
        """The result as a dict."""
        return {"success": self.success, "output": self.output, "error": self.error}


@record(errors=list, warnings=list)
class InputValidation:
    """The errors and warnings of a check of a tool's input."""

    errors: list[str]
    warnings: list[str]

    def __init__(self, errors: list[str] = ABSENT, warnings: list[str] = ABSENT) -> None:
        self.errors = [] if errors is ABSENT else errors
        self.warnings = [] if warnings is ABSENT else warnings

    @property
    def is_valid(self) -> bool:
        """True if there is no error."""
        return not self.errors

    @property
    def has_warnings(self) -> bool:
        """True if there is a warning."""
        return bool(self.warnings)


@record()
class ToolMetrics:
    """The number and the duration of one tool's calls."""

    tool_name: str
    call_count: int = 0
    success_count: int = 0
    failure_count: int = 0
    total_duration_ms: float = 0.0
    last_used: float | None = None

    def __init__(
        self,
        tool_name: str,
        call_count: int = 0,
        success_count: int = 0,
        failure_count: int = 0,
        total_duration_ms: float = 0.0,
        last_used: float | None = None,
    ) -> None:
        self.tool_name = tool_name
        self.call_count = call_count
        self.success_count = success_count
        self.failure_count = failure_count
        self.total_duration_ms = total_duration_ms
        self.last_used = last_used

    @property
    def success_rate(self) -> float:
        """Successful calls in percent, 0 without calls."""
        return self.success_count / self.call_count * 100 if self.call_count else 0.0

    @property
    def average_duration_ms(self) -> float:
        """The mean duration, 0 without calls."""
        return self.total_duration_ms / self.call_count if self.call_count else 0.0

    def record_call(self, success: bool, duration_ms: float, timestamp: float | None = None) -> None:
        """Count one call."""
        if timestamp is None:
            import time

            timestamp = time.time()
        self.call_count += 1
        if success:
            self.success_count += 1
        else:
            self.failure_count += 1
        self.total_duration_ms += duration_ms
        self.last_used = timestamp

    def to_dict(self) -> dict:
        """The fields and the computed values as a dict."""
        return {
            "tool_name": self.tool_name,
            "call_count": self.call_count,
            "success_count": self.success_count,
            "failure_count": self.failure_count,
            "success_rate": self.success_rate,
            "total_duration_ms": self.total_duration_ms,
            "average_duration_ms": self.average_duration_ms,
            "last_used": self.last_used,
        }

    @classmethod
    def from_dict(cls, data: dict) -> ToolMetrics:
        """An object from the dict that `to_dict` returned."""
        names = ("call_count", "success_count", "failure_count", "total_duration_ms", "last_used")
        return cls(data["tool_name"], **{name: data[name] for name in names if name in data})


class MetricsCollector:
    """The metrics of several tools."""

    def __init__(self) -> None:
        self._metrics: dict[str, ToolMetrics] = {}

    def record(self, tool_name: str, success: bool, duration_ms: float, timestamp: float | None = None) -> None:
        """Count one call of a tool."""
        if tool_name not in self._metrics:
            self._metrics[tool_name] = ToolMetrics(tool_name)
        self._metrics[tool_name].record_call(success, duration_ms, timestamp)

    def get(self, tool_name: str) -> ToolMetrics | None:
        """The metrics of one tool."""
        return self._metrics.get(tool_name)

    def all(self) -> dict[str, ToolMetrics]:
        """The metrics of every tool by its name."""
        return dict(self._metrics)

    def to_dict(self) -> dict:
        """The object as a dict of plain data."""
        return {name: metrics.to_dict() for name, metrics in self._metrics.items()}

    @classmethod
    def from_dict(cls, data: dict) -> MetricsCollector:
        """An object from the dict that `to_dict` returned."""
        collector = cls()
        for name, fields in data.items():
            collector._metrics[name] = ToolMetrics.from_dict(dict(fields, tool_name=name))
        return collector

    def summary(self) -> dict:
        """The totals of all tools."""
        every = self._metrics.values()
        calls = sum(metrics.call_count for metrics in every)
        successes = sum(metrics.success_count for metrics in every)
        return {
            "total_calls": calls,
            "total_success": successes,
            "total_failures": sum(metrics.failure_count for metrics in every),
            "success_rate": successes / calls * 100 if calls else 0.0,
            "total_duration_ms": sum(metrics.total_duration_ms for metrics in every),
            "tools_used": len(self._metrics),
        }
