"""Notes for the length of a conversation: two tools, one of which changes something, and a hook."""
import json

from lmao.plugins import PLUGIN_API_VERSION

PLUGINS = [
    {
        "name": "note_add",
        "description": "Keeps a note until the conversation ends",
        "api_version": PLUGIN_API_VERSION,
        "input_schema": "args: {text: string (required), tag?: string}",
        "usage": ['{"tool": "note_add", "target": "", "args": {"text": "ask about the port", "tag": "server"}}'],
        "hooks": {"post_result_transform": "count_notes"},
    },
    {
        "name": "note_list",
        "description": "Lists the notes, of one tag where `target` names it",
        "api_version": PLUGIN_API_VERSION,
    },
]

NOTES = []


def run(tool_name, target, args, base, extra_roots, skill_roots, debug_logger=None, meta=None):
    if tool_name == "note_list":
        found = [note for note in NOTES if target in ("", note["tag"])]
        return json.dumps({"tool": tool_name, "success": True, "data": found})
    args = args if isinstance(args, dict) else {"text": args or ""}
    if not args["text"]:
        return json.dumps({"tool": tool_name, "success": False, "error": "there is no text to keep"})
    NOTES.append({"text": args["text"], "tag": args.get("tag", "")})
    return json.dumps({"tool": tool_name, "success": True, "data": "kept"})


def count_notes(context):
    """Says with each result how many notes there are."""
    if context.tool_name != "note_add":
        return
    result = json.loads(context.tool_result)
    result["note"] = "%d kept so far" % len(NOTES)
    context.tool_result = json.dumps(result)
