"""Credentials that are stored in a file."""
from __future__ import annotations

__all__ = ["load_credentials_from_path"]


def load_credentials_from_path(path) -> dict:
    """The JSON object in a file; ValueError if there is none."""
    import json
    import os

    shown = str(path)
    file = os.path.expanduser(os.path.expandvars(shown))
    try:
        with open(file, encoding="utf-8") as handle:
            value = json.load(handle)
    except FileNotFoundError:
        raise ValueError("Credentials file not found: %s" % shown) from None
    except PermissionError:
        raise ValueError("Permission denied reading credentials file: %s" % shown) from None
    except json.JSONDecodeError as error:
        raise ValueError("Invalid JSON in credentials file %s: %s" % (shown, error)) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError("Cannot read credentials file %s: %s" % (shown, error)) from error
    if not isinstance(value, dict):
        raise ValueError("Credentials file must contain a JSON object: %s" % shown)
    return value
