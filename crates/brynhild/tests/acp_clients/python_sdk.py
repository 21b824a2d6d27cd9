"""Drives `brynhild acp` with the Python SDK. Arguments: the program, the project, an MCP server, an address of one."""

import asyncio
import os
import signal
import sys

from acp import PROTOCOL_VERSION, spawn_agent_process, text_block
from acp.interfaces import Client
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    EnvVariable,
    HttpMcpServer,
    McpServerStdio,
    RequestPermissionResponse,
    ResourceContentBlock,
)

program, project, server, address = sys.argv[1:5]


class Editor(Client):
    def __init__(self):
        self.updates = []
        self.choice = "once"

    async def session_update(self, session_id, update, **_):
        self.updates.append(update)

    async def request_permission(self, options, session_id, tool_call, **_):
        if self.choice == "cancel":
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        assert self.choice in [option.option_id for option in options]
        return RequestPermissionResponse(
            outcome=AllowedOutcome(outcome="selected", option_id=self.choice)
        )

    def kinds(self):
        return [update.session_update for update in self.updates]

    async def until(self, found):
        while not found():
            await asyncio.sleep(0.01)


def done(step):
    print("ok", step, flush=True)


def connect(editor):
    return spawn_agent_process(editor, program, "--mode", "ask", "acp")


async def begin(conn):
    return await conn.initialize(
        protocol_version=PROTOCOL_VERSION, client_capabilities=ClientCapabilities()
    )


async def say(conn, session, text):
    answer = await conn.prompt(session_id=session, prompt=[text_block(text)])
    return answer.stop_reason


async def main():
    editor = Editor()
    made = os.path.join(project, "made.txt")
    async with connect(editor) as (conn, process):
        about = await begin(conn)
        assert about.protocol_version == 1 and about.agent_capabilities.load_session
        done("initialize")
        opened = await conn.new_session(cwd=project, mcp_servers=[])
        session = opened.session_id
        assert opened.modes.current_mode_id == "ask"
        await editor.until(lambda: "available_commands_update" in editor.kinds())
        done("new, commands")
        link = ResourceContentBlock(type="resource_link", uri=f"file://{project}/a.rs", name="a.rs")
        answer = await conn.prompt(session_id=session, prompt=[text_block("hello "), link])
        assert answer.stop_reason == "end_turn", answer
        done("prompt with a link")
        for choice, reason, exists in [
            ("deny", "end_turn", False),
            ("cancel", "cancelled", False),
            ("once", "end_turn", True),
        ]:
            editor.choice = choice
            assert await say(conn, session, "write") == reason, choice
            assert os.path.exists(made) == exists, choice
            done(f"permission {choice}")
        editor.updates.clear()
        prompt = asyncio.create_task(say(conn, session, "sleep"))
        await editor.until(lambda: "begun" in repr(editor.updates))
        await conn.cancel(session_id=session)
        assert await prompt == "cancelled"
        done("cancel in a tool")
        await conn.set_session_mode(session_id=session, mode_id="normal")
        done("set_mode")
        options = await conn.set_config_option(session_id=session, config_id="mode", value="ask")
        assert options.config_options[0].current_value == "ask", options
        done("set_config_option")
        process.send_signal(signal.SIGKILL)
    editor = Editor()
    async with connect(editor) as (conn, process):
        await begin(conn)
        await conn.load_session(cwd=project, session_id=session, mcp_servers=[])
        kinds = editor.kinds()
        assert "user_message_chunk" in kinds and "tool_call" in kinds, kinds
        assert await say(conn, session, "hello") == "end_turn"
        done("load after kill -9")
        ids, cursor = [], None
        while True:
            page = await conn.list_sessions(cwd=project, cursor=cursor)
            ids += [entry.session_id for entry in page.sessions]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert session in ids and len(ids) == len(set(ids)) > 50, len(ids)
        done("list with cursor")
        await conn.close_session(session_id=session)
        done("close")
        editor.updates.clear()
        await conn.resume_session(cwd=project, session_id=session, mcp_servers=[])
        assert "user_message_chunk" not in editor.kinds()
        assert await say(conn, session, "hello") == "end_turn"
        done("resume")
        servers = [
            McpServerStdio(
                name="theirs",
                command="python3",
                args=[server],
                env=[EnvVariable(name="KEY", value="sesame")],
            ),
            HttpMcpServer(type="http", name="web", url=address, headers=[]),
        ]
        opened = await conn.new_session(cwd=project, mcp_servers=servers)
        for step, prompt in [("stdio", "use stdio server"), ("HTTP", "use web server")]:
            editor.updates.clear()
            assert await say(conn, opened.session_id, prompt) == "end_turn"
            states = [getattr(update, "status", None) for update in editor.updates]
            assert "completed" in states, editor.updates
            done(f"{step} MCP server")
        await conn._conn.send_request("session/delete", {"sessionId": session})
        page = await conn.list_sessions(cwd=project)
        assert session not in [entry.session_id for entry in page.sessions]
        done("delete")


asyncio.run(main())
print("finished", flush=True)
