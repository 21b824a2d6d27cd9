#!/usr/bin/env python3
"""Reads a tool call as JSON, and answers with `continue`, `block` or `modify`."""

import json
import re
import sys

context = json.load(sys.stdin)
command = context["tool_input"].get("command", "")
if re.search(r"\bgit\b.*\bpush\b", command):
    answer = {"action": "block", "message": "pushing is left to the user"}
else:
    answer = {"action": "continue"}
json.dump(answer, sys.stdout)
