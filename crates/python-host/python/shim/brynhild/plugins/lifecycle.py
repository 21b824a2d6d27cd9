"""Runs the hooks at the start and the end of a plugin."""
from __future__ import annotations

from brynhild.hooks.events import HookContext, HookEvent
from brynhild.hooks.manager import HookManager
from brynhild.plugins.hooks import load_plugin_hooks

__all__ = ["fire_plugin_init", "fire_plugin_shutdown"]


async def fire_plugin_init(plugin, project_root=None, session_id: str = "") -> None:
    """Run a plugin's own `plugin_init` hooks."""
    await _fire(HookEvent.PLUGIN_INIT, plugin, project_root, session_id)


async def fire_plugin_shutdown(plugin, project_root=None, session_id: str = "") -> None:
    """Run a plugin's own `plugin_shutdown` hooks."""
    await _fire(HookEvent.PLUGIN_SHUTDOWN, plugin, project_root, session_id)


async def _fire(event, plugin, project_root, session_id):
    config = load_plugin_hooks(plugin)
    if config is not None:
        cwd = project_root or plugin.path
        context = HookContext(event, session_id, cwd, plugin_name=plugin.name, plugin_path=plugin.path)
        await HookManager(config, cwd, script_roots=[plugin.path]).dispatch(event, context)
