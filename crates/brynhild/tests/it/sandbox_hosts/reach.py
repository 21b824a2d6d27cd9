"""Tries every way to the host's network and tells, as JSON, what came of it: by itself with three
numbers of ports, or as an MCP server with one tool."""

import json
import os
import socket
import sys
import urllib.error
import urllib.request


def fetch(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=20) as reply:
            return reply.read().decode()
    except urllib.error.HTTPError as error:
        return str(error.code)
    except OSError:
        return "nothing"


def tunnel(port):
    """Asks the proxy for a tunnel to a port and what is at its end."""
    proxy = os.environ.get("http_proxy", "http://127.0.0.1:1").rsplit(":", 1)
    with socket.create_connection(("127.0.0.1", int(proxy[1])), 20) as line:
        line.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        if b" 200 " not in line.recv(4096):
            raise OSError("refused")
        line.sendall(b"GET / HTTP/1.0\r\n\r\n")
        expect(line.recv(4096), b"hello")


def direct(port):
    with socket.create_connection(("127.0.0.1", port), 5) as line:
        line.sendall(b"GET / HTTP/1.0\r\n\r\n")
        expect(line.recv(4096), b"hello")


def datagram(port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.settimeout(2)
        line.connect(("127.0.0.1", port))
        line.send(b"x")
        expect(line.recv(16), b"hello")


def expect(bytes, part):
    if part not in bytes:
        raise OSError("something else")


def around(granted, other, udp):
    ways = {
        "tcp": lambda: direct(granted),
        "tunnel": lambda: tunnel(other),
        "udp": lambda: datagram(udp),
        "names": lambda: socket.getaddrinfo("example.org", 80),
        "packets": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close(),
        "vsock": lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close(),
        "routes": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close(),
    }
    found = []
    for name, way in ways.items():
        try:
            way()
            found.append(name)
        except OSError:
            pass
    return found


def reached(granted, other, udp):
    return {"granted": fetch(granted), "other": fetch(other), "around": around(granted, other, udp)}


def answer(request):
    if request["method"] == "initialize":
        version = request["params"]["protocolVersion"]
        info = {"name": "reach", "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if request["method"] == "tools/list":
        return {"tools": [{"name": "reach", "description": "Reaches.", "inputSchema": {"type": "object"}}]}
    if request["method"] == "tools/call":
        found = reached(**request["params"]["arguments"])
        return {"content": [{"type": "text", "text": json.dumps(found)}]}
    return {}


def serve():
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            reply = {"jsonrpc": "2.0", "id": request["id"], "result": answer(request)}
            print(json.dumps(reply), flush=True)


if sys.argv[1] == "serve":
    serve()
else:
    print(json.dumps(reached(*map(int, sys.argv[1:4]))))
