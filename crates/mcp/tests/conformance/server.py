"""What the conformance suite of MCP calls and reads, as a server on the standard library alone.

`brynhild mcp serve --role role.yaml` offers it under these very names.
"""

import json
import sys
import time
from collections import deque

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
SOUND = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQAAAAA="
NOTHING = {"type": "object", "properties": {}}
MODERN = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}
TEXT, STATIC, BINARY, WATCHED = "text/plain", "test://static-text", "test://static-binary", "test://watched-resource"
BEFORE, BEHIND = "test://template/", "/data"

waiting = deque()


def words(text):
    return {"type": "text", "text": text}


def embedded(uri, kind, text):
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}}


IMAGE = {"type": "image", "data": PICTURE, "mimeType": "image/png"}
CONTENT = {
    "test_simple_text": [words("This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [{"type": "audio", "data": SOUND, "mimeType": "audio/wav"}],
    "test_embedded_resource": [embedded("test://embedded-resource", TEXT, "This is an embedded resource content.")],
    "test_multiple_content_types": [
        words("Multiple content types test:"),
        IMAGE,
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
    "test_reconnection": [words("Still here.")],
    "json_schema_2020_12_tool": [words("called")],
}


def options(*pairs):
    return [{"const": value, "title": title} for value, title in pairs]


ASKED = {
    "test_elicitation": {"response": {"type": "string", "description": "User's response"}},
    "test_elicitation_sep1034_defaults": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
    "test_elicitation_sep1330_enums": {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {"type": "string", "oneOf": options(("value1", "First Option"), ("value2", "Second Option"))},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
        "titledMulti": {
            "type": "array",
            "items": {"anyOf": options(("value1", "First Choice"), ("value2", "Second Choice"))},
        },
    },
}


def send(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def ask(method, params):
    """Ask the client, and wait for its answer; what else it says meanwhile waits too."""
    send(id="asked", method=method, params=params)
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == "asked" and "method" not in message:
            return message.get("result") or {"error": message.get("error")}
        waiting.append(message)
    sys.exit()


def call(params):
    name, args = params["name"], params.get("arguments") or {}
    if name in CONTENT:
        return {"content": CONTENT[name]}
    if name == "test_error_handling":
        return {"content": [words("This tool intentionally returns an error for testing")], "isError": True}
    if name == "test_tool_with_logging":
        for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            send(method="notifications/message", params={"level": "info", "data": text})
            time.sleep(0.05)
        return {"content": [words("Logged.")]}
    if name == "test_tool_with_progress":
        token = (params.get("_meta") or {}).get("progressToken")
        for done in (0, 50, 100):
            send(method="notifications/progress", params={"progressToken": token, "progress": done, "total": 100})
            time.sleep(0.05)
        return {"content": [words("Done.")]}
    if name == "test_sampling":
        message = {"role": "user", "content": words(args.get("prompt", ""))}
        reply = ask("sampling/createMessage", {"messages": [message], "maxTokens": 100})
        return {"content": [words("LLM response: " + json.dumps(reply))]}
    if name in ASKED:
        schema = {"type": "object", "properties": ASKED[name], "required": []}
        message = args.get("message", "Please fill this in")
        reply = ask("elicitation/create", {"message": message, "requestedSchema": schema})
        return {"content": [words("Elicitation completed: " + json.dumps(reply))]}
    return {"content": [words("There is no such tool")], "isError": True}


def tools():
    schemas = {name: NOTHING for name in [*CONTENT, *ASKED, "test_error_handling", "test_tool_with_logging"]}
    schemas["test_tool_with_progress"] = NOTHING
    schemas["json_schema_2020_12_tool"] = MODERN
    schemas["test_sampling"] = {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]}
    schemas["test_elicitation"] = {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}
    return [{"name": name, "description": name, "inputSchema": schema} for name, schema in schemas.items()]


def read(uri):
    if uri == BINARY:
        return {"uri": uri, "mimeType": "image/png", "blob": PICTURE}
    if uri.startswith(BEFORE) and uri.endswith(BEHIND):
        name = uri[len(BEFORE) : -len(BEHIND)]
        data = {"id": name, "templateTest": True, "data": "Data for ID: " + name}
        return {"uri": uri, "mimeType": "application/json", "text": json.dumps(data)}
    return {"uri": uri, "mimeType": TEXT, "text": "This is the content of the static text resource."}


PROMPTS = [
    {
        "name": "test_prompt_with_embedded_resource",
        "description": "A prompt with a resource.",
        "arguments": [{"name": "resourceUri", "description": "URI of the resource", "required": True}],
    },
    {"name": "test_prompt_with_image", "description": "A prompt with a picture."},
]


def prompt(name, args):
    if name == "test_prompt_with_image":
        contents = [IMAGE, words("Please analyze the image above.")]
    else:
        resource = embedded(args["resourceUri"], TEXT, "Embedded resource content for testing.")
        contents = [resource, words("Please process the embedded resource above.")]
    return [{"role": "user", "content": content} for content in contents]


def answer(method, params):
    if method == "initialize":
        capabilities = {"tools": {}, "prompts": {}, "resources": {"subscribe": True}, "logging": {}}
        info = {"name": "conformance", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": capabilities, "serverInfo": info}
    if method == "tools/list":
        return {"tools": tools()}
    if method == "tools/call":
        return call(params)
    if method == "prompts/list":
        return {"prompts": PROMPTS}
    if method == "prompts/get":
        return {"messages": prompt(params["name"], params.get("arguments") or {})}
    if method == "resources/list":
        return {"resources": [{"uri": uri, "name": uri.rpartition("/")[2]} for uri in (STATIC, BINARY, WATCHED)]}
    if method == "resources/templates/list":
        return {"resourceTemplates": [{"uriTemplate": BEFORE + "{id}" + BEHIND, "name": "template"}]}
    if method == "resources/read":
        return {"contents": [read(params["uri"])]}
    if method in ("resources/subscribe", "resources/unsubscribe", "logging/setLevel", "ping"):
        if method == "resources/subscribe":
            send(method="notifications/resources/updated", params={"uri": params["uri"]})
        return {}
    return None


def handle(request):
    if "method" not in request or "id" not in request:
        return
    result = answer(request["method"], request.get("params") or {})
    if result is None:
        send(id=request["id"], error={"code": -32601, "message": "Method not found"})
    else:
        send(id=request["id"], result=result)


for line in sys.stdin:
    waiting.append(json.loads(line))
    while waiting:
        handle(waiting.popleft())
