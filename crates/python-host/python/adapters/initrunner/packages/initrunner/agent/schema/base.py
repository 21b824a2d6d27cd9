"""Parts of a role's file, as objects whose missing keys are None."""


class Part:
    """A mapping of a role's file with its keys as attributes."""

    def __init__(self, values=None):
        self.__dict__.update({str(key): of(value) for key, value in (values or {}).items()})

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None

    def model_dump(self, **_):
        """The keys as data."""
        return {key: _data(value) for key, value in self.__dict__.items()}

    def __repr__(self):
        return "%s(%r)" % (type(self).__name__, self.__dict__)


class RoleDefinition(Part):
    """A role: `metadata` and `spec`."""


def of(value):
    """A value of a role's file with attributes where it has keys."""
    if isinstance(value, dict):
        return Part(value)
    return [of(item) for item in value] if isinstance(value, list) else value


def _data(value):
    if isinstance(value, Part):
        return value.model_dump()
    return [_data(item) for item in value] if isinstance(value, list) else value


def __getattr__(name):
    from brynhild_host.adapters.initrunner.imports import wanted

    raise wanted(__name__, name)
