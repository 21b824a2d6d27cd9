"""Model providers: the base class, its types, and the bundled clients."""
from brynhild._lazy import attach

_TYPES = (
    "CompletionResponse",
    "ContentBlock",
    "Message",
    "StreamEvent",
    "Tool",
    "ToolResult",
    "ToolUse",
    "Usage",
    "UsageDetails",
)
_FACTORY = (
    "create_provider",
    "get_available_provider_names",
    "get_available_provider_types",
    "get_available_providers",
    "get_default_provider",
)

_OTHERS = ("LLMProvider", "OllamaProvider", "OpenRouterProvider", "load_credentials_from_path")

__all__ = sorted(_TYPES + _FACTORY + _OTHERS)

__getattr__, __dir__ = attach(
    __name__,
    {
        **dict.fromkeys(_TYPES, "types"),
        **dict.fromkeys(_FACTORY, "factory"),
        "LLMProvider": "base",
        "OllamaProvider": "ollama_provider",
        "OpenRouterProvider": "openrouter_provider",
        "load_credentials_from_path": "credentials",
    },
    ("base", "credentials", "factory", "ollama_provider", "openrouter_provider", "types"),
)
