"""An MCP server without packages: one JSON-RPC message a line, on standard input and output."""

import json
import sys

GREET = {
    "name": "greet",
    "description": "Make a greeting for somebody",
    "inputSchema": {
        "type": "object",
        "properties": {"name": {"type": "string", "description": "Who is greeted"}},
        "required": ["name"],
    },
}


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "__NAME__", "version": "0.1.0"},
        }
    if method == "tools/list":
        return {"tools": [GREET]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": f"Hello, {params['arguments']['name']}!"}]}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
