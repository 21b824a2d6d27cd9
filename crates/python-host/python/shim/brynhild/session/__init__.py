"""Conversations that are stored in files."""
from __future__ import annotations

import pathlib as _pathlib
import re as _re
import time as _time

from brynhild._records import ABSENT, record

__all__ = ["Message", "Session", "SessionManager"]

_ID = _re.compile(r"[a-zA-Z0-9_-]{1,100}\Z")
_DETAILS = ("tool_name", "tool_input", "tool_result")


def _stamp() -> str:
    return _time.strftime("%Y-%m-%dT%H:%M:%S+00:00", _time.gmtime())


@record()
class Message:
    """One message."""

    role: str
    content: str
    timestamp: str = ""
    tool_name: str | None = None
    tool_input: dict | None = None
    tool_result: dict | None = None

    def __init__(
        self,
        role: str,
        content: str,
        timestamp: str = "",
        tool_name: str | None = None,
        tool_input: dict | None = None,
        tool_result: dict | None = None,
    ) -> None:
        self.role = role
        self.content = content
        self.timestamp = timestamp or _stamp()
        self.tool_name = tool_name
        self.tool_input = tool_input
        self.tool_result = tool_result

    def to_dict(self) -> dict:
        """The message as a dict, without unset fields."""
        data = {"role": self.role, "content": self.content, "timestamp": self.timestamp}
        data.update({name: getattr(self, name) for name in _DETAILS if getattr(self, name) is not None})
        return data

    @classmethod
    def from_dict(cls, data: dict) -> Message:
        """An object from the dict that `to_dict` returned."""
        return cls(**{name: data[name] for name in cls.__match_args__ if name in data})


@record(messages=list)
class Session:
    """A conversation."""

    id: str
    cwd: str
    created_at: str = ""
    updated_at: str = ""
    model: str = ""
    provider: str = ""
    title: str | None = None
    messages: list[Message]

    def __init__(
        self,
        id: str,
        cwd: str,
        created_at: str = "",
        updated_at: str = "",
        model: str = "",
        provider: str = "",
        title: str | None = None,
        messages: list[Message] = ABSENT,
    ) -> None:
        self.id = id
        self.cwd = str(cwd)
        self.created_at = created_at or _stamp()
        self.updated_at = updated_at or self.created_at
        self.model = model
        self.provider = provider
        self.title = title
        self.messages = [] if messages is ABSENT else messages

    @classmethod
    def create(cls, cwd, model: str = "", provider: str = "", session_id: str | None = None) -> Session:
        """Create an empty conversation."""
        made = _time.strftime("session-%Y%m%d-%H%M%S", _time.gmtime())
        return cls(session_id or made, cwd, model=model, provider=provider)

    def add_message(self, role: str, content: str, **details) -> Message:
        """Append a message."""
        message = Message(role, content, **details)
        self.messages.append(message)
        self.updated_at = message.timestamp
        return message

    def to_dict(self) -> dict:
        """The object as a dict of plain data."""
        data = {name: getattr(self, name) for name in self.__match_args__}
        data["messages"] = [message.to_dict() for message in self.messages]
        return data

    @classmethod
    def from_dict(cls, data: dict) -> Session:
        """An object from the dict that `to_dict` returned."""
        fields = {name: data[name] for name in cls.__match_args__ if name in data}
        fields["messages"] = [Message.from_dict(message) for message in data.get("messages", ())]
        return cls(**fields)


class SessionManager:
    """Conversations in one directory."""

    def __init__(self, sessions_dir) -> None:
        self.sessions_dir = _pathlib.Path(sessions_dir)

    def save(self, session: Session) -> _pathlib.Path:
        """Write a conversation."""
        import json

        self.sessions_dir.mkdir(parents=True, exist_ok=True)
        path = self._path(session.id)
        path.write_text(json.dumps(session.to_dict(), indent=2), encoding="utf-8")
        return path

    def load(self, session_id: str) -> Session | None:
        """Read a conversation; None if there is none."""
        import json

        path = self._path(session_id)
        return Session.from_dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None

    def delete(self, session_id: str) -> bool:
        """Delete a conversation; false if there is none."""
        path = self._path(session_id)
        existed = path.is_file()
        if existed:
            path.unlink()
        return existed

    def list_sessions(self) -> list[Session]:
        """All conversations, latest first."""
        files = self.sessions_dir.glob("*.json") if self.sessions_dir.is_dir() else ()
        sessions = [self.load(file.stem) for file in files]
        return sorted(sessions, key=lambda session: session.updated_at, reverse=True)

    def _path(self, session_id):
        if not _ID.match(session_id):
            raise ValueError("Invalid session ID: %r. Use letters, digits, '-' and '_', at most 100" % session_id)
        return self.sessions_dir / (session_id + ".json")
