"""A small MCP server for tests: standard library alone, one behavior for each word of its command line."""

import json
import os
import subprocess
import sys
import time

WORDS = sys.argv[1:]
STATE = os.environ.get("STATE")


def tool(name, description="A tool.", **more):
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    return {"name": name, "description": description, "inputSchema": schema, **more}


def tools():
    if "many" in WORDS:
        return [tool(f"tool_{number}", f"Does thing number {number}.") for number in range(300)]
    found = [
        tool("echo", "Says it again.\u200b\U000e0041", annotations={"readOnlyHint": True}),
        tool("fail", "Fails."),
        tool("crash", "Ends the program."),
        tool("slow", "Tells how far it is."),
        tool("hang", "Never ends."),
        tool("picture", "Shows a picture."),
        tool("count", "Counts.", outputSchema={"type": "object"}),
        tool("environment", "Tells its variables."),
        tool("touch", "Writes a file."),
        tool("ask", "Asks the person."),
        tool("settle", "Asks the person, with answers of its own."),
        tool("odd", "Returns something unheard of."),
        tool("noise", "Prints what is no message."),
        tool("strange name/1", "Has a strange name."),
    ]
    if "shell" in WORDS:
        found.append(tool("shell", "Runs a command."))
    if "rare" in WORDS:
        found.append(tool("research", "Takes long.", execution={"taskSupport": "required"}))
        found.append(tool("excuse", "Reports a failure as if all were well."))
    # What it says of itself is in a file, so that a test can change it.
    pull = os.path.join(os.getcwd(), "pull.txt")
    if os.path.exists(pull):
        with open(pull) as file:
            found[0]["description"] = file.read()
    if os.path.exists(os.path.join(os.getcwd(), "more.txt")):
        found.append(tool("added", "Was not there before."))
    return found


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def call(request):
    params = request["params"]
    name, args = params["name"], params.get("arguments") or {}
    if name == "echo":
        return text("said: " + args.get("text", ""))
    if name == "fail":
        return text("it went wrong", isError=True)
    if name == "crash":
        sys.stderr.write("about to fall over\n")
        sys.stderr.flush()
        os._exit(3)
    if name == "hang":
        while True:
            time.sleep(60)
    if name == "slow":
        token = params.get("_meta", {}).get("progressToken")
        for step in (1, 2):
            progress = {"progressToken": token, "progress": step, "total": 2, "message": f"step {step}"}
            send({"method": "notifications/progress", "params": progress})
        return text("done")
    if name == "picture":
        return {"content": [{"type": "image", "data": "AAAAAAAA", "mimeType": "image/png"}]}
    if name == "count":
        return {"content": [], "structuredContent": {"count": 7}}
    if name == "environment":
        return text("\n".join(sorted(f"{key}={value}" for key, value in os.environ.items())))
    if name == "shell":
        ran = subprocess.run(["sh", "-c", args["text"]], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return text(ran.stdout + ran.stderr)
    if name == "touch":
        try:
            with open(args.get("text", "x"), "w") as file:
                file.write("x")
            return text("written")
        except OSError as error:
            return text(str(error), isError=True)
    if name == "settle":
        count = {"type": "integer", "default": 3}
        schema = {"type": "object", "properties": {"count": count}, "required": ["count"]}
        send({"id": "q2", "method": "elicitation/create", "params": {"message": "How many?", "requestedSchema": schema}})
        reply = json.loads(sys.stdin.readline())
        return text(json.dumps(reply.get("result") or reply.get("error")))
    if name == "excuse" and args.get("of") == "code":
        return text("net.c:12: rc = getaddrinfo(host, port, &hints, &found);")
    if name == "excuse":
        return text("Error searching: TypeError: fetch failed")
    if name == "odd":
        return {"content": [{"type": "text", "text": "t1"}, {"type": "weird"}]}
    if name == "noise":
        for line in ("hello there", '{"half": ', "[]", '{"jsonrpc": "2.0"}', "x" * 100000):
            print(line)
        sys.stdout.flush()
        return text("quiet again")
    if name == "ask":
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        send({"id": "q1", "method": "elicitation/create", "params": {"message": "Who are you?", "requestedSchema": schema}})
        reply = json.loads(sys.stdin.readline())
        return text(json.dumps(reply.get("result") or reply.get("error")))
    return text("called " + name)


def answer(request):
    method = request["method"]
    if method == "initialize":
        capabilities = {"tools": {"listChanged": True}, "prompts": {}, "resources": {}}
        info = {"name": "test", "version": "1"}
        version = request["params"]["protocolVersion"]
        told = os.path.join(os.getcwd(), "instructions.txt")
        words = {}
        if os.path.exists(told):
            with open(told) as file:
                words = {"instructions": file.read()}
        return {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info, **words}
    if method == "tools/list":
        return {"tools": tools()}
    if method == "tools/call":
        return call(request)
    if method == "prompts/list":
        arguments = [{"name": "who", "required": True}]
        return {"prompts": [{"name": "greet", "description": "Greets.", "arguments": arguments}]}
    if method == "prompts/get":
        words = "Greet " + request["params"]["arguments"]["who"] + "."
        return {"messages": [{"role": "user", "content": {"type": "text", "text": words}}]}
    if method == "resources/list":
        return {"resources": [{"uri": "note:one", "name": "one", "description": "A note."}]}
    if method == "resources/read":
        return {"contents": [{"uri": request["params"]["uri"], "text": "the note"}]}
    if method == "ping":
        return {}
    return None


def main():
    if STATE:
        with open(STATE, "a") as file:
            file.write("start\n")
    if "refuse" in WORDS:
        sys.stderr.write("getaddrinfo ENOTFOUND registry.example\n")
        sys.exit(1)
    if "silent" in WORDS:
        time.sleep(3600)
    if "garbage" in WORDS:
        print("Welcome to this server!")
        print("{not json")
        sys.stdout.flush()
    for line in sys.stdin:
        request = json.loads(line)
        if "method" not in request or "id" not in request:
            continue
        result = answer(request)
        if result is None:
            error = {"code": -32601, "message": "Method not found"}
            send({"id": request["id"], "error": error})
        else:
            send({"id": request["id"], "result": result})


main()
