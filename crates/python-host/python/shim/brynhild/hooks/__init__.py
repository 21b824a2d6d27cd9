"""Hooks: their events, configuration and dispatch."""
from brynhild._lazy import attach

_NAMES = {
    "ContextCompactor": "compaction",
    "HookAction": "events",
    "HookContext": "events",
    "HookDefinition": "config",
    "HookEvent": "events",
    "HookManager": "manager",
    "HookResult": "events",
    "HookTimeoutConfig": "config",
    "HooksConfig": "config",
    "StuckDetector": "stuck",
    "load_hooks_yaml": "config",
    "matches": "matching",
}

__all__ = sorted(_NAMES)

__getattr__, __dir__ = attach(
    __name__, _NAMES, ("compaction", "config", "events", "manager", "matching", "stuck")
)
