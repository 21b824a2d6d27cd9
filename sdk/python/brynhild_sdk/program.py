"""Starts the program for a conversation: options become flags, and tools a server of their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from typing import Any, Dict, List, Optional

from .errors import SetupError, error_of_exit
from .tools import SERVER_NAME, Tool, ToolServer
from .transport import ProcessTransport, find_binary


class Program:
    """Converses with a child process."""

    def __init__(
        self,
        cwd: str,
        flags: Dict[str, Any],
        *,
        allowed_tools: Optional[List[str]],
        mcp_servers: Optional[Dict[str, Any]],
        binary: Optional[str],
        env: Optional[Dict[str, str]],
    ):
        self._cwd, self._flags, self._binary = cwd, flags, binary
        self._allowed_tools = list(allowed_tools or [])
        self._mcp_servers = dict(mcp_servers or {})
        self._env = dict(env or {})
        self._server: Optional[ToolServer] = None
        self._files: Optional[str] = None

    def connect(
        self,
        name: Optional[str],
        resume: Optional[str],
        fork: bool,
        schema: Optional[Dict[str, Any]],
        tools: Dict[str, Tool],
        loop: Any,
    ) -> ProcessTransport:
        """Starts the program with a new session, or with one to resume or to copy."""
        command = [find_binary(self._binary), "chat", "--input-format=stream-json", "--output-format=stream-json"]
        for flag, value in self._flags.items():
            if value is not None:
                command.append(f"--{flag.replace('_', '-')}={value}")
        if resume is not None:
            command += [f"--resume={resume}"] + (["--fork"] if fork else [])
        elif name is not None:
            command.append(f"--session={name}")
        self._files = tempfile.mkdtemp(prefix="brynhild-sdk-")
        try:
            allowed, servers = list(self._allowed_tools), dict(self._mcp_servers)
            if tools:
                self._server = ToolServer(dict(tools), loop)
                servers[SERVER_NAME] = self._server.config()
                allowed += [f"mcp__{SERVER_NAME}__{tool}" for tool in tools]
            if servers:
                command.append(f"--mcp-config={self._write('mcp.json', {'mcpServers': servers})}")
            command += [f"--allowed-tools={rule}" for rule in allowed]
            if schema is not None:
                command.append(f"--output-schema={self._write('schema.json', schema)}")
            return ProcessTransport(command, self._cwd, self._child_env())
        except BaseException:
            self.release()
            raise

    def undo(self, session: str, turns: int) -> Dict[str, Any]:
        """Undoes file changes of a session that is not open."""
        command = [find_binary(self._binary), "session", "undo", "--json", f"--turns={turns}", "--", session]
        done = subprocess.run(command, cwd=self._cwd, env=self._child_env(), capture_output=True, text=True)
        try:
            reply = json.loads(done.stdout)
        except ValueError:
            raise error_of_exit(done.returncode, done.stderr) from None
        if "error" in reply:
            raise SetupError(reply["error"])
        return reply

    def release(self) -> None:
        """Removes what the program needed while it ran."""
        if self._server is not None:
            self._server.close()
        if self._files is not None:
            shutil.rmtree(self._files, ignore_errors=True)
        self._server = self._files = None

    def _child_env(self) -> Dict[str, str]:
        env = {**os.environ, **self._env}
        env.pop("BRYNHILD_BIN", None)
        return env

    def _write(self, name: str, value: Any) -> str:
        assert self._files is not None
        path = os.path.join(self._files, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(value, file)
        return path
