"""Tool types of a single file: a configuration, a builder, and a decorator that ties them to a name."""
import dataclasses
from pathlib import Path
from typing import Any, Optional


@dataclasses.dataclass
class ToolBuildContext:
    """What a builder may know."""

    role: Any = None
    role_dir: Optional[Path] = None
    sandbox_backend: Any = None


@dataclasses.dataclass
class ToolRegistration:
    """A tool type."""

    type_name: str
    config_class: Any
    builder: Any
    run_scoped: bool = False


_registry = {}


def register_tool(type_name, config_class, *, run_scoped=False, **_):
    """Register a builder under the name of a tool type."""
    fields = getattr(config_class, "model_fields", None) or {}
    default = getattr(fields.get("type"), "default", type_name)
    if default != type_name:
        raise ValueError(
            "%s: the default of `type` is %r and not %r" % (config_class.__name__, default, type_name)
        )

    def register(builder):
        _registry[type_name] = ToolRegistration(type_name, config_class, builder, run_scoped)
        return builder

    return register


def get_builder(type_name):
    """The registration of a name, where there is one."""
    return _registry.get(type_name)


def get_tool_types():
    """The configuration classes by name."""
    return {name: entry.config_class for name, entry in _registry.items()}


def __getattr__(name):
    from brynhild_host.adapters.initrunner.imports import wanted

    raise wanted(__name__, name)
