#!/usr/bin/env python3
"""Reads what is about to run, and refuses git commands that lose work."""

import json
import re
import sys

LOSING = {
    r"\bpush\b.*\s(--force\b(?!-with-lease)|-\w*f|--mirror\b|\+\S)": "a forced push overwrites what others pushed",
    r"\bclean\b.*\s(--force\b|-\w*f)": "git clean deletes files that were never committed",
    r"\breset\b.*\s--hard\b": "a hard reset discards changes that were never committed",
}

context = json.load(sys.stdin)
command = context["tool_input"].get("command", "")
reasons = [reason for pattern, reason in LOSING.items() if re.search(pattern, command)]
if reasons:
    answer = {"action": "block", "message": f"{reasons[0]}; ask the user to do it"}
else:
    answer = {"action": "continue"}
json.dump(answer, sys.stdout)
