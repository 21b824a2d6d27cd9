"""Creates providers by name."""
from __future__ import annotations

import os as _os

__all__ = [
    "create_provider",
    "get_available_provider_names",
    "get_available_provider_types",
    "get_available_providers",
    "get_default_provider",
]

_BUILTIN = ("openrouter", "ollama")


def get_available_provider_types() -> list[str]:
    """The names of the provider types: the bundled ones and those of plugins."""
    from brynhild.plugins.providers import get_plugin_provider_names

    return sorted({*_BUILTIN, *get_plugin_provider_names()})


def get_available_provider_names() -> list[str]:
    """The names of the provider types and of the configured instances."""
    from brynhild.config import Settings

    return sorted({*get_available_provider_types(), *Settings().providers.instances})


def get_available_providers() -> list[dict]:
    """A description of each provider type."""
    from brynhild.plugins.providers import get_all_plugin_providers

    key = bool(_os.environ.get("OPENROUTER_API_KEY"))
    listed = [
        {"name": "openrouter", "type": "openrouter", "key_configured": key, "available": True, "source": "builtin"},
        {"name": "ollama", "type": "ollama", "key_configured": True, "available": True, "source": "builtin"},
    ]
    for name in sorted(get_all_plugin_providers()):
        listed.append({"name": name, "type": name, "key_configured": True, "available": True, "source": "plugin"})
    return listed


def get_default_provider() -> str:
    """The name of the configured provider."""
    from brynhild.config import Settings

    return Settings().provider


def create_provider(provider=None, model=None, api_key=None, *, auto_profile=True, load_plugins=True):
    """Create a provider by the name of its type or of a configured instance."""
    from brynhild.config import Settings

    settings = Settings()
    name = provider or settings.provider
    instance = dict(settings.providers.instances.get(name) or {})
    kind = instance.pop("type", name)
    subject = _class_of(kind, load_plugins)
    if subject is None:
        known = ", ".join(get_available_provider_names())
        remedy = "Ensure the plugin that brings it is loaded"
        raise ValueError("Unknown provider: %s. %s. Available: %s" % (name, remedy, known))
    model = model or instance.pop("default_model", None) or (None if kind == "ollama" else settings.model)
    return _construct(subject, kind, instance, {"model": model, "api_key": api_key})


def _class_of(kind, load_plugins):
    if kind == "ollama":
        from brynhild.api.ollama_provider import OllamaProvider

        return OllamaProvider
    if kind == "openrouter":
        from brynhild.api.openrouter_provider import OpenRouterProvider

        return OpenRouterProvider
    from brynhild.plugins.providers import get_plugin_provider, load_all_plugin_providers

    found = get_plugin_provider(kind)
    if found is None and load_plugins:
        found = load_all_plugin_providers().get(kind)
    return found


def _construct(subject, kind, instance, chosen):
    chosen = {name: value for name, value in chosen.items() if value is not None}
    model = {name: value for name, value in chosen.items() if name == "model"}
    path = instance.get("credentials_path")
    if path and getattr(subject, "expand_credentials_path", True):
        instance["credentials_path"] = _os.path.expanduser(_os.path.expandvars(path))
    failure = None
    for arguments in (dict(instance, **chosen), chosen, model, {}):
        try:
            return subject(**arguments)
        except TypeError as error:
            failure = failure or error
        except Exception as error:
            raise ValueError("Failed to create provider '%s': %s" % (kind, error)) from error
    raise ValueError("Failed to create provider '%s': %s" % (kind, failure)) from failure
