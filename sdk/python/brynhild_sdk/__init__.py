"""Drives Brynhild, an AI coding assistant, from Python: it starts the program, or talks to a server."""

from .client import AsyncBrynhild, AsyncStream, Brynhild, Stream
from .errors import (
    BrynhildError,
    ConnectionLost,
    InvalidAnswer,
    LimitReached,
    NoSandbox,
    PermissionNeeded,
    ProcessDied,
    SetupError,
    TaskFailed,
)
from .transport import find_binary
from .turn import Answer, Question, Result
from .types import Event, Input

__all__ = [
    "Answer",
    "AsyncBrynhild",
    "AsyncStream",
    "Brynhild",
    "BrynhildError",
    "ConnectionLost",
    "Event",
    "Input",
    "InvalidAnswer",
    "LimitReached",
    "NoSandbox",
    "PermissionNeeded",
    "ProcessDied",
    "Question",
    "Result",
    "SetupError",
    "Stream",
    "TaskFailed",
    "find_binary",
]
