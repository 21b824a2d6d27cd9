"""Tools: the base class, the registry, path rules."""
from brynhild._lazy import attach

_BASE = (
    "InputValidation",
    "MetricsCollector",
    "RecoveryPolicy",
    "RiskLevel",
    "SandboxMixin",
    "Tool",
    "ToolMetrics",
    "ToolResult",
)
_REGISTRY = ("ToolRegistry", "build_registry_from_settings", "get_default_registry")
_SANDBOX = ("PathValidationError", "SandboxConfig")

__all__ = sorted(_BASE + _REGISTRY + _SANDBOX)

__getattr__, __dir__ = attach(
    __name__,
    {
        **dict.fromkeys(_BASE, "base"),
        **dict.fromkeys(_REGISTRY, "registry"),
        **dict.fromkeys(_SANDBOX, "sandbox"),
    },
    ("base", "registry", "sandbox"),
)
