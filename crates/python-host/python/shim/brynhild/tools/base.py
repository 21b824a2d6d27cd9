"""The base class of tools, with the types that it uses."""
from __future__ import annotations

import abc as _abc

from brynhild.tools._records import InputValidation, MetricsCollector, ToolMetrics, ToolResult

__all__ = [
    "InputValidation",
    "MetricsCollector",
    "RecoveryPolicy",
    "RiskLevel",
    "SandboxMixin",
    "Tool",
    "ToolMetrics",
    "ToolResult",
]

_RECOVERY = {"read_only": "allow", "mutating": "confirm", "high_impact": "deny"}


_ALIASES = {"RiskLevel": ("read_only", "mutating", "high_impact"), "RecoveryPolicy": ("allow", "confirm", "deny")}


def __getattr__(name):
    if name not in _ALIASES:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    import typing

    return typing.Literal[_ALIASES[name]]


class Tool(_abc.ABC):
    """The base class of a tool that the model can call.

    A subclass defines `name`, `description`, `input_schema` and `execute`.
    """

    _is_brynhild_duck_typed = False

    @property
    @_abc.abstractmethod
    def name(self) -> str:
        """The name the model calls it by."""
        ...

    @property
    @_abc.abstractmethod
    def description(self) -> str:
        """The description that the model reads."""
        ...

    @property
    @_abc.abstractmethod
    def input_schema(self) -> dict:
        """The JSON Schema of its input."""
        ...

    @property
    def version(self) -> str:
        """The version of the tool."""
        return "0.0.0"

    @property
    def categories(self) -> list[str]:
        """Categories that the tool is listed under."""
        return []

    @property
    def examples(self) -> list[dict]:
        """Example inputs. The model reads them, and `brynhild plugin test` runs them."""
        return []

    @property
    def requires_permission(self) -> bool:
        """True if the user must approve each call."""
        return True

    @property
    def risk_level(self) -> RiskLevel:  # noqa: F821
        """The worst effect of a call: `read_only`, `mutating` or `high_impact`."""
        return "read_only"

    @property
    def recovery_policy(self) -> RecoveryPolicy:  # noqa: F821
        """The treatment of a call that was found in the model's text: `allow`, `confirm` or `deny`."""
        return _RECOVERY.get(self.risk_level, "deny")

    @_abc.abstractmethod
    async def execute(self, input: dict) -> ToolResult:
        """Run one call with a checked input, and return a ToolResult."""
        ...

    def validate_input(self, input: dict) -> InputValidation:
        """Check an input for missing and unknown parameters."""
        schema = self.input_schema
        found = InputValidation()
        missing = [name for name in schema.get("required", ()) if name not in input]
        if missing:
            found.errors.append("Missing required parameters: " + ", ".join(missing))
        known = schema.get("properties", {})
        unknown = [str(name) for name in input if name not in known]
        if unknown:
            found.warnings.append("Unknown parameters (will be ignored): " + ", ".join(sorted(unknown)))
        return found

    def to_api_format(self) -> dict:
        """The tool in the format of Anthropic's API."""
        return {"name": self.name, "description": self.description, "input_schema": self.input_schema}

    def to_openai_format(self) -> dict:
        """The tool in the format of OpenAI's API."""
        function = {"name": self.name, "description": self.description, "parameters": self.input_schema}
        return {"type": "function", "function": function}

    def _require_input(self, input: dict, key: str, *, label: str | None = None):
        """The value, or a failed result that says what is missing."""
        value = input.get(key)
        if value is None or value == "":
            return ToolResult(success=False, output="", error="No %s provided" % (label or key))
        return value

    def __repr__(self) -> str:
        return "<Tool %s>" % self.name


class SandboxMixin:
    """Checks of paths: a tool writes in the project and in /tmp, and reads no private files."""

    _base_dir = None
    _sandbox_config = None

    def _get_sandbox_config(self):
        """The rules in force; made from the session when the tool brings none."""
        if self._sandbox_config is None:
            from brynhild.tools.sandbox import SandboxConfig

            self._sandbox_config = SandboxConfig.for_session(self._base_dir)
        return self._sandbox_config

    def _resolve_and_validate(self, path, operation="read"):
        """The absolute path, or PathValidationError."""
        from brynhild.tools.sandbox import resolve_and_validate

        config = self._get_sandbox_config()
        return resolve_and_validate(path, self._base_dir or config.project_root, config, operation)

    def _resolve_path_or_error(self, path, operation="read"):
        """The absolute path, or a failed result."""
        from brynhild.tools.sandbox import PathValidationError

        try:
            return self._resolve_and_validate(path, operation)
        except PathValidationError as error:
            return ToolResult(success=False, output="", error=str(error))
