"""The content of hooks.yaml."""
from __future__ import annotations

from brynhild._models import (
    Field,
    Model,
    ValidationError,
    boolean,
    choice,
    dict_of,
    integer,
    list_of,
    mapping,
    model_fields,
    nested,
    optional,
    text,
)

__all__ = ["HookDefinition", "HookTimeoutConfig", "HooksConfig", "ValidationError", "load_hooks_yaml"]


@model_fields
class HookTimeoutConfig(Model):
    """The timeout of a hook, and the action after it."""

    _fields = {"seconds": Field(integer, 30), "on_timeout": Field(choice("block", "continue"), "block")}


def _timeout(value):
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = {"seconds": value}
    return nested(HookTimeoutConfig)(value)


@model_fields
class HookDefinition(Model):
    """One hook."""

    _fields = {
        "name": Field(text(1)),
        "type": Field(choice("command", "script", "prompt")),
        "event": Field(optional(text()), None),
        "match": Field(mapping, factory=dict),
        "command": Field(optional(text()), None),
        "script": Field(optional(text()), None),
        "prompt": Field(optional(text()), None),
        "model": Field(optional(text()), None),
        "message": Field(optional(text()), None),
        "timeout": Field(_timeout, factory=HookTimeoutConfig),
        "enabled": Field(boolean, True),
    }


@model_fields
class HooksConfig(Model):
    """The hooks of one file, by event."""

    _fields = {
        "version": Field(integer, 1),
        "hooks": Field(dict_of(list_of(nested(HookDefinition))), factory=dict),
    }

    def get_hooks_for_event(self, event) -> list[HookDefinition]:
        """The enabled hooks of an event, in order."""
        name = getattr(event, "value", event)
        return [definition for definition in self.hooks.get(name, ()) if definition.enabled]


def load_hooks_yaml(path) -> HooksConfig:
    """The hooks of a file."""
    import pathlib

    from brynhild._frontmatter import load_yaml

    fields = load_yaml(pathlib.Path(path).read_text(encoding="utf-8"))
    return HooksConfig.model_validate({} if fields is None else fields)
