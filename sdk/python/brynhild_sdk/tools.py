"""Tools of the application, served to the program over MCP.

The server listens on this machine only. Its address has a secret part, and calls carry a token.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import secrets
import threading
import types
import typing
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, Optional

SERVER_NAME = "app"
CALL_SECONDS = 86_400
JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}


@dataclass(frozen=True)
class Tool:
    """A function that the model may call."""

    name: str
    description: str
    schema: Dict[str, Any]
    function: Callable[..., Any]

    @classmethod
    def of(cls, function, name=None, description=None, schema=None) -> Tool:
        description = description or inspect.getdoc(function)
        if not description:
            raise ValueError(f"the tool `{function.__name__}` needs a docstring or a description")
        return cls(name or function.__name__, description, schema or schema_of(function), function)


def schema_of(function: Callable[..., Any]) -> Dict[str, Any]:
    """Returns the JSON Schema of a function's arguments, by its annotations."""
    hints = typing.get_type_hints(function)
    properties, required = {}, []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ValueError(f"`{parameter}` of `{function.__name__}` cannot be described; pass `schema`")
        properties[parameter.name] = schema_of_type(hints.get(parameter.name, Any))
        if parameter.default is parameter.empty:
            required.append(parameter.name)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def schema_of_type(hint: Any) -> Dict[str, Any]:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return {}
    if hint in JSON_TYPES:
        return {"type": JSON_TYPES[hint]}
    if hint is type(None):
        return {"type": "null"}
    if origin is typing.Literal:
        return {"enum": list(arguments)}
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [schema_of_type(argument) for argument in arguments]}
    if origin is list:
        return {"type": "array", "items": schema_of_type(arguments[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema_of_type(arguments[1])}
    raise ValueError(f"the type {hint} has no JSON Schema; pass `schema`")


class ToolServer:
    """Serves tools until it is closed. Each call has a thread of its own."""

    def __init__(self, tools: Dict[str, Tool], loop: Optional[asyncio.AbstractEventLoop]):
        self._tools = tools
        self._loop = loop
        self._token = secrets.token_urlsafe(24)
        self._path = f"/{secrets.token_hex(8)}"
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler_for(self))
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()

    def config(self) -> Dict[str, Any]:
        """Returns the entry of the server in an MCP configuration."""
        return {
            "type": "http",
            "url": f"http://127.0.0.1:{self._http.server_port}{self._path}",
            "headers": {"Authorization": f"Bearer {self._token}"},
            "timeout": CALL_SECONDS,
        }

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def is_allowed(self, path: str, authorization: Optional[str]) -> bool:
        given = (authorization or "").encode()
        return path == self._path and secrets.compare_digest(given, f"Bearer {self._token}".encode())

    def reply(self, message: Dict[str, Any]) -> Optional[Dict[str, Any]]:
        """Returns the response to a message; none to a notification."""
        if "id" not in message:
            return None
        method, params = message.get("method"), message.get("params", {})
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        if method == "initialize":
            info = {"name": SERVER_NAME, "version": "1"}
            version = params.get("protocolVersion")
            return {**reply, "result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}}
        if method == "ping":
            return {**reply, "result": {}}
        if method == "tools/list":
            tools = [
                {"name": tool.name, "description": tool.description, "inputSchema": tool.schema}
                for tool in self._tools.values()
            ]
            return {**reply, "result": {"tools": tools}}
        if method == "tools/call" and params.get("name") in self._tools:
            return {**reply, "result": self._call(self._tools[params["name"]], params.get("arguments") or {})}
        return {**reply, "error": {"code": -32601, "message": f"there is no method `{method}` for this"}}

    def _call(self, tool: Tool, arguments: Dict[str, Any]) -> Dict[str, Any]:
        try:
            value = tool.function(**arguments)
            if inspect.isawaitable(value):
                value = self._wait_for(value)
            text = value if isinstance(value, str) else json.dumps(value)
        except Exception as error:
            # The model reads it and can react; the turn goes on.
            return {"content": [{"type": "text", "text": f"{type(error).__name__}: {error}"}], "isError": True}
        return {"content": [{"type": "text", "text": text}]}

    def _wait_for(self, value: Any) -> Any:
        async def wait() -> Any:
            return await value

        if self._loop is None:
            return asyncio.run(wait())
        return asyncio.run_coroutine_threadsafe(wait(), self._loop).result()


def handler_for(server: ToolServer) -> type:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if not server.is_allowed(self.path, self.headers.get("Authorization")):
                return self._send(403)
            reply = server.reply(json.loads(body))
            self._send(202) if reply is None else self._send(200, json.dumps(reply).encode())

        def do_GET(self) -> None:
            self._send(405)

        do_DELETE = do_GET

        def _send(self, status: int, body: bytes = b"") -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler
