"""The effective configuration. Outside of Brynhild: the defaults and the environment."""
from __future__ import annotations

import os as _os

__all__ = ["Settings"]

_PREFIX = "BRYNHILD_"
_DEFAULTS = {
    "version": 1,
    "models": {"default": "openai/gpt-oss-120b", "aliases": {}, "favorites": {}, "registry": {}},
    "providers": {"default": "openrouter", "instances": {}},
    "behavior": {
        "max_tokens": 8192,
        "output_format": "text",
        "verbose": False,
        "show_thinking": False,
        "show_cost": False,
        "reasoning_format": "auto",
        "reasoning_level": "auto",
    },
    "sandbox": {"enabled": True, "allow_network": False, "allowed_paths": []},
    "logging": {"enabled": True, "dir": None, "level": "info", "private": True, "raw_payloads": False},
    "session": {"auto_save": True, "history_limit": 100},
    "plugins": {"search_paths": [], "enabled": {}},
    "tools": {"disabled": {}},
    "dangerously_skip_permissions": False,
    "dangerously_skip_sandbox": False,
    "allow_home_directory": False,
    "log_file": None,
}


class Section(dict):
    """A mapping whose keys are also attributes."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self[name] = value

    def model_dump(self, **_options) -> dict:
        """The object as a dict of plain data."""
        return {key: value.model_dump() if isinstance(value, Section) else value for key, value in self.items()}


class Settings(Section):
    """All settings, such as `settings.models.default` and `settings.behavior.max_tokens`."""

    def __init__(self, **overrides) -> None:
        from brynhild import _surroundings

        merged = _merge(_DEFAULTS, _surroundings.config) if _surroundings.plugin else _merge(_DEFAULTS, _environment())
        super().__init__(_sections(_merge(merged, overrides)))

    @property
    def provider(self) -> str:
        """The name of the provider in use."""
        from brynhild import _surroundings

        return (_surroundings.model or {}).get("provider") or self.providers.default

    @property
    def model(self) -> str:
        """The model in use."""
        from brynhild import _surroundings

        return (_surroundings.model or {}).get("model") or self.models.default

    @property
    def max_tokens(self) -> int:
        """The limit of tokens in an answer."""
        return self.behavior.max_tokens

    @property
    def project_root(self):
        """The project's directory."""
        import pathlib

        from brynhild import _surroundings

        return pathlib.Path(_surroundings.project_root or _os.getcwd())

    @property
    def plugin_settings(self) -> dict:
        """The configuration of this plugin."""
        from brynhild import _surroundings

        return dict(_surroundings.settings)

    def get_api_key(self) -> str | None:
        """The API key from the environment, if the plugin may see it."""
        return _os.environ.get("OPENROUTER_API_KEY")


def _merge(base, changes):
    merged = dict(base)
    for key, value in changes.items():
        known = merged.get(key)
        merged[key] = _merge(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return merged


def _sections(data):
    return {key: Section(_sections(value)) if isinstance(value, dict) else value for key, value in data.items()}


def _environment():
    found: dict = {}
    for name, value in _os.environ.items():
        path = name[len(_PREFIX) :].lower().split("__")
        if not name.upper().startswith(_PREFIX) or path[0] not in _DEFAULTS or path == ["plugins"]:
            continue
        place = found
        for part in path[:-1]:
            place = place.setdefault(part, {})
        if isinstance(place, dict):
            place[path[-1]] = _value(value)
    return found


def _value(text):
    import json

    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return json.loads(text)
    except ValueError:
        return text
