"""Runs command and script hooks for tests of a plugin; in a session Brynhild itself runs them."""
from __future__ import annotations

import os as _os
import pathlib as _pathlib

from brynhild.hooks.config import HooksConfig
from brynhild.hooks.events import HookAction, HookEvent, HookResult
from brynhild.hooks.matching import matches

__all__ = ["HookManager"]

_MERGED = (
    "modified_input",
    "modified_output",
    "modified_message",
    "modified_response",
    "inject_system_message",
    "context_injection",
    "context_location",
)
_SEEN_LATER = {"modified_input": "tool_input", "modified_message": "message", "modified_response": "response"}


class HookManager:
    """Dispatches events to the hooks of a configuration."""

    def __init__(self, config: HooksConfig, project_root=None, script_roots=()) -> None:
        self.config = config
        self.project_root = _pathlib.Path(project_root or _os.getcwd())
        self._roots = [_pathlib.Path(root) for root in script_roots] + [self.project_root]

    def has_hooks_for_event(self, event) -> bool:
        """True if there is an enabled hook for the event."""
        return bool(self.config.get_hooks_for_event(event))

    async def dispatch(self, event, context) -> HookResult:
        """Run the hooks of an event in order, until one blocks or skips. Each sees the changes of earlier ones."""
        event = HookEvent(event)
        merged = HookResult()
        for definition in self.config.get_hooks_for_event(event):
            if not matches(definition.match, context.to_dict()):
                continue
            result = await self._run(definition, context)
            if result.action == HookAction.BLOCK and event.can_block or result.action == HookAction.SKIP:
                return result
            for name in _MERGED:
                value = getattr(result, name)
                if value is not None:
                    setattr(merged, name, value)
                    if name in _SEEN_LATER:
                        setattr(context, _SEEN_LATER[name], value)
        return merged

    async def _run(self, definition, context):
        if definition.type == "prompt":
            raise NotImplementedError("prompt hooks need a model and run in Brynhild only")
        import asyncio

        limit = definition.timeout
        process = await self._start(definition, context)
        told = b"" if definition.type == "command" else _json_bytes(context.to_dict())
        try:
            output, errors = await asyncio.wait_for(process.communicate(told), limit.seconds)
        except asyncio.TimeoutError:
            process.kill()
            await process.wait()
            text = "Hook '%s' timed out after %ss" % (definition.name, limit.seconds)
            action = HookAction.BLOCK if limit.on_timeout == "block" else HookAction.CONTINUE
            return HookResult(action, text)
        if definition.type == "command":
            return _command_result(definition, process.returncode, output, errors)
        return _script_result(process.returncode, output)

    async def _start(self, definition, context):
        import asyncio

        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), asyncio.subprocess.PIPE)
        cwd = str(context.cwd)
        if definition.type == "command":
            environment = dict(_os.environ, **context.to_env_vars())
            return await asyncio.create_subprocess_shell(definition.command, cwd=cwd, env=environment, **pipes)
        script = self._script(definition.script)
        return await asyncio.create_subprocess_exec("python3", str(script), cwd=cwd, **pipes)

    def _script(self, name):
        candidates = [root / name for root in self._roots]
        return next((file for file in candidates if file.is_file()), candidates[-1])


def _command_result(definition, code, output, errors):
    if code == 0:
        return HookResult()
    text = definition.message or errors.decode("utf-8", "replace").strip() or output.decode("utf-8", "replace").strip()
    action = HookAction.SKIP if code == 2 else HookAction.BLOCK
    return HookResult(action, text or "Hook '%s' blocked (exit %d)" % (definition.name, code))


def _script_result(code, output):
    import json

    if code != 0 or not output.strip():
        return HookResult()
    try:
        answer = json.loads(output)
    except ValueError:
        return HookResult()
    return HookResult.from_dict(answer) if isinstance(answer, dict) else HookResult()


def _json_bytes(data):
    import json

    return json.dumps(data).encode()
