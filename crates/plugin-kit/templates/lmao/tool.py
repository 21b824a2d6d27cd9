"""A plugin for LMAO: a manifest and a function `run` that returns JSON."""

import json

from lmao.plugin_helpers import safe_target_path
from lmao.plugins import PLUGIN_API_VERSION

PLUGIN = {
    "name": "__IDENT__",
    "description": "Counts the lines of a file",
    "api_version": PLUGIN_API_VERSION,
    "is_destructive": False,
    "usage": ['{"tool": "__IDENT__", "target": "notes.txt"}'],  # the model reads them, `brynhild plugin test` runs them
}


def run(target, args, base, extra_roots, skill_roots, debug_logger=None, meta=None):
    path = safe_target_path(target, base, extra_roots)
    if not path.is_file():
        return json.dumps({"tool": "__IDENT__", "success": False, "error": f"there is no file {target}"})
    lines = len(path.read_text().splitlines())
    return json.dumps({"tool": "__IDENT__", "success": True, "data": lines})
