"""The modules of Brynhild that plugins import. They need only the standard library, and work without Brynhild."""
from brynhild._lazy import attach

__version__ = "0.1.0"
__version_info__ = (0, 1, 0)

__all__ = ["Message", "Session", "SessionManager", "Settings", "__version__", "__version_info__"]

__getattr__, __dir__ = attach(
    __name__,
    {"Settings": "config", "Session": "session", "SessionManager": "session", "Message": "session"},
    ("api", "config", "constants", "core", "hooks", "logging", "plugins", "profiles", "session", "skills", "tools"),
)
