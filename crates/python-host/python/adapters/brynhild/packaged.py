"""What a package offers through entry points besides tools and providers, as plain data."""
from brynhild_host.adapters.brynhild.loading import NothingFound

_PREFIX = "brynhild."


def describe(plugin, problems):
    """The values of all other entry-point groups; a failing one costs one problem."""
    result = {"plugin": None, "hooks": [], "skills": [], "commands": [], "rules": [], "profiles": []}
    for point in plugin.entry_points:
        group = point["group"][len(_PREFIX) :] if point["group"].startswith(_PREFIX) else ""
        read = _READERS.get(group)
        if read is None:
            continue
        key = "entry:%s:%s" % (point["group"], point["name"])
        for value in plugin.attempt(problems, key, lambda key: _values(plugin, key, group)) or ():
            items = plugin.attempt(problems, key, lambda key, value=value: read(value, point["name"], plugin))
            if group == "plugins":
                result["plugin"] = items or result["plugin"]
            elif items:
                labelled = items if group == "profiles" else [dict(item, entry_point=point["name"]) for item in items]
                result[group].extend(labelled)
    plugin.report_empty(problems)
    return result


def _values(plugin, key, group):
    """What an entry point gives; profiles one by one, so that a wrong one costs no other."""
    value = plugin.entry(key)
    if group == "plugins" or (callable(value) and not hasattr(value, "frontmatter")):
        value = value()
    return value if group == "profiles" and isinstance(value, (list, tuple)) else [value]


def _manifest(value, name, plugin):
    manifest = getattr(value, "manifest", value)
    fields = manifest.model_dump() if hasattr(manifest, "model_dump") else manifest
    if not isinstance(fields, dict) or "name" not in fields:
        raise NothingFound("it gives a %s" % type(value).__name__, "return a PluginManifest")
    from brynhild.plugins.manifest import PluginManifest

    return PluginManifest.model_validate(fields).model_dump()


def _hooks(value, name, plugin):
    from brynhild.hooks.config import HooksConfig

    data = value.model_dump() if hasattr(value, "model_dump") else value
    config = HooksConfig.model_validate(data).model_dump(exclude_none=True)
    return [{"name": name, "config": config}]


def _skills(value, name, plugin):
    if isinstance(value, dict):
        given = dict(value)
        skill = {
            "name": given.get("name"),
            "description": given.get("description"),
            "body": given.get("body") or "",
            "license": given.get("license"),
            "allowed_tools": given.get("allowed_tools") or given.get("allowed-tools") or [],
            "metadata": given.get("metadata") or {},
            "path": None,
            "source": "entry_point:%s" % name,
        }
    elif isinstance(value, (list, tuple)):
        return [skill for item in value for skill in _skills(item, name, plugin)]
    else:
        skill = {
            "name": value.name,
            "description": value.description,
            "body": value.body,
            "license": getattr(value, "license", None),
            "allowed_tools": list(value.allowed_tools),
            "metadata": dict(getattr(value.frontmatter, "metadata", None) or {}),
            "path": _path(value),
            "source": getattr(value, "source", None),
        }
    _require(skill, "name", "description")
    return [skill]


def _commands(value, name, plugin):
    if isinstance(value, (list, tuple)):
        return [command for item in value for command in _commands(item, name, plugin)]
    frontmatter = getattr(value, "frontmatter", None)

    def get(field, default):
        found = value.get(field) if isinstance(value, dict) else getattr(frontmatter, field, None)
        return default if found is None else found

    body = value.get("body") if isinstance(value, dict) else value.body
    command = {
        "name": get("name", name),
        "description": get("description", ""),
        "aliases": list(get("aliases", [])),
        "args": get("args", ""),
        "body": body or "",
        "path": None if isinstance(value, dict) else _path(value),
    }
    _require(command, "name")
    return [command]


def _rules(value, name, plugin):
    if isinstance(value, str):
        return [{"name": name, "content": value}]
    if isinstance(value, dict):
        rule = {"name": value.get("name") or name, "content": value.get("content")}
        _require(rule, "content")
        return [rule]
    return [rule for index, item in enumerate(value) for rule in _rules(item, "%s_%d" % (name, index), plugin)]


def _profiles(value, name, plugin):
    if isinstance(value, (list, tuple)):
        return [profile for item in value for profile in _profiles(item, name, plugin)]
    from brynhild.profiles.types import ModelProfile

    profile = ModelProfile.from_dict(value) if isinstance(value, dict) else value
    return [profile.to_dict()]


def _path(value):
    path = getattr(value, "path", None)
    return None if path is None else str(path)


def _require(item, *names):
    for name in names:
        if not isinstance(item[name], str) or not item[name]:
            raise NothingFound("`%s` is missing" % name, "give it a text")


_READERS = {
    "plugins": _manifest,
    "hooks": _hooks,
    "skills": _skills,
    "commands": _commands,
    "rules": _rules,
    "profiles": _profiles,
}
