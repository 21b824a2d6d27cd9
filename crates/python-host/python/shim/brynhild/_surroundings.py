"""The facts that the host sent about the session. Empty outside of a host."""

config = {}
settings = {}
plugin = None
cwd = None
project_root = None
model = None


def enter(params):
    """Take over what the host sends once at the start."""
    globals().update(
        config=params.get("config") or {},
        settings=params.get("settings") or {},
        plugin=params.get("plugin"),
        cwd=params.get("cwd"),
        project_root=params.get("project_root"),
        model=params.get("model"),
    )
