"""The paths that a tool may read and write.

The sandbox of the process applies in any case; these checks give better messages.
"""
from __future__ import annotations

import os as _os
import pathlib as _pathlib
import sys as _sys
import tempfile as _tempfile

from brynhild._records import ABSENT, record

__all__ = [
    "PathValidationError",
    "SandboxConfig",
    "check_read_path",
    "check_write_path",
    "resolve_and_validate",
    "validate_path",
]

_READ_BLOCKED = {
    "linux": ("/home", "/root", "/mnt", "/media", "/run/media"),
    "darwin": ("/Users", "/Volumes"),
}
_WRITE_BLOCKED = {
    "linux": ("/etc", "/usr", "/bin", "/sbin", "/var", "/opt", "/boot", "/lib", "/lib64", "/lib32", "/srv"),
    "darwin": (
        "/System",
        "/Library",
        "/Applications",
        "/private",
        "/cores",
        "/etc",
        "/usr",
        "/bin",
        "/sbin",
        "/var",
        "/opt",
    ),
}


class PathValidationError(Exception):
    """Raised if a path may not be read or written."""


@record(allowed_paths=list)
class SandboxConfig:
    """The directories that a tool may use, and the network permission."""

    project_root: _pathlib.Path
    allowed_paths: list[_pathlib.Path]
    allow_network: bool = False

    def __init__(self, project_root, allowed_paths=ABSENT, allow_network: bool = False) -> None:
        self.project_root = _pathlib.Path(project_root)
        self.allowed_paths = [] if allowed_paths is ABSENT else [_pathlib.Path(path) for path in allowed_paths]
        self.allow_network = allow_network

    @classmethod
    def for_session(cls, base_dir=None) -> SandboxConfig:
        """The configuration of the session that the tool runs in."""
        from brynhild.config import Settings

        settings = Settings()
        extra = settings.sandbox.get("allowed_paths") or []
        if isinstance(extra, str):
            extra = extra.split(":")
        return cls(base_dir or settings.project_root, extra, bool(settings.sandbox.get("allow_network")))

    def get_allowed_directories(self) -> list[_pathlib.Path]:
        """The project, the temporary directories, and the added directories."""
        temporary = ("/tmp", "/private/tmp", _tempfile.gettempdir())
        directories = [self.project_root, *map(_pathlib.Path, temporary), *self.allowed_paths]
        return [directory.expanduser().resolve() for directory in directories]


def check_read_path(path, config: SandboxConfig) -> None:
    """Raise PathValidationError if the path may not be read."""
    resolved = _resolve(path, config.project_root)
    if _within(resolved, config.get_allowed_directories()):
        return
    if _within(resolved, _blocked(_READ_BLOCKED)):
        raise PathValidationError(
            "Read access denied: %s is in a protected location. Open it with sandbox.allowed_paths." % path
        )


def check_write_path(path, config: SandboxConfig) -> None:
    """Raise PathValidationError if the path may not be written."""
    resolved = _resolve(path, config.project_root)
    if _within(resolved, config.get_allowed_directories()):
        return
    protected = _within(resolved, _blocked(_READ_BLOCKED) + _blocked(_WRITE_BLOCKED))
    where = "in a protected location" if protected else "outside allowed directories"
    raise PathValidationError(
        "Write access denied: %s is %s. Writes go to the project, the temporary directory or sandbox.allowed_paths."
        % (path, where)
    )


def validate_path(path, config: SandboxConfig, operation: str = "read") -> _pathlib.Path:
    """The resolved path, if the operation is allowed on it."""
    return resolve_and_validate(path, config.project_root, config, operation)


def resolve_and_validate(path, base_dir, config: SandboxConfig, operation: str = "read") -> _pathlib.Path:
    """The path made absolute from `base_dir`, if the operation is allowed on it."""
    if operation not in ("read", "write"):
        raise ValueError("the operation is `read` or `write`, not %r" % (operation,))
    resolved = _resolve(path, base_dir)
    try:
        (check_write_path if operation == "write" else check_read_path)(resolved, config)
    except PathValidationError as error:
        raise PathValidationError(str(error).replace(str(resolved), str(path), 1)) from None
    return resolved


def _resolve(path, base):
    try:
        return (_pathlib.Path(base) / _pathlib.Path(_os.path.expanduser(str(path)))).resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise PathValidationError("Invalid path: %s: %s" % (path, error)) from error


def _within(path, directories):
    return any(path == directory or directory in path.parents for directory in directories)


def _blocked(table):
    names = table.get("linux" if _sys.platform.startswith("linux") else _sys.platform, ())
    return [_pathlib.Path(name) for name in names]
