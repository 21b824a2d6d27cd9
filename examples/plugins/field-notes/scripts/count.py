#!/usr/bin/env python3
"""Adds one line to the system prompt when there are notes."""

import json
import os
import pathlib
import sys

json.load(sys.stdin)
file = pathlib.Path(os.environ["BRYNHILD_PLUGIN_DATA"]) / "notes.jsonl"
count = len(file.read_text().splitlines()) if file.exists() else 0
answer = {"action": "continue"}
if count:
    answer["context_injection"] = f"Notes of earlier sessions: {count}. The tool `note` lists them."
    answer["context_location"] = "append"
json.dump(answer, sys.stdout)
