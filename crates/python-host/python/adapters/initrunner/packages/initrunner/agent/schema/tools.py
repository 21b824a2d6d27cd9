"""The configuration of tools."""
from typing import Any, Dict, List, Literal, Optional

from pydantic import BaseModel


class ToolPermissions(BaseModel):
    """Rules on the arguments of calls."""

    default: Literal["allow", "deny"] = "allow"
    allow: List[str] = []
    deny: List[str] = []


class ToolConfigBase(BaseModel):
    """The base of the configuration of a tool."""

    type: str
    permissions: Optional[ToolPermissions] = None
    approval: Literal["auto", "required"] = "auto"

    def summary(self) -> str:
        """One line for people."""
        return self.type


class ToolSandboxConfig(BaseModel):
    """What a role says of the code of its tools."""

    allowed_custom_modules: List[str] = []
    blocked_custom_modules: List[str] = []
    mcp_command_allowlist: List[str] = []
    sensitive_env_prefixes: List[str] = []
    sensitive_env_suffixes: List[str] = []
    env_allowlist: List[str] = []
    restrict_db_paths: bool = True
    audit_hooks_enabled: bool = False
    allowed_write_paths: List[str] = []
    allowed_network_hosts: List[str] = []
    block_private_ips: bool = True
    allow_subprocess: bool = False
    allow_eval_exec: bool = False
    sandbox_violation_action: Literal["raise", "log"] = "raise"


class PluginToolConfig(ToolConfigBase):
    """The configuration of a tool that a plugin brings."""

    config: Dict[str, Any] = {}


def __getattr__(name):
    from brynhild_host.adapters.initrunner.imports import wanted

    raise wanted(__name__, name)
