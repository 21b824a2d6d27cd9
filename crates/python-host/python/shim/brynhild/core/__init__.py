"""The conversation loop, its prompts, and the types that front ends show."""
from brynhild._lazy import attach

_NAMES = {
    "ContextBuilder": "context",
    "ConversationCallbacks": "conversation",
    "ConversationProcessor": "conversation",
    "ToolCallDisplay": "types",
    "ToolResultDisplay": "types",
    "get_system_prompt": "prompts",
}

__all__ = sorted(_NAMES)

__getattr__, __dir__ = attach(__name__, _NAMES, ("context", "conversation", "prompts", "types"))
