"""Conversations on `brynhild serve`: the same inputs and events, over HTTP."""

from __future__ import annotations

import concurrent.futures
import http.client
import json
import queue
import socket
import threading
import time
import uuid
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple
from urllib.parse import quote, urlsplit

from .errors import BrynhildError, ConnectionLost, SetupError
from .tools import Tool
from .transport import Inbox

# A stream is lost if it is silent for so long: the server sends something every 10 seconds.
SILENCE_SECONDS = 35.0
# Opening a session may start the servers and plugins of its project.
REPLY_SECONDS = 120.0
# Time in which a server must come back.
LOST_SECONDS = 30.0
RETRY_SECONDS = 0.5
# The server refuses longer bodies.
LONGEST_BODY = 8 << 20
# Inputs that may be sent twice.
REPEATABLE = ("prompt", "answer", "interrupt", "mode")


class Refused(SetupError):
    """The server refused a request."""

    def __init__(self, message: str, status: int):
        super().__init__(message)
        self.status = status


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str):
        super().__init__("localhost", timeout=REPLY_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Server:
    """Converses with a server at a URL: `http://…`, `https://…`, or `unix:PATH` for a socket."""

    def __init__(self, cwd: str, flags: Dict[str, Any], url: str, token: Optional[str]):
        self._cwd, self._flags, self.url, self._token = cwd, flags, url, token
        self._connection: Callable[[], http.client.HTTPConnection]
        parts = urlsplit(url)
        if parts.scheme == "unix" and parts.path:
            self._connection = lambda: UnixConnection(parts.path)
        elif parts.scheme in ("http", "https") and parts.netloc:
            kind = http.client.HTTPConnection if parts.scheme == "http" else http.client.HTTPSConnection
            self._connection = lambda: kind(parts.netloc, timeout=REPLY_SECONDS)
        else:
            raise SetupError(f"`{url}` is not the URL of a server, such as http://127.0.0.1:4117 or unix:PATH")

    def connect(
        self,
        name: Optional[str],
        resume: Optional[str],
        fork: bool,
        schema: Optional[Dict[str, Any]],
        tools: Dict[str, Tool],
        loop: Any,
    ) -> ServerTransport:
        """Opens a new session, or one to resume or to copy."""
        if schema is not None or tools:
            what = "`output_schema`" if schema is not None else "a tool of your own"
            raise SetupError(f"{what} needs a program of its own; leave `url` out")
        try:
            return ServerTransport(self, self._open(name, resume, fork))
        except ConnectionLost as error:
            raise SetupError(f"{error}; is `brynhild serve` running?") from error

    def undo(self, session: str, turns: int) -> Dict[str, Any]:
        return self.request("POST", f"{path_of(self._found(session))}/undo", {"turns": turns})

    def release(self) -> None:
        """Nothing: the session stays with the server."""

    def _open(self, name: Optional[str], resume: Optional[str], fork: bool) -> str:
        options = {key: value for key, value in self._flags.items() if value is not None}
        if resume is not None:
            session = self._found(resume)
            if fork:
                seq = self.request("GET", path_of(session))["seq"]
                return self.request("POST", "/v1/sessions", {"fork": {"session": session, "seq": seq}, **options})["id"]
            return self._resumed(session, options)
        if name is None:
            return self.request("POST", "/v1/sessions", {"cwd": self._cwd, **options})["id"]
        try:
            return self._resumed(name, options)
        except Refused as error:
            if error.status != 404:
                raise
            return self.request("POST", "/v1/sessions", {"cwd": self._cwd, "name": name, **options})["id"]

    def _resumed(self, session: str, options: Dict[str, Any]) -> str:
        if options:
            return self.request("PATCH", path_of(session), options)["id"]
        return self.request("GET", path_of(session))["id"]

    def _found(self, session: str) -> str:
        if session != "last":
            return session
        listed = self.request("GET", f"/v1/sessions?limit=1&cwd={quote(self._cwd, safe='')}")["sessions"]
        if not listed:
            raise SetupError(f"there is no session in {self._cwd}")
        return listed[0]["id"]

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """Sends a request and returns the reply. Raises `Refused` or `ConnectionLost`."""
        connection, response = self._send(method, path, body, {})
        try:
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise ConnectionLost(f"the reply of {self.url} broke off: {error}") from error
        finally:
            connection.close()
        try:
            return json.loads(text) if text else None
        except ValueError:
            raise Refused(f"{self.url} does not answer like `brynhild serve`", response.status) from None

    def stream(self, path: str, after: int) -> Tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
        connection, response = self._send("GET", path, None, headers)
        if connection.sock is not None:
            connection.sock.settimeout(SILENCE_SECONDS)
        return connection, response

    def _send(self, method: str, path: str, body: Any, headers: Dict[str, str]):
        data = None if body is None else json.dumps(body).encode()
        if data is not None and len(data) > LONGEST_BODY:
            raise Refused(f"an input of {len(data)} bytes is too long; the limit is {LONGEST_BODY}", 413)
        headers = {**headers, "Content-Type": "application/json"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        connection = self._connection()
        try:
            connection.request(method, path, data, headers)
            response = connection.getresponse()
            if response.status < 400:
                return connection, response
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise ConnectionLost(f"cannot reach {self.url}: {error}") from error
        connection.close()
        try:
            said = json.loads(text)["error"]
            message = f"{said['message']} ({said['hint']})" if said.get("hint") else said["message"]
        except (ValueError, KeyError, TypeError):
            message = f"{self.url} answered {response.status} {response.reason}"
        raise Refused(message, response.status)


def path_of(session: str) -> str:
    return f"/v1/sessions/{quote(session, safe='')}"


class ServerTransport:
    """A session of a server. Each turn has a stream of its own, and one thread sends the inputs."""

    GRACE_SECONDS = 30.0

    def __init__(self, server: Server, session: str):
        self.session: Optional[str] = session
        self._server, self._path = server, path_of(session)
        self._stream: Optional[EventStream] = None
        self._is_interrupted = False
        # Answers that no event has confirmed.
        self._answers: Dict[str, Dict[str, Any]] = {}
        self._is_closed = threading.Event()
        self._outbox: queue.SimpleQueue = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write, daemon=True)
        self._writer.start()

    def begin(self, message: Dict[str, Any]) -> Dict[str, Any]:
        if self._stream is not None:
            self._stream.close()
        self._is_interrupted = False
        self._answers = {}
        seq = self._server.request("GET", self._path)["seq"]
        stream = self._stream = EventStream(self._server, self._path, seq, self._answers, self._outbox)
        sent: concurrent.futures.Future = concurrent.futures.Future()
        # The server takes a prompt with the same ID once.
        named = {**message, "id": uuid.uuid4().hex} if message["input"] == "prompt" else message
        self._outbox.put((named, sent))
        try:
            reply = sent.result()
        except BaseException:
            stream.close()
            raise
        if reply.get("turn") is False:
            stream.close()
        else:
            stream.start(reply["seq"])
        return reply

    def send(self, message: Dict[str, Any]) -> None:
        if message["input"] == "answer":
            self._answers[message["call"]] = message
        self._is_interrupted |= message["input"] == "interrupt"
        self._outbox.put((message, None))

    def receive(self) -> Dict[str, Any]:
        return self._inbox().receive()

    def poll(self) -> Optional[Dict[str, Any]]:
        return self._inbox().poll()

    def notify(self, wake: Any) -> None:
        self._inbox().notify(wake)

    def _inbox(self) -> Inbox:
        assert self._stream is not None
        return self._stream.inbox

    def close(self) -> None:
        self._outbox.put(None)
        stream = self._stream
        if stream is not None:
            stream.inbox.close()
            if self._is_interrupted:
                stream.is_over.wait(self.GRACE_SECONDS)
        self._is_closed.set()
        self._writer.join(self.GRACE_SECONDS)
        if stream is not None:
            stream.close()

    def _write(self) -> None:
        while (item := self._outbox.get()) is not None:
            message, sent = item
            try:
                reply = self._post(message)
                if sent is not None:
                    sent.set_result(reply)
            except Exception as error:
                if sent is not None:
                    sent.set_exception(error)
                elif self._stream is not None and isinstance(error, Refused):
                    self._stream.refused(message, error)
                elif self._stream is not None:
                    self._stream.inbox.end(error_of(error))

    def _post(self, message: Dict[str, Any]) -> Any:
        until = time.monotonic() + LOST_SECONDS
        while True:
            try:
                return self._server.request("POST", f"{self._path}/inputs", message)
            except ConnectionLost:
                if message["input"] not in REPEATABLE or time.monotonic() > until or self._is_closed.is_set():
                    raise
            self._is_closed.wait(RETRY_SECONDS)


class EventStream:
    """The events of a session from a position on. Connects again where it was cut off."""

    def __init__(
        self, server: Server, path: str, after: int, answers: Dict[str, Dict[str, Any]], outbox: queue.SimpleQueue
    ):
        self.inbox = Inbox()
        # Set when the turn has ended, or no further event comes.
        self.is_over = threading.Event()
        self._server, self._path, self._answers, self._outbox = server, path, answers, outbox
        self._seen = self._position = after
        # The position of the last event.
        self._last: Dict[str, Any] = {"seq": after, "session": "", "at": ""}
        self._is_started = False
        self._until: Optional[int] = None
        self._lock = threading.Lock()
        self._is_closed = threading.Event()
        self._connection, self._response = server.stream(f"{path}/events", after)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self, position: int) -> None:
        """Begins to read the events after a position."""
        self._seen = self._position = self._last["seq"] = position
        self._thread.start()

    def refused(self, message: Dict[str, Any], error: BrynhildError) -> None:
        """Reports a refused input as the program does: by a notice without a number of its own."""
        with self._lock:
            notice = {**self._last, "type": "notice", "level": "error", "text": str(error)}
            if message["input"] == "prompt":
                notice["topic"] = "message_unsent"
            self.inbox.put(json.dumps(notice).encode())

    def close(self) -> None:
        self._is_closed.set()
        self.inbox.close()
        self._disconnect()

    def _disconnect(self) -> None:
        try:
            if self._connection.sock is not None:
                self._connection.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # It is gone already.
        if threading.current_thread() is self._thread or not self._thread.is_alive():
            self._connection.close()

    def _run(self) -> None:
        try:
            while not self._is_closed.is_set():
                try:
                    for id, name, data in messages(self._response):
                        if name is None:
                            self._take(id, data)
                except (OSError, http.client.HTTPException):
                    pass  # The connection was cut off.
                self._disconnect()
                if self._is_closed.is_set():
                    return
                self._reconnect()
        except Exception as error:
            self.inbox.end(error_of(error))
        finally:
            self._disconnect()
            self.is_over.set()

    def _take(self, id: Optional[str], data: bytes) -> None:
        event = json.loads(data)
        if event["seq"] < self._position or (id is not None and int(id) <= self._seen):
            return  # It happened before the turn.
        with self._lock:
            self._last = {key: event[key] for key in ("seq", "session", "at")}
            self.inbox.put(data)
        if id is not None:
            self._seen = int(id)
        if event["type"] == "answered":
            self._answers.pop(event["call"], None)
        if event.get("within") is None:
            self._is_started |= event["type"] in ("turn_started", "injected")
            if event["type"] == "turn_started":
                # A server that was restarted at the questions has the answers.
                self._answers.clear()
            if event["type"] == "turn_finished":
                self.is_over.set()
        self._check_end()

    def _check_end(self) -> None:
        if self._until is not None and self._seen >= self._until:
            raise ConnectionLost("the server ended in the middle of the turn")

    def _reconnect(self) -> None:
        until = time.monotonic() + LOST_SECONDS
        while True:
            try:
                self._until = self._end()
                self._check_end()
                self._connection, self._response = self._server.stream(f"{self._path}/events", self._seen)
                return
            except ConnectionLost:
                if self._until is not None or self._is_closed.is_set() or time.monotonic() > until:
                    raise
            self._is_closed.wait(RETRY_SECONDS)

    def _end(self) -> Optional[int]:
        """Returns the position of the last event, if nobody works in the session any more."""
        details = self._server.request("GET", self._path)
        lost = [self._answers[event["call"]] for event in details["pending"] if event["call"] in self._answers]
        for answer in lost:
            self._outbox.put((answer, None))
        # An answer that nothing has confirmed is about to resume the turn.
        is_idle = details["state"] == "idle" and self._is_started and not self._answers
        is_over = details["state"] == "ended" or is_idle
        return details["seq"] if is_over else None


def error_of(error: Exception) -> BrynhildError:
    """Returns the exception for the reader of a stream."""
    return error if isinstance(error, BrynhildError) else BrynhildError(f"{type(error).__name__}: {error}")


def messages(response: http.client.HTTPResponse) -> Iterator[Tuple[Optional[str], Optional[str], bytes]]:
    """Yields the ID, the name and the data of each complete message of an event stream."""
    rest: List[bytes] = []
    data: List[bytes] = []
    id, name = None, None
    while block := response.read1(1 << 16):
        *lines, last = block.split(b"\n")
        for line in lines:
            line, rest = b"".join([*rest, line]).rstrip(b"\r"), []
            field, _, value = line.partition(b":")
            value = value[1:] if value.startswith(b" ") else value
            if field == b"id":
                id = value.decode()
            elif field == b"event":
                name = value.decode()
            elif field == b"data":
                data.append(value)
            elif not line:
                if data:
                    yield id, name, b"\n".join(data)
                id, name, data = None, None, []
        rest.append(last)
