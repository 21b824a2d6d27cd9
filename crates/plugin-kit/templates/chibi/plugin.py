#!/usr/bin/env python3
"""A plugin for chibi: an executable that describes itself, reads JSON and prints its answer."""

import json
import sys

SCHEMA = {
    "name": "__IDENT__",
    "description": "Writes a text in capital letters",
    "parameters": {
        "type": "object",
        "properties": {"text": {"type": "string", "description": "The text"}},
        "required": ["text"],
    },
    "summary_params": ["text"],
}

if "--schema" in sys.argv:
    print(json.dumps(SCHEMA))
else:
    print(json.load(sys.stdin)["text"].upper())
